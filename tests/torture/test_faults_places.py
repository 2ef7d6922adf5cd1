"""Faults of the places where a server is found: folders, disks, sockets, ports.

Not here: the host's process (test_faults_host.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.figures import Figure, Scale
from tests.support.neovim import wait_until
from tests.torture.faults import Scene, folders, scene, tell

PORT_MIN = 23_000
"""Below the ports that the system gives to clients."""


@contextmanager
def mounted(path: Path) -> Iterator[Callable[..., None]]:
    """A small file system of its own; gives a function that mounts it with other options."""
    path.mkdir(parents=True, mode=0o700, exist_ok=True)

    def mount(*options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(("size=64k", "mode=0700", *options))]
        done = subprocess.run([*command, "tmpfs", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")

    try:
        mount()
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    try:
        yield mount
    finally:
        subprocess.run(["umount", str(path)], capture_output=True)


def fill(folder: Path) -> None:
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while filler.write(b"x" * 512):
            pass


@pytest.mark.parametrize("fault", ["full", "read-only"])
async def test_a_disk_that_takes_no_lock(fault: str, scale: Scale, figure: Figure) -> None:
    """It is said once; when the disk takes it, service is there without a word."""
    away = []
    for folder in folders(scale(short=1, long=50)):
        locks = folder / "home/.claude/ide"
        with mounted(locks) as mount:
            if fault == "full":
                fill(locks)
            else:
                mount("remount", "ro")
            with scene(folder) as it:
                it.editor.wait_copilot_lock()
                wait_until(lambda: "cannot find Neovim" in it.told(), "a message")
                assert it.editor.lock() is None
                # it is looked again, and not told again
                look_again(it)
                assert it.told().count("cannot find Neovim") == 1
                if fault == "full":
                    away.append(await it.away((locks / "filler").unlink))
                else:
                    away.append(await it.away(mount, "remount", "rw"))
                await it.finish()
    tell(figure, f"the lock's disk was {fault} (from its cure)", away)


def look_again(it: Scene) -> None:
    """Wait until the host has looked at its files: it puts back one that is missing."""
    wait_until(it.editor.copilot_locks, "Copilot's lock")
    (path,) = it.editor.copilot_locks()
    path.unlink()
    wait_until(it.editor.copilot_locks, "Copilot's lock again")


def remove_lock(it: Scene) -> None:
    lock = it.editor.lock()
    assert lock
    lock.path.unlink()


def remove_folder(it: Scene) -> None:
    shutil.rmtree(it.editor.lock_folder.parent)


@pytest.mark.parametrize("fault", [remove_lock, remove_folder])
async def test_what_is_removed_is_put_back(
    fault: Callable[[Scene], None], scale: Scale, figure: Figure
) -> None:
    away = []
    for folder in folders(scale(short=1, long=50)):
        with scene(folder) as it:
            it.host()
            agent = await it.agent()
            before = it.editor.lock()
            away.append(await it.away(fault, it))
            after = it.editor.lock()
            assert before
            assert after
            assert (after.port, after.token) == (before.port, before.token)
            assert await agent.json("getWorkspaceFolders"), "the agent has noticed nothing"
            assert it.told() == ""
            await it.finish()
    tell(figure, f"{fault.__name__.replace('_', ' ')} while it runs", away)


async def test_a_file_in_the_folders_place(short_folder: Path, figure: Figure) -> None:
    folder = short_folder / "home/.claude/ide"
    folder.parent.mkdir(parents=True)
    folder.write_text("none of ours")
    with scene(short_folder) as it:
        it.editor.wait_copilot_lock()
        wait_until(lambda: "Claude Code cannot connect" in it.told(), "a message")
        look_again(it)
        assert it.told().count("cannot connect") == 1
        assert folder.read_text() == "none of ours"
        tell(
            figure,
            "a file in the lock folder's place (from its end)",
            [await it.away(folder.unlink)],
        )
        it.host()
        await it.finish()


@contextmanager
def stranger(port: int) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        listener.setblocking(False)
        yield listener


def heard_by(listener: socket.socket) -> bytes:
    """What came to a stranger's port."""
    heard = b""
    with suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(0.2)
                with suppress(TimeoutError):
                    heard += connection.recv(65536)
    return heard


