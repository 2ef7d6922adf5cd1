"""The server of Gemini CLI and Qwen Code: discovery files, who is let in, sessions, the context."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_ide.errors import LockFolderError
from agent_ide.model import Position, Range, Selection
from agent_ide.protocols import peer
from agent_ide.protocols.base import Mention
from agent_ide.protocols.gemini_ide import discovery, messages
from agent_ide.protocols.gemini_ide.discovery import GEMINI, QWEN
from agent_ide.transports import lockfile
from tests.servers.gemini import Client, Desk, buffer
from tests.support.eventually import eventually
from tests.transports.http import dial

DEAD_PID = 2**22 + 1
"""Over the kernel's maximum: no process's."""

AGENTS = ["gemini", "qwen"]


@pytest.fixture
async def desk(short_folder: Path) -> AsyncIterator[Desk]:
    it = Desk(short_folder)
    await it.start()
    yield it
    await it.close()


# -- discovery -------------------------------------------------------------------------------------


async def test_discovery_files(desk: Desk) -> None:
    real, port = os.path.realpath(desk.folder), desk.server.port
    files = desk.files()
    assert files["gemini"].name == f"gemini-ide-server-{desk.pid}-{port}.json"
    assert files["qwen"].name == f"{port}.lock"
    said = {agent: desk.said(agent) for agent in AGENTS}
    tokens = {content.pop("authToken") for content in said.values()}
    assert len(tokens) == 2
    assert all(len(bytes.fromhex(token)) == 32 for token in tokens)
    for content in said.values():
        del content["agentIde"]
    common = {
        "port": port,
        "pid": desk.pid,
        "ideInfo": {"name": "neovim", "displayName": "Neovim"},
    }
    assert said["gemini"] == {**common, "workspacePath": real}
    assert json.loads(said["qwen"].pop("workspacePath")) == [real]
    assert said["qwen"] == {**common, "ppid": desk.pid}
    for agent, path in files.items():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert desk.side(agent).files() == [path]
        assert desk.side(agent).address == f"127.0.0.1:{port}"
    assert desk.side("gemini").launch_env() == {"GEMINI_CLI_IDE_SERVER_PORT": str(port)}
    assert desk.side("qwen").launch_env() == {"QWEN_CODE_IDE_SERVER_PORT": str(port)}


async def test_folders_follow(desk: Desk) -> None:
    odd = f"/odd{os.pathsep}one"
    desk.state.set_folders(["/p", odd, "/q"])
    # Gemini CLI would take half of it for a folder
    assert desk.said("gemini")["workspacePath"] == os.pathsep.join(["/p", "/q"])
    assert json.loads(desk.said("qwen")["workspacePath"]) == ["/p", odd, "/q"]


def test_where_the_clis_look() -> None:
    assert GEMINI.folder({"TMPDIR": "/t", "TMP": "/u"}) == Path("/t/gemini/ide")
    assert GEMINI.folder({"TMPDIR": "", "TEMP": "/u"}) == Path("/u/gemini/ide")
    assert GEMINI.folder({}) == Path("/tmp/gemini/ide")
    assert QWEN.folder({"QWEN_HOME": "/q", "HOME": "/h"}) == Path("/q/ide")
    assert QWEN.folder({"HOME": "/h"}) == Path("/h/.qwen/ide")
    assert QWEN.folder({}) == Path.home() / ".qwen" / "ide"
    assert discovery.port_of("gemini-ide-server-12-345.json") == 345
    assert discovery.port_of("345.lock") == 345
    assert discovery.port_of("gemini-ide-server-12.json") is None


async def test_the_clis_own_environment_says_where(short_folder: Path) -> None:
    tmp, home = str(short_folder / "t"), str(short_folder / "q")
    desk = Desk(short_folder, gemini={"env": {"TMPDIR": tmp}}, qwen={"env": {"QWEN_HOME": home}})
    await desk.start()
    assert desk.side("gemini").files()[0].parent == Path(tmp, "gemini", "ide")
    assert desk.side("qwen").files()[0].parent == Path(home, "ide")
    await desk.close()


async def test_only_one_is_wanted(short_folder: Path) -> None:
    desk = Desk(short_folder, gemini={"enabled": False})
    await desk.start()
    assert list(desk.sides) == ["qwen"]
    assert list(desk.files()) == ["qwen"]
    await desk.connect("qwen")
    await desk.close()


async def test_a_folder_that_is_not_safe_leaves_the_other_alone(short_folder: Path) -> None:
    desk = Desk(short_folder)
    desk.folders["gemini"].parent.mkdir(parents=True)
    (short_folder / "elsewhere").mkdir()
    desk.folders["gemini"].symlink_to(short_folder / "elsewhere")
    await desk.start()
    assert isinstance(desk.sides["gemini"], LockFolderError)
    assert list(desk.files()) == ["qwen"]
    await desk.connect("qwen")
    await desk.close()


async def test_no_safe_folder_at_all(short_folder: Path) -> None:
    desk = Desk(short_folder)
    for folder in desk.folders.values():
        folder.parent.mkdir(parents=True)
        folder.symlink_to(short_folder)
    await desk.start()
    assert all(isinstance(side, LockFolderError) for side in desk.sides.values())
    await desk.close()


async def test_a_file_that_cannot_be_written_is_said(desk: Desk) -> None:
    for path in desk.files().values():
        path.unlink()
        path.parent.rmdir()
        path.parent.write_text("in the way")
    desk.state.set_folders(["/elsewhere"])
    assert all(desk.side(agent).restore() for agent in AGENTS)
    assert [note.split(" cannot")[0] for note in desk.editor.notes] == ["Gemini CLI", "Qwen Code"]


async def test_files_that_were_removed_come_back(desk: Desk) -> None:
    before = desk.files()
    for path in before.values():
        path.unlink()
        path.parent.rmdir()
    assert all(desk.side(agent).restore() for agent in AGENTS)
    assert desk.files() == before
    assert desk.editor.notes == []


async def test_stop_removes_the_files(desk: Desk) -> None:
    await asyncio.gather(*(desk.side(agent).stop() for agent in AGENTS))
    assert desk.files() == {}
    # what a host that is given up asks for
    assert not any(path.exists() for agent in AGENTS for path in desk.side(agent).files())


@pytest.mark.parametrize("ours", [True, False])
async def test_dead_servers_are_swept(short_folder: Path, ours: bool) -> None:
    desk = Desk(short_folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    stale = []
    for cli, folder in ((GEMINI, desk.folders["gemini"]), (QWEN, desk.folders["qwen"])):
        lockfile.ensure_private_folder(folder)
        path = folder / cli.file_name(DEAD_PID, port)
        content = cli.content(discovery.Server(port, "t", DEAD_PID, []))
        if ours:
            lockfile.write_atomically(path, content)
        else:
            path.write_text(json.dumps(content))
        stale.append(path)
    await desk.start()
    assert [path.exists() for path in stale] == [not ours, not ours]
    await desk.close()


async def test_the_next_host_has_the_port_and_the_tokens(desk: Desk) -> None:
    before = {agent: desk.said(agent) for agent in AGENTS}
    client = await desk.connect()
    await desk.restart()
    assert {agent: desk.said(agent) for agent in AGENTS} == before
    # its session is not known any more: it must begin one
    assert await client.listen() == 404
    await desk.connect("qwen")


async def test_the_next_host_whose_port_is_taken_has_nothing_of_the_old_one(desk: Desk) -> None:
    before = {agent: desk.said(agent) for agent in AGENTS}
    contents = {path: path.read_text() for path in desk.files().values()}
    await desk.server.stop()
    for path, text in contents.items():
        path.write_text(text)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", before["gemini"]["port"]))
        other.listen()
        desk.server = desk.new_server()
        await desk.start()
    for agent in AGENTS:
        assert desk.said(agent)["port"] != before[agent]["port"]
        assert desk.said(agent)["authToken"] != before[agent]["authToken"]


# -- who is let in ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 400),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": ""}, 401),
        ({"host": "evil.example"}, 403),
        ({"host": "host.docker.internal"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
@pytest.mark.parametrize("agent", AGENTS)
async def test_who_is_let_in(desk: Desk, agent: str, headers: dict[str, str], status: int) -> None:
    said = desk.said(agent)
    given = {
        "host": f"127.0.0.1:{said['port']}",
        "authorization": f"Bearer {said['authToken']}",
        **headers,
    }
    wire = await dial(f"127.0.0.1:{said['port']}")
    lines = [f"{name}: {value}" for name, value in given.items()]
    wire.write("\r\n".join(["POST /mcp HTTP/1.1", *lines, "content-length: 0", "", ""]).encode())
    assert (await wire.answer()).status == status
    await wire.close()


# -- sessions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ],
)
async def test_the_revision_that_is_asked_for(desk: Desk, asked: str, agreed: str) -> None:
    client = desk.client()
    result = await client.request("initialize", protocolVersion=asked, capabilities={})
    assert result["protocolVersion"] == agreed
    assert result["capabilities"] == {"tools": {}}


async def test_the_token_tells_who_it_is(desk: Desk) -> None:
    """Both introduce themselves alike."""
    for agent in ("qwen", "gemini", "gemini"):
        await desk.connect(agent)
    found = {agent: [vars_of(client) for client in desk.side(agent).clients()] for agent in AGENTS}
    assert found == {
        "gemini": [("gemini-1", "gemini-cli", "0.61.0"), ("gemini-2", "gemini-cli", "0.61.0")],
        # what Qwen Code tells is not its own version
        "qwen": [("qwen-1", "qwen-code", "")],
    }
    await eventually(lambda: all(client.ready for client in desk.side("gemini").clients()))


def vars_of(client: Any) -> tuple[str, str, str]:
    return client.id, client.name, client.version


@pytest.mark.parametrize("method", ["tools/list", "server/discover", "notifications/initialized"])
async def test_nothing_but_initialize_begins_a_session(desk: Desk, method: str) -> None:
    client = desk.client()
    wire = await client.post({"id": 1, "method": method, "params": {}})
    assert (await wire.answer()).status == 400
    assert desk.side("gemini").clients() == []


async def test_a_session_outlives_its_stream(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "GONE_AFTER_S", 0.05)
    client = await desk.connect()
    desk.state.open_buffers([buffer("/p/a.txt", active=True)])
    await client.context(lambda state: bool(state["openFiles"]))
    await client.kill()
    await eventually(lambda: desk.side("gemini").clients() == [])
    client.heard.clear()
    assert await client.listen() == 200
    assert len(desk.side("gemini").clients()) == 1
    # what was said before is said again
    await client.context(lambda state: bool(state["openFiles"]))


async def test_too_many_sessions(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ide.protocols.peers.MAX_SESSIONS", 2)
    first, second = await desk.connect(), await desk.connect()
    await first.kill()
    third = await desk.connect()
    assert await first.listen() == 404
    for client in (second, third):
        assert await client.request("ping") == {}


async def test_a_mention_is_typed_into_the_prompt(desk: Desk) -> None:
    side = desk.side("gemini")
    assert not await side.mention(Mention("/p/a.txt"), None)
    await desk.connect("qwen")
    assert not await side.mention(Mention("/p/a.txt"), None)
    await desk.connect("gemini")
    await eventually(lambda: side.clients()[0].ready)
    # no terminal: the user has been told, and it is not tried again
    assert await side.mention(Mention("/p/a.txt"), None)
    desk.editor.prompts["gemini"] = ""
    assert await side.mention(Mention("/p/a b(1).txt"), None)
    assert await side.mention(Mention("/p/c.txt", 1, 3), None)
    assert await side.mention(Mention("/p/d.txt", 0, 0), None)
    assert desk.editor.prompts["gemini"] == (
        "@/p/a\\ b\\(1\\).txt @/p/c.txt (lines 2 to 4) @/p/d.txt (line 1) "
    )


# -- the context -----------------------------------------------------------------------------------


@pytest.fixture(params=AGENTS)
async def client(desk: Desk, request: pytest.FixtureRequest) -> Client:
    return await desk.connect(request.param)


async def test_context(desk: Desk, client: Client) -> None:
    assert await client.context(lambda _: True) == {"openFiles": []}
    files = [
        buffer("/p/old.txt", 1000),
        buffer("/p/a.txt", 500, active=True),
        buffer("/p/unsaved.txt", 3000, untitled=True),
        buffer("/p/new.txt", 2000),
    ]
    desk.state.open_buffers(files)
    span = Range(Position(1, 0), Position(3, 4))
    desk.state.select(Selection("/p/a.txt", span, "two\nthree\nfour"))
    state = await client.context(lambda state: "cursor" in str(state))
    assert state == {
        "openFiles": [
            {
                "path": "/p/a.txt",
                "timestamp": 2_000_001,
                "isActive": True,
                "cursor": {"line": 4, "character": 5},
                "selectedText": "two\nthree\nfour",
            },
            {"path": "/p/new.txt", "timestamp": 2_000_000},
            {"path": "/p/old.txt", "timestamp": 1_000_000},
        ]
    }
    desk.state.select(Selection("/p/a.txt", Range(Position(0, 0), Position(0, 0)), ""))
    state = await client.context(lambda state: "selectedText" not in str(state))
    assert state["openFiles"][0]["cursor"] == {"line": 1, "character": 1}
    # of another file than the one that counts as active
    desk.state.select(Selection("/p/new.txt", span, "x"))
    state = await client.context(lambda state: "cursor" not in str(state))
    assert state["openFiles"][0]["isActive"] is True


async def test_no_more_than_the_clis_keep(desk: Desk, client: Client) -> None:
    desk.state.open_buffers([buffer(f"/p/{n}", n + 1) for n in range(50)])
    desk.state.select(None)
    state = await client.context(lambda state: len(state["openFiles"]) > 0)
    assert [item["path"] for item in state["openFiles"]] == [f"/p/{n}" for n in range(49, 39, -1)]
    desk.state.open_buffers([buffer("/p/a", active=True)])
    span = Range(Position(0, 0), Position(0, 9))
    desk.state.select(Selection("/p/a", span, "x" * 300_000))
    state = await client.context(lambda state: "selectedText" in str(state))
    assert len(state["openFiles"][0]["selectedText"]) == messages.MAX_SELECTED_CHARS


@pytest.mark.parametrize(
    ("trust", "by_function", "said"),
    [
        ([], None, None),
        (["/nowhere"], None, None),
        (["*"], None, None),
        (["/*"], None, True),
        (["/*"], False, None),
        ([], True, True),
    ],
)
async def test_trust_is_told_once_and_only_as_a_yes(
    short_folder: Path, trust: list[str], by_function: bool | None, said: bool | None
) -> None:
    desk = Desk(short_folder, gemini={"trust": trust})
    by_agent = {} if by_function is None else {"gemini": by_function}
    desk.state.set_folders([str(short_folder)], by_agent)
    await desk.start()
    client = await desk.connect("gemini")
    assert (await client.context(lambda _: True)).get("isTrusted") is said
    desk.state.set_folders(["/other"], {"gemini": not said})
    desk.state.open_buffers([buffer("/other/a")])
    state = await client.context(lambda state: bool(state["openFiles"]))
    # a change would make it ask for a restart
    assert state.get("isTrusted") is said
    other = await desk.connect("qwen")
    assert "isTrusted" not in await other.context(lambda _: True)
    await desk.close()
