"""Another user of the machine: what lies on disk is private from its first moment.

A real Neovim with its host where it matters; as root another user is tried for real.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ide.transports import lockfile
from tests.e2e.editor import START_S, Editor
from tests.support.neovim import REPO, wait_until
from tests.torture.doors import Door, doors

NOBODY = 65534

NEOVIMS_OWN = ("main.shada", "log")


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="of-") as name:
        folder = Path(name).resolve()
        # others may look in, else nothing would be tried below
        folder.chmod(0o755)
        project = folder / "project"
        project.mkdir()
        old = os.umask(0)
        try:
            it = Editor(folder, project)
        finally:
            os.umask(old)
        with it:
            doors(it)
            for path in folder.iterdir():
                if path.is_dir():
                    path.chmod(0o755)
            yield it


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Be another user for the system's calls."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def discovery_files(editor: Editor) -> list[Path]:
    return [
        *editor.lock_folder.glob("*.lock"),
        *editor.copilot_locks(),
        *editor.companion_files("gemini"),
        *editor.companion_files("qwen"),
    ]


def test_modes_whatever_the_umask(editor: Editor) -> None:
    """With umask 0, so that what is private is so on purpose."""
    found = {path: path.lstat().st_mode for path in editor.folder.rglob("*")}
    files = {
        path: mode
        for path, mode in found.items()
        if stat.S_ISREG(mode) and path.name not in NEOVIMS_OWN
    }
    sockets = {path: mode for path, mode in found.items() if path.name.startswith("mcp-")}
    assert len(discovery_files(editor)) == 4
    assert set(discovery_files(editor)) <= set(files)
    assert {"agent_ide.log", "machine-id"} <= {path.name for path in files}
    assert {str(path): oct(mode) for path, mode in files.items() if mode & 0o7777 != 0o600} == {}
    assert [stat.S_IMODE(mode) for mode in sockets.values()] == [0o600]
    folders = {path.parent for path in discovery_files(editor)}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_another_user(editor: Editor) -> None:
    copilot = next(door for door in doors(editor) if door.name == "copilot")
    paths = discovery_files(editor)
    host = editor.wait_host()
    with as_nobody():
        assert (editor.folder / "home").stat(), "the way to the folders is open"
        for path in paths:
            with pytest.raises(PermissionError):
                path.read_bytes()
            with pytest.raises(PermissionError):
                list(path.parent.iterdir())
            with pytest.raises(PermissionError):
                path.parent.joinpath("1.lock").write_text("{}")
        with pytest.raises(PermissionError), socket.socket(socket.AF_UNIX) as line:
            line.connect(copilot.address)
        with pytest.raises(PermissionError):
            Path(f"/proc/{host}/environ").read_bytes()


AUDITED = """
import asyncio, json, os, sys
from pathlib import Path

made, flags_of = [], {}

def hook(event, args):
    # what the kernel will be asked, just before it is
    if event == "socket.bind":
        mask = os.umask(0o777)
        os.umask(mask)
        made.append(["socket", str(args[1]), mask])
    elif event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT:
        made.append(["file", str(args[0]), args[2]])

async def main(folder):
    from tests.servers import claude, copilot, gemini
    for desk in (claude.Desk(folder), copilot.Desk(folder), gemini.Desk(folder)):
        desk.state.set_folders([str(folder)])
        await desk.server.start()
        desk.state.set_folders([str(folder / "x")])
        await desk.close()

