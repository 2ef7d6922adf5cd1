"""One CLI that has begun an MCP session over HTTP: its calls, its pushes, whether it is there.

Owns:     the tasks of its tool calls, their deadline; when it counts as gone.
Not here: what is said (protocols/*/session.py, tools.py), all the other sessions (serve.py).
Above:    the transport feeds it (transports.streamable_http.Session), a protocol's server pushes to
          it, mostly through a class of its own that says what it knows of the CLI.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

from agent_ide.errors import ToolError
from agent_ide.protocols.calls import begin
from agent_ide.transports.pushes import Pushes
from agent_ide.wire.mcp import Exchange, McpSession, Message, ToolAnswer, ToolCall, ToolResult

__all__ = ["Peer"]

PUSH_INTERVAL_S = 0.15
"""What Lua pushes is 50 ms old at most when it goes out, so that the newest state at a client is
never older than 220 ms: bench/moves.py saw 251 ms with 0.2 here, 209 ms with 0.15."""

CALL_S = 30.0
"""For every tool but those that wait for the user."""

GONE_AFTER_S = 5.0
"""A CLI that was killed only drops its connections; a living one is back within two seconds."""


class Peer:
    """A session and its CLI.

    Attributes:
        present: it has a connection that serves it, or had one a moment ago.
    """

    def __init__(
        self,
        mcp: McpSession,
        run: Callable[[ToolCall], ToolAnswer],
        on_change: Callable[[], None],
        patient: frozenset[str] = frozenset(),
    ) -> None:
        """Nothing has been received yet.

        Args:
            run:       runs a tool call.
            on_change: called after something of `told` has changed.
            patient:   tools that wait for the user, as long as it takes.
        """
        self.id = str(uuid.uuid4())
        self.mcp = mcp
        self.pushed = Pushes(PUSH_INTERVAL_S, self._changed)
        self.present = True
        self.last_heard_s = 0.0
        self._run_tool = run
        self._on_change = on_change
        self._patient = patient
        self._states: dict[str, Callable[[], bytes | None]] = {}
        self._calls: dict[ToolCall, asyncio.Task[bytes | None]] = {}
        self._leaving: asyncio.TimerHandle | None = None
        self._ended = False
        self._known: tuple[object, ...] = ()

    def told(self) -> tuple[object, ...]:
        """What others are told of it, and so whose change they have to hear of."""
        return self.present, self.pushed.open, self.mcp.client

    # -- what the transport asks -----------------------------------------------------------------

    def read(self, body: bytes) -> Message:
        return self.mcp.read(body)

    def receive(self, message: Message) -> Exchange:
        self.last_heard_s = asyncio.get_running_loop().time()
        exchange = self.mcp.receive(message)
        if not exchange.calls:
            self._changed()
        for call in exchange.cancelled:
            if call in self._calls:
                self._calls[call].cancel()
        return exchange

    def answer(self, exchange: Exchange) -> asyncio.Future[bytes | None]:
        reply: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        running: dict[ToolCall, asyncio.Task[bytes | None]] = {}
        said: bytes | None = None
        for call in exchange.calls:
            if call in exchange.cancelled:
                # by another message of the same batch
                said = exchange.drop(call)
                continue
            answer = begin(call, self._begin)
            if answer is None or isinstance(answer, bytes):
                said = answer
            else:
                running[call] = asyncio.ensure_future(_run(call, answer))
        if not running:
            reply.set_result(said)
            self._changed()
            return reply
        self._calls.update(running)

        def ended(call: ToolCall, task: asyncio.Task[bytes | None]) -> None:
            del self._calls[call], running[call]
            said = call.exchange.drop(call) if task.cancelled() else task.result()
            # the call that ends last has the reply of them all
            if not reply.done() and (said is not None or not running):
                reply.set_result(said)
            self._changed()

        for call, task in running.items():
            task.add_done_callback(partial(ended, call))
        # it is done before they are when the client's connection is lost
        reply.add_done_callback(lambda _: [task.cancel() for task in running.values()])
        self._changed()
        return reply

    def pushes(self) -> AsyncGenerator[bytes]:
        for kind, render in self._states.items():
            self.pushed.refresh(kind, render)
        return self.pushed.stream()

    # -- what the server asks --------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """It has a push stream, or a call in flight."""
        return self.pushed.open or bool(self._calls)

    def refresh(self, kind: str, render: Callable[[], bytes | None]) -> None:
        """A state has changed; it is said again to each stream that opens."""
        self._states[kind] = render
        self.pushed.refresh(kind, render)

    def end(self) -> None:
        """The session is over; calls in flight are answered as their tools end."""
        self._ended = True
        self.pushed.end()
        self._stay()

    # -- calls -----------------------------------------------------------------------------------

    def _begin(self, call: ToolCall) -> ToolAnswer:
        answer = self._run_tool(call)
        return answer if isinstance(answer, ToolResult) else self._bounded(call, answer)

    async def _bounded(self, call: ToolCall, answer: Awaitable[ToolResult]) -> ToolResult:
        deadline_s = None if call.spec.name in self._patient else CALL_S
        try:
            async with asyncio.timeout(deadline_s):
                return await answer
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
        self._tell()

    def _tell(self) -> None:
        """Only what is new: calls come by the thousand, and a status costs a tenth of one."""
        known, self._known = self._known, self.told()
        if self._known != known:
            self._on_change()

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _leave(self) -> None:
        self.present = False
        self._tell()


async def _run(call: ToolCall, answer: Awaitable[bytes | None]) -> bytes | None:
    try:
        return await answer
    except asyncio.CancelledError:
        return call.exchange.drop(call)
