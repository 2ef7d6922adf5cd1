"""Host code of this process on the channel of a real Neovim.

Owns:     a thread with pynvim's loop, in which the host's coroutines run.
Not here: Neovim (neovim.py). The product's own host process is for tests/e2e.

    with Neovim(home, args=["--listen", address]) as nvim, HostThread(address) as thread:
        editor = thread.attach(lambda nvim: NvimEditor(nvim, runtime_dir))
        thread.run(editor.open_file(...))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, Self, TypeVar

import pynvim

__all__ = ["HostThread"]

BOUND_S = 10.0

T = TypeVar("T")


class TakesReplies(Protocol):
    def receive_reply(self, call_id: int, ok: bool, value: Any) -> None: ...


R = TypeVar("R", bound=TakesReplies)


class HostThread:
    """The loop of a host, on a second connection to a Neovim that listens at `address`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main, name="host", daemon=True)
        self._nvim: pynvim.Nvim | None = None
        self._receiver: TakesReplies | None = None
        self._events: Callable[[str, dict[str, Any]], None] = lambda name, payload: None

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(BOUND_S), "the host's loop does not run"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._nvim is not None
        self._nvim.loop.call_soon_threadsafe(self._nvim.stop_loop)
        self._thread.join(BOUND_S)

    def attach(
        self,
        make: Callable[[pynvim.Nvim], R],
        events: Callable[[R], Callable[[str, dict[str, Any]], None]] | None = None,
    ) -> R:
        """Make the host, or a part of it, in the loop's thread; Lua's replies go to it."""

        async def made() -> R:
            assert self._nvim is not None
            receiver = make(self._nvim)
            self._receiver = receiver
            if events is not None:
                self._events = events(receiver)
            return receiver

        return self.run(made())

    def run(self, coroutine: Coroutine[Any, Any, T], bound_s: float = BOUND_S) -> T:
        """Run a coroutine in the loop and wait for it, bounded."""
        return self.start(coroutine).result(bound_s)

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Any:
        """Run a coroutine in the loop; its future, for another thread."""
        assert self._nvim is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._nvim.loop)

    def _main(self) -> None:
        nvim = pynvim.attach("socket", path=self._address)
        self._nvim = nvim
        nvim.exec_lua("require('agent_ide.rpc').attach(...)", nvim.channel_id)
        nvim.run_loop(lambda name, args: None, self._notified, self._ready.set)
        nvim.close()

    def _notified(self, name: str, args: list[Any]) -> None:
        if name == "agent_ide:reply" and self._receiver is not None:
            self._receiver.receive_reply(*args)
        elif name == "agent_ide:event":
            self._events(*args)
