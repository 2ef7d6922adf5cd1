"""The Copilot server's life: its lock file and socket, its sessions, its pushes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_ide import trust
from agent_ide.editor.diagnosed import Diagnosed
from agent_ide.errors import LockFolderError, ServeError
from agent_ide.model import Diagnostic, Position, Range, Selection, Severity
from agent_ide.protocols import peer
from agent_ide.protocols.base import Mention
from agent_ide.protocols.copilot_ide import discovery, places
from agent_ide.transports import lockfile
from tests.servers.copilot import Client, Desk
from tests.support.eventually import eventually

DEAD_PID = 2**22 + 1
"""Over the kernel's maximum: no process's."""


@pytest.fixture
async def desk(short_folder: Path) -> AsyncIterator[Desk]:
    it = Desk(short_folder)
    it.state.set_folders([str(short_folder)])
    await it.server.start()
    yield it
    await it.close()


# -- the lock file ---------------------------------------------------------------------------------


async def test_lock_file(desk: Desk) -> None:
    (path,) = desk.locks()
    lock = desk.lock()
    del lock["agentIde"]
    timestamp_ms = lock.pop("timestamp")
    assert abs(time.time() * 1000 - timestamp_ms) < 60_000
    address, nonce = lock.pop("socketPath"), lock.pop("headers")
    assert lock == {
        "scheme": "pipe",
        "pid": desk.pid,
        "ideName": "Neovim",
        "workspaceFolders": [os.path.realpath(desk.folder)],
        "isTrusted": False,
    }
    guid = str(uuid.UUID(path.stem))
    assert address == str(desk.folder / f"mcp-{guid}.sock")
    (scheme, secret) = nonce.pop("Authorization").split(" ")
    assert (scheme, nonce) == ("Nonce", {})
    assert str(uuid.UUID(secret)) == secret
    assert secret != guid
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(os.stat(address).st_mode) == 0o600
    assert desk.server.files() == [path, Path(address)]
    assert desk.server.address == address
    assert desk.server.launch_env() == {}


async def test_folders_are_real_paths_each_once(desk: Desk) -> None:
    real = desk.folder / "real"
    real.mkdir()
    (desk.folder / "link").symlink_to("real")
    desk.state.set_folders([str(desk.folder / "link"), f"{desk.folder}/real/../link/", str(real)])
    assert desk.lock()["workspaceFolders"] == [os.path.realpath(real)]
    desk.state.set_folders([])
    assert desk.lock()["workspaceFolders"] == []


async def test_change_of_folders_without_a_client_is_atomic(desk: Desk) -> None:
    (path,) = desk.locks()
    before = path.stat().st_ino
    with path.open() as old:
        desk.state.set_folders(["/other"])
        assert json.load(old)["workspaceFolders"] != ["/other"], "a reader keeps what it opened"
    assert path.stat().st_ino != before
    assert desk.lock()["workspaceFolders"] == ["/other"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_change_of_folders_with_a_client_is_in_place(desk: Desk) -> None:
    client = desk.client()
    (path,) = desk.locks()
    before = path.stat().st_ino
    await client.initialize()
    # it has no stream yet, and would not survive a rename either
    desk.state.set_folders(["/" + "long" * 50])
    await client.listen()
    desk.state.set_folders(["/other"])
    assert path.stat().st_ino == before
    assert desk.lock()["workspaceFolders"] == ["/other"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await client.delete()
    await eventually(lambda: not desk.server.clients())
    desk.state.set_folders(["/third"])
    assert path.stat().st_ino != before


async def test_lock_that_is_gone_is_written_anew_while_connected(desk: Desk) -> None:
    await desk.connect()
    (path,) = desk.locks()
    path.unlink()
    desk.state.set_folders(["/other"])
    assert desk.lock()["workspaceFolders"] == ["/other"]


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


async def test_nothing_secret_is_the_same_twice(short_folder: Path) -> None:
    seen: set[str] = set()
    for _ in range(3):
        desk = Desk(short_folder)
        await desk.server.start()
        lock = desk.lock()
        seen |= {lock["headers"]["Authorization"], lock["socketPath"]}
        await desk.close()
    assert len(seen) == 6


async def test_stop_removes_lock_and_socket(desk: Desk) -> None:
    client = await desk.connect()
    files = desk.server.files()
    await desk.server.stop()
    assert not any(path.exists() for path in files)
    assert desk.server.clients() == []
    assert client.pushes("selection_changed") == []


async def test_unsafe_folder_is_refused(short_folder: Path) -> None:
    (short_folder / "elsewhere").mkdir()
    (short_folder / "home").mkdir()
    (short_folder / "home" / "ide").symlink_to(short_folder / "elsewhere")
    desk = Desk(short_folder)
    with pytest.raises(LockFolderError):
        await desk.server.start()
    await desk.close()
    assert list((short_folder / "elsewhere").iterdir()) == []


async def test_home_of_the_options_wins(short_folder: Path) -> None:
    desk = Desk(short_folder, env={"COPILOT_HOME": str(short_folder / "mine")})
    await desk.server.start()
    assert len(list((short_folder / "mine" / "ide").glob("*.lock"))) == 1
    await desk.close()


def test_home() -> None:
    assert discovery.lock_folder({"COPILOT_HOME": "/c", "HOME": "/h"}) == Path("/c/ide")
    assert discovery.lock_folder({"COPILOT_HOME": "", "HOME": "/h"}) == Path("/h/.copilot/ide")
    assert discovery.lock_folder({}) == Path.home() / ".copilot" / "ide"


# -- what is left of others ------------------------------------------------------------------------


def leave_a_dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


async def test_lock_of_this_neovims_host_before_goes_first(short_folder: Path) -> None:
    desk = Desk(short_folder)
    await desk.server.start()
    (old,) = desk.locks()
    address, content = Path(desk.lock()["socketPath"]), old.read_bytes()
    await desk.server.stop()
    # as after a crash
    old.write_bytes(content)
    leave_a_dead_socket(address)
    desk.server = desk.new_server()
    await desk.server.start()
    (new,) = desk.locks()
    assert new != old
    assert not address.exists()
    await desk.connect()
    await desk.close()


async def test_dead_neovims_are_swept_and_nobody_else(short_folder: Path) -> None:
    desk = Desk(short_folder)
    lockfile.ensure_private_folder(desk.lock_folder)
    dead_socket = short_folder / f"mcp-{uuid.uuid4()}.sock"
    leave_a_dead_socket(dead_socket)
    precious = short_folder / "mcp-x.sock"
    precious.write_text("no socket")

    def leave(name: str, pid: int, address: Path, ours: bool = True) -> Path:
        path = desk.lock_folder / name
        lock: dict[str, Any] = {"pid": pid, "socketPath": str(address)}
        if ours:
            lockfile.write_atomically(path, lock)
        else:
            path.write_text(json.dumps(lock))
        return path

    dead = leave("dead.lock", DEAD_PID, dead_socket)
    odd = leave("odd.lock", DEAD_PID, precious)
    another_ide = leave("jetbrains-1.lock", DEAD_PID, dead_socket, ours=False)
    living = leave("living.lock", os.getppid(), short_folder / "living.sock")
    broken = desk.lock_folder / "broken.lock"
    broken.write_text("{")
    await desk.server.start()
    left = {another_ide, living, broken}
    assert left < set(desk.locks())
    assert len(desk.locks()) == len(left) + 1
    assert not dead.exists() and not dead_socket.exists()  # noqa: PT018 - one fact
    assert not odd.exists() or odd in left
    assert precious.exists(), "what is no socket is not removed, whatever a lock says"
    await desk.close()


async def test_two_neovims(desk: Desk) -> None:
    other = Desk(desk.folder, pid=os.getppid())
    await other.server.start()
    assert len(desk.locks()) == 2
    await other.close()
    assert len(desk.locks()) == 1


# -- trust -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folders", "patterns", "trusted"),
    [
        (["/p"], ["/p"], True),
        (["/p/a/b"], ["/p"], True),
        (["/p/a/b"], ["/p/"], True),
        (["/p"], ["/p/"], True),
        (["/pq"], ["/p"], False),
        (["/p/a", "/q"], ["/p"], False),
        (["/p/a", "/q"], ["/p", "/q"], True),
        (["/p/a/b"], ["/p/*"], True),
        (["/p"], ["/p/*"], False),
        (["/work/one/src"], ["/work/*/src"], True),
        (["/anything"], ["/"], True),
        (["/anything"], [""], False),
        (["/anything"], ["*"], False),
        (["/p/a"], ["p"], False),
        (["/p/a"], ["a"], False),
        (["/p/a"], ["./p"], False),
        (["/P"], ["/p"], False),
        ([], ["/"], False),
        (["/p"], [], False),
    ],
)
def test_trusted_are_only_covered_folders(
    folders: list[str], patterns: list[str], trusted: bool
) -> None:
    assert trust.is_trusted(folders, patterns) is trusted


def test_trust_knows_home_and_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real = os.path.realpath(tmp_path / "real")
    assert trust.is_trusted([real], ["~/real"])
    assert trust.is_trusted([real], ["~/link"])
    assert not trust.is_trusted([real], ["~/lin"])


async def test_trust_is_told(short_folder: Path) -> None:
    desk = Desk(short_folder, trust=["/p"])
    await desk.server.start()
    desk.state.set_folders(["/p/a"])
    assert desk.lock()["isTrusted"] is True
    desk.state.set_folders(["/p/a", "/q"])
    assert desk.lock()["isTrusted"] is False
    await desk.close()


async def test_trust_by_the_users_function(desk: Desk) -> None:
    desk.state.set_folders(["/p"], {"copilot": True})
    assert desk.lock()["isTrusted"] is True
    desk.state.set_folders(["/p"], {"copilot": False})
    assert desk.lock()["isTrusted"] is False
    desk.state.set_folders(["/p"], {"another": True})
    assert desk.lock()["isTrusted"] is False


# -- the socket ------------------------------------------------------------------------------------


async def test_runtime_folder_of_the_system_is_preferred(short_folder: Path) -> None:
    (short_folder / "run").mkdir(mode=0o700)
    desk = Desk(short_folder)
    desk.environ["XDG_RUNTIME_DIR"] = str(short_folder / "run")
    desk.server = desk.new_server()
    await desk.server.start()
    assert Path(desk.lock()["socketPath"]).parent == short_folder / "run"
    await desk.close()


def test_folders_for_the_socket(short_folder: Path) -> None:
    ours = short_folder / "ours"
    ours.mkdir(mode=0o700)
    shared = short_folder / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    long = short_folder / ("x" * 100)
    long.mkdir(mode=0o700)
    link = short_folder / "link"
    link.symlink_to(ours)
    name = discovery.socket_name(str(uuid.uuid4()))
    for unfit in (shared, long, link, short_folder / "missing", ours / "file"):
        (ours / "file").touch()
        environ = {"XDG_RUNTIME_DIR": str(unfit)}
        assert places.socket_folder(environ, str(ours), name) == ours, unfit
        with pytest.raises(ServeError):
            places.socket_folder(environ, str(unfit), name)
    assert places.socket_folder({}, str(ours), name) == ours


def test_machine_id_stays(tmp_path: Path) -> None:
    path = tmp_path / "state" / "machine-id"
    first = places.machine_id(path)
    assert places.machine_id(path) == first == str(uuid.UUID(first))
    path.write_text("nonsense")
    assert places.machine_id(path) != first
    (tmp_path / "file").touch()
    assert uuid.UUID(places.machine_id(tmp_path / "file" / "machine-id")), "a place that cannot be"


# -- sessions --------------------------------------------------------------------------------------


async def test_clients_are_told_of(desk: Desk) -> None:
    first, second = await desk.connect(pid=11), await desk.connect(pid=12)
    told = [(it.id, it.name, it.version, it.pid, it.ready) for it in desk.server.clients()]
    assert told == [
        ("copilot-1", "copilot-cli", "1.0.102", 11, True),
        ("copilot-2", "copilot-cli", "1.0.102", 12, True),
    ]
    await first.delete()
    assert [it.id for it in desk.server.clients()] == ["copilot-2"]
    await second.json("update_session_name", name="fix \x1b[31mit")
    assert [it.session_name for it in desk.server.clients()] == ["fix it"]


async def test_known_cli_session_replaces(desk: Desk) -> None:
    first = await desk.connect("cli-1")
    other = await desk.connect("cli-2")
    diff = await first.open_diff(desk.folder / "a", "x")
    await desk.shown()
    again = await desk.connect("cli-1")
    assert (await first.verdict(diff))["trigger"] == "client_disconnected"
    await desk.shown(0)
    assert [it.id for it in desk.server.clients()] == ["copilot-2", "copilot-3"]
    assert (await (await first.begin("ping")).answer()).status == 404
    assert await again.request("ping") == await other.request("ping") == {}


async def test_reload_at_start(desk: Desk) -> None:
    """As in the recording: DELETE and everything again within a tenth of a second."""
    client = await desk.connect("cli-1")
    await client.delete()
    client.session_id = None
    await client.greet()
    assert [it.id for it in desk.server.clients()] == ["copilot-2"]


async def test_initialize_result(desk: Desk) -> None:
    assert await desk.client().initialize() == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {
            "name": "vscode-copilot-cli",
            "version": "0.0.1",
            "title": "VS Code Copilot CLI",
        },
    }


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")],
)
async def test_revisions(desk: Desk, asked: str, agreed: str) -> None:
    result = await desk.client().request("initialize", protocolVersion=asked, clientInfo={})
    assert result["protocolVersion"] == agreed


async def test_wrong_nonce(desk: Desk) -> None:
    client = desk.client()
    client._lock["headers"] = {"Authorization": f"Nonce {uuid.uuid4()}"}
    answer = await (await client.begin("server/discover")).answer()
    assert (answer.status, answer.body) == (401, b"")


async def test_killed_cli_is_forgotten_after_a_while(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "GONE_AFTER_S", 0.05)
    client = await desk.connect()
    diff = await client.open_diff(desk.folder / "a", "x")
    await desk.shown()
    await client.kill()
    await desk.shown(0)
    await eventually(lambda: not desk.server.clients())
    assert desk.reviews.open() == []
    # the same one may come back, after a suspended machine for one
    await client.listen()
    await eventually(desk.server.clients)
    assert diff is not None


async def test_lost_stream_is_no_farewell(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await desk.connect()
    await client.stop_listening()
    await eventually(lambda: not desk.server.clients()[0].ready)
    assert len(desk.server.clients()) == 1, "it opens a new one within a second"
    await client.listen()
    await eventually(lambda: desk.server.clients()[0].ready)


async def test_accepted_one_of_a_gone_client_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "GONE_AFTER_S", 0.05)
    client = await desk.connect()
    diff = await client.open_diff(desk.folder / "a", "x")
    await desk.accept()
    await client.verdict(diff)
    await client.kill()
    await eventually(lambda: desk.reviews.open()[0].client_gone)
    again = await desk.connect()
    assert await again.open_diff(desk.folder / "a", "y") is not None
    await eventually(lambda: [it.proposal.text for it in desk.reviews.open()] == ["y"])


async def test_sessions_are_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_ide.protocols.peers.MAX_SESSIONS", 3)
    monkeypatch.setattr(peer, "GONE_AFTER_S", 0.02)
    living = await desk.connect()
    for _ in range(5):
        await desk.client().initialize()
    await eventually(lambda: len(desk.server.clients()) == 1)
    for _ in range(5):
        await desk.client().initialize()
    assert await living.request("ping") == {}, "who is there is not put out for who is gone"


async def test_change_is_told_when_a_client_comes_and_goes(desk: Desk) -> None:
    before = desk.changes
    client = await desk.connect()
    assert desk.changes > before
    before = desk.changes
    await client.delete()
    assert desk.changes > before


async def test_stop_answers_what_waits(desk: Desk) -> None:
    client = await desk.connect()
    diff = await client.open_diff(desk.folder / "a", "x")
    await desk.shown()
    async with asyncio.timeout(3):
        await desk.server.stop()
    assert (await client.verdict(diff))["trigger"] == "client_disconnected"
    assert desk.reviews.open() == []


async def test_stop_before_start(short_folder: Path) -> None:
    desk = Desk(short_folder)
    await desk.server.stop()
    desk.state.set_folders(["/p"])
    assert desk.locks() == []
    await desk.close()


# -- pushes ----------------------------------------------------------------------------------------


def selection(path: str, line: int, text: str = "abc") -> Selection:
    return Selection(path, Range(Position(line, 0), Position(line, len(text))), text)


async def test_selection_is_pushed_as_a_stream_opens_and_on_change(desk: Desk) -> None:
    desk.state.select(selection("/a é.txt", 1))
    clients = [await desk.connect(), await desk.connect()]
    for client in clients:
        assert await client.hears("selection_changed") == {
            "text": "abc",
            "filePath": "/a é.txt",
            "fileUrl": "file:///a%20%C3%A9.txt",
            "selection": {
                "start": {"line": 1, "character": 0},
                "end": {"line": 1, "character": 3},
                "isEmpty": False,
            },
        }
    desk.state.select(selection("/b.txt", 2, ""))
    for client in clients:
        last = await client.hears("selection_changed", 2)
        assert (last["filePath"], last["selection"]["isEmpty"]) == ("/b.txt", True)


async def test_each_new_stream_hears_the_selection(desk: Desk) -> None:
    desk.state.select(selection("/a.txt", 1))
    client = await desk.connect()
    await client.hears("selection_changed")
    await client.stop_listening()
    await client.listen()
    await client.hears("selection_changed", 2)
    await client.listen()
    await client.hears("selection_changed", 3)


async def test_no_file_clears_with_an_empty_selection(desk: Desk) -> None:
    client = await desk.connect()
    desk.state.select(None)
    assert await client.request("ping") == {}
    assert client.heard == [], "there has never been a file"
    desk.state.select(selection("/a.txt", 4))
    await client.hears("selection_changed")
    desk.state.select(None)
    assert await client.hears("selection_changed", 2) == {
        "text": "",
        "filePath": "/a.txt",
        "fileUrl": "file:///a.txt",
        "selection": {
            "start": {"line": 0, "character": 0},
            "end": {"line": 0, "character": 0},
            "isEmpty": True,
        },
    }


async def test_selections_at_a_pace_and_the_last_one_always(desk: Desk) -> None:
    client = await desk.connect()
    loop = asyncio.get_running_loop()
    begin_s, line = loop.time(), 0
    while loop.time() - begin_s < 0.7:
        line += 1
        desk.state.select(selection("/a.txt", line))
        await asyncio.sleep(0)
    await eventually(
        lambda: client.pushes("selection_changed")[-1]["selection"]["start"]["line"] == line
    )
    lines = [it["selection"]["start"]["line"] for it in client.pushes("selection_changed")]
    assert lines[0] == 1, "the first at once"
    assert len(lines) <= 2 + (loop.time() - begin_s) / peer.PUSH_INTERVAL_S
    desk.state.select(selection("/a.txt", line))
    assert await client.request("ping") == {}
    await eventually(lambda: not desk.server._peers[client.session_id or ""].pushed._dirty)
    assert len(client.pushes("selection_changed")) == len(lines), "nothing new, nothing said"


def problem(message: str = "bad") -> Diagnostic:
    span = Range(Position(1, 2), Position(1, 4))
    return Diagnostic(message, Severity.WARNING, span, source="lint", code="E1")


async def test_diagnostics_of_changed_files_only(desk: Desk) -> None:
    desk.state.diagnose("/old.py", [problem()])
    client = await desk.connect()
    desk.state.diagnose("/a.py", [problem()])
    assert await client.hears("diagnostics_changed") == {
        "uris": [
            {
                "uri": "file:///a.py",
                "diagnostics": [
                    {
                        "range": {
                            "start": {"line": 1, "character": 2},
                            "end": {"line": 1, "character": 4},
                        },
                        "message": "bad",
                        "severity": "warning",
                        "source": "lint",
                        "code": "E1",
                    }
                ],
            }
        ]
    }
    desk.state.diagnose("/b.py", [problem("one")])
    desk.state.diagnose("/a.py", [])
    desk.state.diagnose("/b.py", [problem("two")])
    last = await client.hears("diagnostics_changed", 2)
    assert [(it["uri"], len(it["diagnostics"])) for it in last["uris"]] == [
        ("file:///b.py", 1),
        ("file:///a.py", 0),
    ]
    assert last["uris"][0]["diagnostics"][0]["message"] == "two"


async def test_what_is_wrong_still_is_not_said_again(desk: Desk) -> None:
    client = await desk.connect()
    desk.state.diagnose("/a.py", Diagnosed(told("one")))
    desk.state.diagnose("/b.py", Diagnosed(told("one")))
    await hears_of(client, "/b.py")
    for word in ("one", "two"):
        desk.state.diagnose("/a.py", Diagnosed(told(word)))
        desk.state.diagnose("/b.py", Diagnosed(told("one")))
        desk.state.diagnose("/clean.py", [])
    await hears_of(client, "/a.py", 2)
    uris = [it["uri"] for push in client.pushes("diagnostics_changed") for it in push["uris"]]
    assert uris == ["file:///a.py", "file:///b.py", "file:///a.py"]


async def test_many_diagnostics_come_in_several_pushes(desk: Desk) -> None:
    client = await desk.connect()
    for number in range(30):
        desk.state.diagnose(f"/{number}.py", [problem()] * 100)
    # of a file that waits the newest is said, once
    desk.state.diagnose("/29.py", [problem("newer")])
    await hears_of(client, "/29.py")
    pushes = [push["uris"] for push in client.pushes("diagnostics_changed")]
    assert [it["uri"] for push in pushes for it in push] == [f"file:///{n}.py" for n in range(30)]
    assert max(sum(len(it["diagnostics"]) for it in push) for push in pushes) == 1000
    assert pushes[-1][-1]["diagnostics"][0]["message"] == "newer"


def told(message: str) -> str:
    """A file's only diagnostic as Lua tells it."""
    span = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 4}}
    return json.dumps([{"message": message, "severity": 1, "range": span}])