def free_port(offset: int) -> int:
    """One that nobody has, by the worker's number."""
    for port in range(PORT_MIN + offset + 100 * (os.getpid() % 50), 32_000):
        with suppress(OSError), stranger(port):
            return port
    raise AssertionError("no free port")


async def test_every_port_of_the_range_is_taken(short_folder: Path, figure: Figure) -> None:
    port = free_port(0)
    options = f"claude = {{ port_min = {port}, port_max = {port} }}"
    with stranger(port) as listener, scene(short_folder, options=options) as it:
        it.editor.wait_copilot_lock()
        wait_until(lambda: "Claude Code cannot connect" in it.told(), "a message")
        look_again(it)
        assert it.told().count("cannot connect") == 1
        assert it.editor.lock() is None
        assert heard_by(listener) == b""
        away = await it.away(listener.close)
        tell(figure, "every port was taken (from the first that is free)", [away])
        it.host()
        await it.finish()


async def test_the_dead_hosts_port_is_taken(scale: Scale, figure: Figure) -> None:
    """The next host takes another port and another token; the old one reaches no stranger."""
    away = []
    for folder in folders(scale(short=1, long=50)):
        with scene(folder) as it:
            pid = it.host()
            before = it.editor.lock()
            assert before
            os.kill(pid, signal.SIGSTOP)
            os.kill(pid, signal.SIGKILL)
            begin = time.monotonic()
            listener = wait_until(lambda: _taken(before.port), "the port")  # noqa: B023
            with listener:
                # the old lock is there until the next host comes: our own client must not use it
                wait_until(lambda: it.editor.lock() not in (None, before), "another lock", 30)  # noqa: B023
                await it.served()
                away.append(time.monotonic() - begin)
                after = it.editor.lock()
                assert after
                assert after.port != before.port
                assert after.token != before.token
                assert not before.path.exists()
                assert heard_by(listener) == b"", "the host has not called there"
                it.host()
                await it.finish()
    tell(figure, "kill -9, and a stranger takes the port", away)


def _taken(port: int) -> socket.socket | None:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        listener.close()
        return None
    listener.setblocking(False)
    return listener


async def test_two_neovims_want_one_port(short_folder: Path, figure: Figure) -> None:
    """Who comes second is told, and served once the first has gone."""
    port = free_port(50)
    options = f"claude = {{ port_min = {port}, port_max = {port} }}"
    first, second = short_folder / "1", short_folder / "2"
    first.mkdir()
    second.mkdir()
    with scene(first, options=options) as one, scene(second, options=options) as other:
        wait_until(lambda: one.editor.lock() or other.editor.lock(), "one of them", 30)
        winner, loser = (one, other) if one.editor.lock() else (other, one)
        wait_until(lambda: "Claude Code cannot connect" in loser.told(), "a message", 30)
        assert loser.editor.lock() is None
        await winner.served()
        await winner.finish()
        tell(figure, "another Neovim had the only port (from its end)", [await loser.away(len, "")])
        loser.host()
        await loser.finish()


def make_file(path: Path) -> None:
    path.write_text("none of ours")


def make_socket(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.close()


@pytest.mark.parametrize("put", [None, make_file, make_socket])
async def test_the_sockets_place_is_taken(
    put: Callable[[Path], None] | None, short_folder: Path, figure: Figure
) -> None:
    """Copilot is served on another socket; what lay in the place of the first goes with it."""
    with scene(short_folder) as it:
        pid = it.host()
        before = it.editor.wait_copilot_lock()
        path = Path(before["socketPath"])
        path.unlink()
        if put:
            put(path)

        def renewed() -> bool:
            lock = it.editor.copilot_lock()
            return lock is not None and lock["socketPath"] != before["socketPath"]

        begin = time.monotonic()
        if put is make_socket:
            # it looks as ours did: only the next host finds out
            os.kill(pid, signal.SIGKILL)
        wait_until(renewed, "another socket", 30)
        took = time.monotonic() - begin
        what = put.__name__.replace("make_", "") if put else "nothing"
        tell(figure, f"{what} in the place of Copilot's socket", [took])
        it.host()
        await it.finish()
