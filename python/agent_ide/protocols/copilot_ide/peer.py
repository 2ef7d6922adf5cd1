"""One Copilot CLI that has begun a session: its calls in flight, its pushes, whether it is there.

Owns:     the tasks of its tool calls, their deadline; when it counts as gone.
Not here: messages (session.py), tools (tools.py), all the other sessions (serve.py).
Above:    the transport feeds it (transports.streamable_http.Session), serve.py pushes to it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping

from agent_ide.errors import ToolError
from agent_ide.protocols.calls import outcome
from agent_ide.protocols.copilot_ide.session import CopilotSession
from agent_ide.protocols.copilot_ide.tools import CopilotTools
from agent_ide.transports.pushes import Pushes
from agent_ide.wire.mcp import Exchange, ToolCall, ToolResult

__all__ = ["Peer"]

PUSH_INTERVAL_S = 0.2

CALL_S = 30.0
"""For every tool but open_diff, which waits for the user."""

GONE_AFTER_S = 5.0
"""A CLI that was killed only drops its connections; a living one is back within two seconds."""


class Peer:
    """A session and its CLI.

    Attributes:
        present:       it has a connection that serves it, or had one a moment ago.
        changed_files: whose diagnostics it has not been told of; a set that keeps its order.
    """

    def __init__(
        self, session: CopilotSession, tools: CopilotTools, on_change: Callable[[Peer], None]
    ) -> None:
        """Nothing has been received yet.

        Args:
            on_change: called after `present` or something of the session may have changed.
        """
        self.id = str(uuid.uuid4())
        self.session = session
        self.pushed = Pushes(PUSH_INTERVAL_S, self._changed)
        self.present = True
        self.last_heard_s = 0.0
        self.changed_files: dict[str, None] = {}
        self._on_change = on_change
        self._render_selection: Callable[[], bytes | None] = lambda: None
        self._tools = tools
        self._calls: dict[ToolCall, asyncio.Task[bytes | None]] = {}
        self._leaving: asyncio.TimerHandle | None = None
        self._ended = False

    # -- what the transport asks -----------------------------------------------------------------

    def receive(self, body: bytes) -> Exchange:
        self.last_heard_s = asyncio.get_running_loop().time()
        exchange = self.session.mcp.receive(body)
        self._changed()
        for call in exchange.cancelled:
            if call in self._calls:
                self._calls[call].cancel()
        return exchange

    async def answer(self, exchange: Exchange) -> bytes | None:
        tasks = {call: asyncio.ensure_future(self._run(call)) for call in exchange.calls}
        self._calls.update(tasks)
        for call in exchange.cancelled:
            # by another message of the same batch
            if call in tasks:
                tasks[call].cancel()
        self._changed()
        try:
            await asyncio.wait(tasks.values())
            return _reply_of(tasks)
        finally:
            for call, task in tasks.items():
                # still running when the client's connection is lost
                task.cancel()
                call.exchange.drop(call)
                del self._calls[call]
            self._changed()

    def pushes(self) -> AsyncGenerator[bytes]:
        self.refresh_selection(self._render_selection)
        return self.pushed.stream()

    # -- what the server asks --------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """It has a push stream, or a call in flight."""
        return self.pushed.open or bool(self._calls)

    def refresh_selection(self, render: Callable[[], bytes | None]) -> None:
        """It has changed; the last one said is said again to each stream that opens."""
        self._render_selection = render
        self.pushed.refresh("selection", render)

    def end(self) -> None:
        """The session is over; calls in flight are answered as their tools end."""
        self._ended = True
        self.pushed.end()
        self._stay()

    # -- calls -----------------------------------------------------------------------------------

    async def _run(self, call: ToolCall) -> bytes | None:
        try:
            return await outcome(call, self._bounded(call))
        except asyncio.CancelledError:
            return call.exchange.drop(call)

    async def _bounded(self, call: ToolCall) -> ToolResult:
        deadline_s = None if call.spec.name == "open_diff" else CALL_S
        try:
            async with asyncio.timeout(deadline_s):
                return await self._tools.run(self.session, call)
        except TimeoutError:
            raise ToolError(f"{call.spec.name}: no answer within {CALL_S:g} s") from None

    # -- presence --------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._stay()
        if self._ended:
            return
        self.present = True
        if not self.connected:
            loop = asyncio.get_running_loop()
            self._leaving = loop.call_later(GONE_AFTER_S, self._leave)
        self._on_change(self)

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _leave(self) -> None:
        self.present = False
        self._on_change(self)


def _reply_of(tasks: Mapping[ToolCall, asyncio.Task[bytes | None]]) -> bytes | None:
    """The exchange's reply: the call that ended last has it."""
    replies = [
        call.exchange.drop(call) if task.cancelled() else task.result()
        for call, task in tasks.items()
    ]
    return next((reply for reply in replies if reply is not None), None)