async def hears_of(client: Client, path: str, times: int = 1) -> None:
    await eventually(
        lambda: (
            sum(
                it["uri"] == f"file://{path}"
                for push in client.pushes("diagnostics_changed")
                for it in push["uris"]
            )
            >= times
        )
    )


async def test_mention_goes_to_the_right_client(desk: Desk) -> None:
    assert not await desk.server.mention(Mention("/a.txt"), None)
    waiting = desk.client(pid=10)
    await waiting.initialize()
    assert not await desk.server.mention(Mention("/a.txt"), 10), "nothing can be pushed to it yet"
    first, second = await desk.connect(pid=11), await desk.connect(pid=12)
    assert await desk.server.mention(Mention("/a b.txt", 0, 1), 11)
    assert await first.hears("add_file_reference") == {
        "filePath": "/a b.txt",
        "fileUrl": "file:///a%20b.txt",
        "selection": {
            "start": {"line": 0, "character": 0},
            "end": {"line": 1, "character": 1},
        },
        "selectedText": None,
    }
    assert await first.request("ping") == {}
    assert await desk.server.mention(Mention("/folder"), None)
    assert await first.hears("add_file_reference", 2) == {
        "filePath": "/folder",
        "fileUrl": "file:///folder",
        "selection": None,
        "selectedText": None,
    }
    assert second.pushes("add_file_reference") == []