sys.path[:0] = ["python", "."]
import tests.servers.claude, tests.servers.copilot, tests.servers.gemini
sys.addaudithook(hook)
os.umask(0)
asyncio.run(main(Path(sys.argv[1])))
print(json.dumps(made))
"""


def test_private_from_the_first_moment(short_folder: Path) -> None:
    """What the system is asked for, not what is there a moment later."""
    run = subprocess.run(
        [sys.executable, "-c", AUDITED, str(short_folder)],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    made = json.loads(run.stdout)
    unix = [(path, mask) for kind, path, mask in made if kind == "socket" and ".sock" in path]
    assert len(unix) == 1
    assert unix[0][1] & 0o177 == 0o177, "the socket is 0600 as it is made"
    locks = [(path, flags) for kind, path, flags in made if kind == "file" and ".tmp" in path]
    # Claude, Copilot, Gemini, Qwen, each twice
    assert len(locks) >= 8
    wanted = os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    assert [path for path, flags in locks if flags & wanted != wanted] == []


def test_a_folder_that_became_another_users(tmp_path: Path) -> None:
    """Between two writes of a lock somebody puts their own folder in its place."""
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's folder")
    folder = tmp_path / "ide"
    lockfile.ensure_private_folder(folder)
    lockfile.write_atomically(folder / "1.lock", {"authToken": "secret"})
    folder.rename(tmp_path / "away")
    folder.mkdir(mode=0o777)
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(OSError):
        lockfile.write_atomically(folder / "1.lock", {"authToken": "secret"})
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "foreign"])
def test_unsafe_folders_are_refused(tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    """All four folders are not safe: no lock is written, Neovim and its user are told why."""
    with tempfile.TemporaryDirectory(prefix="uf-") as name:
        folder = Path(name).resolve()
        (folder / "project").mkdir()
        places = [
            folder / place / "ide" for place in ("home/.claude", "home/.copilot", "home/.qwen")
        ] + [folder / "tmp/gemini/ide"]
        for place in places:
            place.parent.mkdir(parents=True)
            if kind == "link":
                target = tmp_path_factory.mktemp("target")
                place.symlink_to(target)
            else:
                if os.geteuid() != 0:
                    pytest.skip("only root can make another user's folder")
                place.mkdir(mode=0o777)
                os.chown(place, NOBODY, NOBODY)
        with Editor(folder, folder / "project") as editor:

            def refused() -> bool:
                servers = editor.status()["servers"]
                return len(servers) == 4 and all(server.get("error") for server in servers)

            wait_until(refused, f"four refusals ({editor.status()['servers']})", START_S)
            assert [list(place.iterdir()) for place in places] == [[], [], [], []]
            sockets = list(folder.rglob("mcp-*.sock"))
            assert sockets == [], "who is not found need not listen"


def test_a_stranger_on_the_ports(editor: Editor) -> None:
    """The host dies and somebody takes its ports before the next one: no token reaches them, and
    none of the old ones opens anything."""
    before = {door.name: door for door in doors(editor)}
    host = editor.wait_host()
    taken = [before["claude"], before["gemini"]]
    # Neovim does not see the death until the ports are taken
    os.kill(editor.pid, signal.SIGSTOP)
    try:
        os.kill(host, signal.SIGKILL)
        strangers = [wait_until(lambda door=door: listen_at(door), "the port") for door in taken]
    finally:
        os.kill(editor.pid, signal.SIGCONT)
    try:
        wait_until(lambda: renewed(editor, before), "new locks", START_S)
        after = {door.name: door for door in doors(editor)}
        for name, door in before.items():
            assert door.value != after[name].value
            assert door.address != after[name].address
        for stranger in strangers:
            assert heard(stranger) == b""
        # nobody who reads the locks now finds the stranger
        texts = "".join(path.read_text() for path in discovery_files(editor))
        for door in before.values():
            assert door.token not in texts
    finally:
        for stranger in strangers:
            stranger.close()


def listen_at(door: Door) -> socket.socket | None:
    host, _, port = door.address.partition(":")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
    except OSError:
        listener.close()
        return None
    listener.listen(100)
    listener.setblocking(False)
    return listener


def heard(listener: socket.socket) -> bytes:
    """All that anybody has said to this listener."""
    said = b""
    with contextlib.suppress(BlockingIOError):
        while True:
            line, _ = listener.accept()
            with line:
                line.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    said += line.recv(65536)
    return said


def renewed(editor: Editor, before: dict[str, Door]) -> bool:
    """Each discovery file names another token than before."""
    texts = [path.read_text() for path in discovery_files(editor)]
    return len(texts) == 4 and not any(
        door.token in text for text in texts for door in before.values()
    )
