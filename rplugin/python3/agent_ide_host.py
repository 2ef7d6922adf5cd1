"""The remote plugin: hands over what comes through the channel, and nothing else.

Owns:     the path to the package, the hand-over, the end of the process.
Not here: any logic; nothing heavy is imported before Lua says `start`.

It is not called agent_ide.py: pynvim imports it by its bare file name, which would hide the
package.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import traceback
from typing import Any

import pynvim

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))

TERMINATED_S = 0.1
"""From SIGTERM to the end of the loop; the end of the channel comes before."""


@pynvim.plugin
class AgentIdeHost:
    def __init__(self, nvim: pynvim.Nvim) -> None:
        self._nvim = nvim
        self._host: Any = None
        # at the end of the channel pynvim calls no shutdown hook
        atexit.register(self._end)

    @pynvim.rpc_export("agent_ide:event")  # type: ignore[untyped-decorator]
    def event(self, name: str, payload: dict[str, Any]) -> None:
        # pynvim delivers what came early before its loop runs: everything waits for the loop
        self._nvim.loop.call_soon(self._receive, name, payload)

    @pynvim.rpc_export("agent_ide:reply")  # type: ignore[untyped-decorator]
    def reply(self, call_id: int, ok: bool, value: Any) -> None:
        if self._host is not None:
            self._host.receive_reply(call_id, ok, value)

    @pynvim.shutdown_hook  # type: ignore[untyped-decorator]
    def shutdown(self) -> None:
        self._remove_files()

    def _receive(self, name: str, payload: dict[str, Any]) -> None:
        if name == "start":
            self._start(payload)
        elif name == "stop":
            self._stop(now=payload.get("now") is True)
        elif self._host is not None:
            self._host.receive(name, payload)

    def _start(self, payload: dict[str, Any]) -> None:
        try:
            from agent_ide.host import Host

            self._host = Host.from_start(self._nvim, payload)
        except Exception:
            # Lua logs what a host that cannot start has said, and tells the user
            traceback.print_exc()
            os._exit(1)
        # the way out goes through what follows, while the interpreter can still start threads
        sys.excepthook = self._raised
        with contextlib.suppress(NotImplementedError):
            self._nvim.loop.add_signal_handler(signal.SIGTERM, self._terminated)
        self._starting = self._nvim.loop.create_task(self._host.run())

    def _stop(self, now: bool) -> None:
        self._remove_files()
        if self._host is None:
            os._exit(0)
        self._stopping = self._nvim.loop.create_task(self._leave(now))
        # Neovim waits for this process to end; the interpreter's own way out takes 50 ms
        self._stopping.add_done_callback(lambda _: os._exit(0) if now else self._nvim.stop_loop())

    async def _leave(self, now: bool) -> None:
        self._starting.cancel()
        await (self._host.settle() if now else self._host.stop())
        # of a server that has come up meanwhile
        self._remove_files()

    def _terminated(self) -> None:
        """Neovim's end sends it just after its last events, which are not read yet."""
        self._nvim.loop.call_later(TERMINATED_S, self._nvim.stop_loop)

    def _raised(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        """What pynvim's loop has ended with: at the end of the channel an EOFError."""
        if not isinstance(error, EOFError):
            traceback.print_exception(kind, error, trace)
        self._end()

    def _end(self) -> None:
        self._remove_files()
        if self._host is None:
            return
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Neovim is gone without a word, perhaps just after the user has decided something
        loop = self._nvim.loop
        settling = loop.create_task(self._leave(now=True))
        settling.add_done_callback(lambda _: loop.stop())
        while not settling.done():
            # pynvim stops the loop at the end of each of its pipes
            loop.run_forever()
        # else asyncio tells the log of every open connection
        os._exit(0)

    def _remove_files(self) -> None:
        if self._host is not None:
            self._host.remove_files()