async def test_mention_of_what_is_selected_has_columns_and_text(desk: Desk) -> None:
    client = await desk.connect()
    span = Range(Position(3, 2), Position(4, 5))
    desk.state.select(Selection("/a.txt", span, "é\nworld"))
    assert await desk.server.mention(Mention("/a.txt", 3, 4), None)
    assert await client.hears("add_selection") == {
        "filePath": "/a.txt",
        "fileUrl": "file:///a.txt",
        "selection": {
            "start": {"line": 3, "character": 2},
            "end": {"line": 4, "character": 5},
        },
        "selectedText": "é\nworld",
    }
    for other in (Mention("/a.txt", 3, 5), Mention("/b.txt", 3, 4)):
        assert await desk.server.mention(other, None)
    await client.hears("add_file_reference", 2)


async def test_client_that_does_not_read(desk: Desk) -> None:
    reads, sleeps = await desk.connect(), desk.client()
    await sleeps.initialize()
    await sleeps._send(sleeps._head("GET"))
    await eventually(lambda: all(it.ready for it in desk.server.clients()))
    for number in range(300):
        desk.state.select(selection("/a.txt", number, "x" * 10_000))
        desk.state.diagnose(f"/{number}.py", [problem()])
        await asyncio.sleep(0)
    newest = {"line": 299, "character": 0}
    await eventually(
        lambda: (
            reads.pushes("selection_changed")
            and reads.pushes("selection_changed")[-1]["selection"]["start"] == newest
        )
    )
    assert len(desk.server._peers[sleeps.session_id or ""].pushed._dirty) <= 2


async def test_empty_probes(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        assert not lockfile.socket_refuses(desk.server.address)
    client: Client = await desk.connect()
    assert await client.request("ping") == {}
    assert [it for it in caplog.records if it.levelname != "INFO"] == []
