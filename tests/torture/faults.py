"""What every test of a fault stands on: a real Neovim, its host, an agent, one judge at the end.

Owns:     the scene, the clock that says how long service was away, the search for what is left.
Not here: the faults (test_faults*.py), Neovim (tests/e2e/editor.py), the scripted CLI
          (tests/servers/claude.py).

Service is away from the fault until a client that knows nothing but the lock file is admitted again
and a tool has answered it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.e2e.editor import START_S, Editor, Lock
from tests.e2e.process import running
from tests.servers.claude import HEADER, Client
from tests.support.figures import Figure
from tests.support.neovim import LIMIT_S, REPO, find_nvim, wait_until
from tests.torture.found import host_of, locks_in, name_of, processes_of, texts_in

__all__ = [
    "SERVED_S",
    "Scene",
    "folders",
    "host_of",
    "is_served_by",
    "locks_in",
    "plugin_copy",
    "processes_of",
    "scene",
    "stopped",
    "tell",
    "texts_in",
]

SERVED_S = 12 * LIMIT_S
"""The longest that service may be away where the cure needs no network; far above what is seen."""

ADMITTED_S = 2.0
"""For one attempt to connect; a host that is stopped accepts and says nothing."""

ENDED_S = 6 * LIMIT_S

_QUESTIONS = (
    ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}),
    ("tools/call", {"name": "getWorkspaceFolders", "arguments": {}}),
)

AGENTS = {"claude", "copilot", "gemini", "qwen"}

Fault = Callable[[], object]


class Scene:
    """One Neovim of its own with one project.

    editor:  the Neovim, in a terminal.
    project: its working directory.
    """

    def __init__(self, folder: Path, editor: Editor, project: Path) -> None:
        self.folder = folder
        self.editor = editor
        self.project = project
        self._clients: list[Client] = []

    # -- the agent ------------------------------------------------------------------------------

    async def is_served(self) -> bool:
        """Whether somebody who has read the lock file is let in and a tool answers."""
        lock = self.editor.lock()
        return lock is not None and await is_served_by(lock)

    async def served(self, limit_s: float = SERVED_S) -> None:
        """Wait until somebody is served."""
        end = time.monotonic() + limit_s
        while not await self.is_served():
            assert time.monotonic() < end, f"nobody is served after {limit_s} s: {self.told()}"
            await asyncio.sleep(0.005)

    async def agent(self) -> Client:
        """A Claude CLI that is connected and stays."""
        self.editor.wait_host()
        lock = self.editor.lock()
        assert lock is not None
        client = Client(await _opened(lock))
        self._clients.append(client)
        await client.greet(os.getpid())
        return client

    async def away(self, fault: Callable[..., object], *args: object) -> float:
        """Seconds from a fault until service is there again."""
        begin = time.monotonic()
        fault(*args)
        await self.served()
        return time.monotonic() - begin

    # -- the user -------------------------------------------------------------------------------

    def told(self) -> str:
        """All that the user was told, or what stands in the way of asking."""
        try:
            return self.editor.messages()
        except (AssertionError, OSError) as error:
            return f"({error})"

    def host(self) -> int:
        """The host's process id, once every agent is served."""
        pid = self.editor.wait_host()

        def all_served() -> bool:
            return {server["agent"] for server in self.editor.status()["servers"]} == AGENTS

        wait_until(all_served, "every server", START_S)
        wait_until(lambda: host_of(self.editor.pid) == [pid], "one host")
        return pid

    # -- the judge ------------------------------------------------------------------------------

    def expect_order(self) -> None:
        """Neovim runs: it waits for no key, has one host, and no text lies about."""
        mode = self.editor.nvim.call("nvim_get_mode")
        assert not mode["blocking"], f"a question waits ({mode}):\n{self.editor.terminal.text()}"
        hosts = host_of(self.editor.pid)
        assert len(hosts) <= 1, f"hosts: {hosts}"
        assert len(list(self.editor.lock_folder.glob("*"))) <= 1, "locks of Claude"
        assert len(self.editor.copilot_locks()) <= 1, "locks of Copilot"
        wait_until(lambda: not texts_in(self.folder), "no text in a file")

    async def finish(self, quit_with: Fault | None = None) -> None:
        """Neovim ends, by `:qa` unless told otherwise; nothing of it may be left."""
        if quit_with is None:
            self.expect_order()
            quit_with = lambda: self.editor.nvim.send("nvim_command", "qa")  # noqa: E731
        await self.hang_up()
        with suppress(OSError):
            quit_with()
        self.expect_nothing()

    async def hang_up(self) -> None:
        """The agents go."""
        while self._clients:
            with suppress(OSError, WebSocketException):
                await self._clients.pop().close()

    def expect_nothing(self) -> None:
        """Neovim has ended, or is about to: no process, lock, socket or text of it stays."""
        wait_until(lambda: not running(self.editor.pid), "Neovim's end", ENDED_S)
        end = time.monotonic() + ENDED_S
        while left := self.left():
            assert time.monotonic() < end, f"left behind: {left}"
            time.sleep(0.005)

    def left(self) -> list[str]:
        """What a Neovim that has ended must not leave."""
        processes = [name_of(pid) for pid in processes_of(self.folder)]
        return [*self.editor.leftovers(), *map(str, texts_in(self.folder)), *processes]


