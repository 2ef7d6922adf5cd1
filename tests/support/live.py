"""A real Neovim with its real host, and scripted CLIs on its real sockets.

Owns:     the Neovim's folder, the loop in which the CLIs live, who is connected.
Not here: Neovim (tests/e2e/editor.py), what a CLI says (tests/servers), what a test does with them.

    with Live() as live:
        claude = live.claude()
        request = live.run(claude.open_diff(path, "text"))
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypeVar

from websockets.exceptions import ConnectionClosed

from tests.e2e.editor import Editor
from tests.servers import claude, copilot
from tests.support.neovim import LIMIT_S, wait_until

__all__ = ["Live", "LoopThread"]

T = TypeVar("T")
C = TypeVar("C", claude.Client, copilot.Client)

BOUND_S = 6 * LIMIT_S


class LoopThread:
    """An event loop that runs while the test does something else."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="clients", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T], bound_s: float = BOUND_S) -> T:
        """Run a coroutine in it and wait, bounded."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(bound_s)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Any:
        """Begin it; its future, for this thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        self.run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(BOUND_S)
        self._loop.close()

    async def _cancel_all(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class Live:
    """editor: the Neovim; project: its working directory."""

    def __init__(self, options: str = "", size: tuple[int, int] = (160, 45)) -> None:
        """Start it and wait for its servers.

        Args:
            options: of the plugin, as fields of a Lua table.
        """
        self._stack = ExitStack()
        try:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="ai-"))
            self.folder = Path(folder).resolve()
            self.project = self.folder / "project"
            self.project.mkdir()
            self._loop = LoopThread()
            self._stack.callback(self._loop.close)
            self.editor = Editor(self.folder, self.project, options=options, size=size)
            self._stack.callback(self.editor.stop)
            self.wait_served()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def wait_served(self) -> int:
        """Wait until both CLIs find a server that listens; the host's process id."""
        pid = self.editor.wait_host()
        self.editor.wait_copilot_lock()
        wait_until(self._has_both, "both servers", BOUND_S)
        return pid

    def _has_both(self) -> bool:
        agents = {server["agent"] for server in self.editor.status()["servers"]}
        return {"claude", "copilot"} <= agents

    def run(self, coroutine: Coroutine[Any, Any, T], bound_s: float = BOUND_S) -> T:
        return self._loop.run(coroutine, bound_s)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Any:
        return self._loop.start(coroutine)

    def claude(self) -> claude.Client:
        """A Claude CLI that has connected; tried again while a host that was killed is replaced."""
        return wait_until(lambda: self._attempt(self._claude), "a connection of Claude", BOUND_S)

    def copilot(self) -> copilot.Client:
        """A Copilot CLI that has connected, in the same way."""
        return wait_until(lambda: self._attempt(self._copilot), "a connection of Copilot", BOUND_S)

    def _attempt(self, connect: Callable[[], Coroutine[Any, Any, C]]) -> C | None:
        try:
            return self.run(connect())
        except (OSError, EOFError, ConnectionClosed, TimeoutError):
            return None

    async def _claude(self) -> claude.Client:
        lock = self.editor.lock()
        if lock is None:
            raise FileNotFoundError
        return await self._greeted(await claude.dial(lock.port, lock.token), os.getpid())

    async def _copilot(self) -> copilot.Client:
        lock = self.editor.copilot_lock()
        if lock is None:
            raise FileNotFoundError
        return await self._greeted(copilot.Client(lock, str(uuid.uuid4()), os.getpid()))

    @staticmethod
    async def _greeted(client: C, *told: int) -> C:
        try:
            await client.greet(*told)
        except BaseException:
            await client.kill()
            raise
        return client

    def log(self) -> str:
        """The plugin's log, of both halves."""
        paths = sorted((self.folder / "state").rglob("agent_ide*.log"))
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)

    def logged_errors(self) -> list[str]:
        """Lines of the log that tell of a fault, and of what was not caught."""
        words = ("error", "traceback")
        return [
            line for line in self.log().splitlines() if any(word in line.lower() for word in words)
        ]
