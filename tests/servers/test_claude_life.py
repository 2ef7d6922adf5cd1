"""The Claude server's life: its lock file, its port and token across restarts, its clients."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from agent_ide.errors import LockFolderError
from agent_ide.model import Position, Range, Selection
from agent_ide.protocols.base import Mention
from agent_ide.transports import lockfile
from tests.servers.claude import Desk
from tests.support.eventually import eventually


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    it = Desk(tmp_path)
    it.state.set_folders([str(tmp_path)])
    await it.server.start()
    yield it
    await it.close()


async def test_lock_file(desk: Desk) -> None:
    (path,) = desk.locks()
    lock = desk.lock()
    assert 10000 <= int(path.stem) <= 65535
    assert lock["pid"] == desk.pid
    assert (lock["ideName"], lock["transport"]) == ("Neovim", "ws")
    assert lock["workspaceFolders"] == [str(desk.folder)]
    assert len(lock["authToken"]) == 32
    assert int(lock["authToken"], 16) >= 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert desk.server.files() == [path]
    assert desk.server.launch_env()["CLAUDE_CODE_SSE_PORT"] == path.stem


async def test_lock_follows_the_folders(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    link, real = str(tmp_path / "link"), str(tmp_path / "real")
    desk.state.set_folders([link, str(tmp_path)])
    assert desk.lock()["workspaceFolders"] == [link, real, str(tmp_path)]


async def test_lock_that_cannot_be_written_is_said(desk: Desk) -> None:
    (path,) = desk.locks()
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("in the way")
    desk.state.set_folders(["/elsewhere"])
    assert desk.server.restore()
    (note,) = desk.editor.notes
    assert "cannot find Neovim" in note
    assert str(path.parent) in note


async def test_lock_that_was_removed_comes_back_as_it_was(desk: Desk) -> None:
    (path,) = desk.locks()
    before = desk.lock()
    path.unlink()
    path.parent.rmdir()
    assert desk.server.restore()
    assert desk.locks() == [path]
    assert {**desk.lock(), "timestamp": 0} == {**before, "timestamp": 0}
    assert desk.editor.notes == []


async def test_token_is_another_each_time(tmp_path: Path) -> None:
    tokens = set()
    for number in range(3):
        desk = Desk(tmp_path / str(number))
        await desk.server.start()
        tokens.add(desk.lock()["authToken"])
        await desk.close()
    assert len(tokens) == 3


async def test_stop_removes_the_lock(desk: Desk) -> None:
    client = await desk.connect()
    await client.greet()
    await desk.server.stop()
    assert desk.locks() == []
    assert desk.server.clients() == []


async def test_restarted_host_takes_port_and_token_over(desk: Desk) -> None:
    before = (desk.port(), desk.lock()["authToken"])
    (path,) = desk.locks()
    content = path.read_bytes()
    await desk.server.stop()
    path.write_bytes(content)  # as after a crash
    desk.server = desk.new_server()
    await desk.server.start()
    assert (desk.port(), desk.lock()["authToken"]) == before
    await (await desk.connect()).greet()


async def test_stolen_port_means_another_token(desk: Desk) -> None:
    port, token = desk.port(), desk.lock()["authToken"]
    (path,) = desk.locks()
    content = path.read_bytes()
    await desk.server.stop()
    path.write_bytes(content)
    with socket.create_server(("127.0.0.1", port)):
        desk.server = desk.new_server()
        await desk.server.start()
        assert desk.port() != port
        assert desk.lock()["authToken"] != token
        with pytest.raises(InvalidStatus):
            await desk.connect(token)


async def test_lock_of_another_neovim_is_left_alone(desk: Desk) -> None:
    other = Desk(desk.folder, pid=os.getppid())
    await other.server.start()
    assert len(desk.locks()) == 2
    await other.close()
    assert len(desk.locks()) == 1


async def test_dead_neovims_lock_is_swept(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    lockfile.ensure_private_folder(desk.lock_folder)
    stale = desk.lock_folder / "10001.lock"
    foreign = desk.lock_folder / "10002.lock"
    # a pid over the kernel's maximum is no process's
    lockfile.write_atomically(stale, {"pid": 2**22 + 1, "authToken": "0" * 32})
    foreign.write_text(json.dumps({"pid": 2**22 + 1}))
    await desk.server.start()
    assert stale not in desk.locks()
    assert foreign in desk.locks(), "it is another program's"
    foreign.unlink()
    await desk.close()


async def test_unsafe_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "ide").symlink_to(tmp_path / "elsewhere")
    desk = Desk(tmp_path)
    with pytest.raises(LockFolderError):
        await desk.server.start()
    await desk.close()


async def test_clients_are_told_of(desk: Desk) -> None:
    first, second = await desk.connect(), await desk.connect()
    await first.greet(pid=11)
    await second.greet(pid=12)
    await eventually(lambda: [item.pid for item in desk.server.clients()] == [11, 12])
    names = [(item.id, item.name, item.version) for item in desk.server.clients()]
    assert names == [
        ("claude-1", "claude-code", "2.1.332"),
        ("claude-2", "claude-code", "2.1.332"),
    ]
    await first.close()
    await eventually(lambda: [item.id for item in desk.server.clients()] == ["claude-2"])


def selection(path: str, line: int) -> Selection:
    return Selection(path, Range(Position(line, 0), Position(line, 3)), "abc")


async def test_selection_is_pushed_after_ide_connected_and_on_change(desk: Desk) -> None:
    desk.state.select(selection("/a é.txt", 1))
    clients = [await desk.connect(), await desk.connect()]
    for client in clients:
        await client.greet()
    for client in clients:
        await eventually(lambda client=client: client.pushes("selection_changed"))
        assert client.pushes("selection_changed")[0] == {
            "text": "abc",
            "filePath": "/a é.txt",
            "fileUrl": "file:///a%20%C3%A9.txt",
            "selection": {
                "start": {"line": 1, "character": 0},
                "end": {"line": 1, "character": 3},
                "isEmpty": False,
            },
        }
    await eventually(lambda: all(item.ready for item in desk.server.clients()))
    desk.state.select(selection("/b.txt", 2))
    desk.state.select(None)
    for client in clients:
        await eventually(
            lambda client=client: client.pushes("selection_changed")[-1]["filePath"] == ""
        )
        last = client.pushes("selection_changed")[-1]
        assert None not in (last["text"], last["fileUrl"], last["selection"])


async def test_nothing_is_pushed_before_ide_connected(desk: Desk) -> None:
    client = await desk.connect()
    desk.state.select(selection("/a.txt", 1))
    await client.answer(await client.request("ping"))
    assert client.pushes("selection_changed") == []


async def test_mention_goes_to_the_right_client(desk: Desk) -> None:
    assert not await desk.server.mention(Mention("/a.txt"), None)
    first, second = await desk.connect(), await desk.connect()
    await first.greet(pid=11)
    await second.greet(pid=12)
    await eventually(lambda: all(item.ready for item in desk.server.clients()))
    assert await desk.server.mention(Mention("/a.txt", 0, 1), 11)
    await eventually(lambda: first.pushes("at_mentioned"))
    assert first.pushes("at_mentioned") == [{"filePath": "/a.txt", "lineStart": 0, "lineEnd": 1}]
    await first.answer(await first.request("ping"))
    assert await desk.server.mention(Mention("/b"), None)
    await eventually(lambda: len(first.pushes("at_mentioned")) == 2)
    assert first.pushes("at_mentioned")[1] == {"filePath": "/b"}
    assert second.pushes("at_mentioned") == []


async def test_a_client_that_goes_takes_its_reviews_along(desk: Desk) -> None:
    first, second = await desk.connect(), await desk.connect()
    await first.open_diff(desk.folder / "a.txt", "x", "tab a")
    await eventually(lambda: desk.editor.views)
    await second.open_diff(desk.folder / "b.txt", "y", "tab b")
    await eventually(lambda: len(desk.reviews.open()) == 2)
    await first.close()
    await eventually(lambda: [item.proposal.tab_name for item in desk.reviews.open()] == ["tab b"])


async def test_stop_answers_what_waits_or_closes(desk: Desk) -> None:
    client = await desk.connect()
    await client.open_diff(desk.folder / "a.txt", "x")
    await eventually(lambda: desk.editor.views)
    async with asyncio.timeout(3):
        await desk.server.stop()
    assert desk.reviews.open() == []


async def test_config_folder_of_the_clis_own_environment(tmp_path: Path) -> None:
    """The option `claude.env` says where the CLI that we start looks."""
    elsewhere = tmp_path / "elsewhere"
    desk = Desk(tmp_path, claude={"env": {"CLAUDE_CONFIG_DIR": str(elsewhere)}})
    await desk.server.start()
    assert len(list((elsewhere / "ide").glob("*.lock"))) == 1
    await desk.close()