def folders(count: int) -> Iterator[Path]:
    """A fresh one for each run, whose path leaves room for a socket's."""
    for _ in range(count):
        with tempfile.TemporaryDirectory(prefix="ai-") as folder:
            yield Path(folder)


def plugin_copy(folder: Path, *, venv: bool = True) -> Path:
    """The plugin as a manager has it: a folder of its own, with the checkout's venv or none."""
    root = folder / "plugin"
    names = ("lua", "plugin", "python", "rplugin", "scripts", "pyproject.toml")
    root.mkdir()
    for path in [*(REPO / name for name in names), *REPO.glob("requirements*.lock")]:
        if path.is_dir():
            shutil.copytree(path, root / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, root)
    if venv:
        (root / ".venv").symlink_to(sys.prefix)
    return root


@contextmanager
def scene(folder: Path, *, options: str = "", **start: Any) -> Iterator[Scene]:
    """A Neovim in a folder of its own; whatever happened, it has ended afterwards."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (project / "a.txt").write_text("one\ntwo\n")
    # a copy of the plugin has none of its own
    env = {"NVIM": find_nvim(), **start.pop("env", {})}
    editor = Editor(folder, project, options=options, env=env, **start)
    try:
        yield Scene(folder, editor, project)
    finally:
        editor.stop()
        for pid in processes_of(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


# -- what is there ------------------------------------------------------------------------------


async def is_served_by(lock: Lock) -> bool:
    """Whether somebody who has this lock is let in and a tool answers."""
    with suppress(OSError, TimeoutError, WebSocketException):
        async with asyncio.timeout(ADMITTED_S), _opened(lock) as connection:
            for number, (method, params) in enumerate(_QUESTIONS):
                question = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                await connection.send(json.dumps(question))
                while (answer := json.loads(await connection.recv())).get("id") != number:
                    pass
            return "result" in answer and not answer["result"].get("isError")
    return False


def _opened(lock: Lock) -> connect:
    return connect(
        f"ws://127.0.0.1:{lock.port}",
        additional_headers={HEADER: lock.token},
        subprotocols=["mcp"],  # type: ignore[list-item]
        max_size=None,
        compression=None,
        # no CLI drops a connection because the other side sleeps
        ping_interval=None,
    )


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Processes that stand still meanwhile, as with a laptop that sleeps."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def tell(figure: Figure, fault: str, away_s: Iterable[float]) -> None:
    """How long service was away in all runs of one fault."""
    times = [one * 1000 for one in away_s]
    figure(
        f"away: {fault}", median(times), "ms", f"p50; max {max(times):.0f} ms, {len(times)} runs"
    )
