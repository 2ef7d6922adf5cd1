"""Our server and a bare one, called in turns, so that what else the machine does hits both alike.

Owns:     the turns, and the rows that come of them.
Not here: connections (lines.py), the bare servers (echo.py), which tools are called (the parts).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.echo import Bare
from bench.lines import HttpLine, Line, WebSocketLine, greet, tool_call
from bench.table import Row, percentile

__all__ = ["Both", "Place", "against_bare", "error_of"]

BLOCK = 100
"""Calls in a row to one server before it is the other's turn."""

WARM_UP = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens, and what lets one in.

    address: a port (WebSocket) or a socket (HTTP).
    pushes:  a client has a push stream open beside its calls, as Copilot CLI has.
    """

    address: int | str
    headers: dict[str, str] = field(default_factory=dict)
    pushes: bool = False

    async def dial(self) -> Line:
        """A connection with its session begun."""
        if isinstance(self.address, int):
            socket = await WebSocketLine.dial(self.address, self.headers)
            await greet(socket)
            return socket
        line = await HttpLine.dial(self.address, self.headers)
        await greet(line)
        if self.pushes:
            await line.listen()
        return line


@dataclass(slots=True)
class Both:
    """The two servers, and one connection to each."""

    place: Place
    bare_place: Place
    ours: Line
    bare: Line
    tool: str

    async def in_turns(self, calls: int) -> tuple[list[float], list[float]]:
        """Seconds of each of so many sequential calls to either."""
        await _times(self.ours, self.tool, WARM_UP)
        await _times(self.bare, self.tool, WARM_UP)
        ours: list[float] = []
        bare: list[float] = []
        while len(ours) < calls:
            ours += await _times(self.ours, self.tool, BLOCK)
            bare += await _times(self.bare, self.tool, BLOCK)
        return ours, bare

    async def latency_rows(self, name: str, calls: int, p50: float, p99: float | None) -> list[Row]:
        """Rows of their medians and 99th percentiles; p50, p99: the budgets."""
        ours, bare = await self.in_turns(calls)
        rows = []
        for share, budget in ((0.5, p50), (0.99, p99)):
            us, base = percentile(ours, share) * 1e6, percentile(bare, share) * 1e6
            what = f"{name}: p{share * 100:.0f} against a bare echo"
            rows.append(Row(what, us / base, "x", budget, f"{us:.0f} / {base:.0f} us"))
        return rows


@asynccontextmanager
async def against_bare(place: Place, tool: str) -> AsyncIterator[Both]:
    """The server at `place`, and a bare one that gives what it answers to that tool now."""
    ours = await place.dial()
    ours.write(ours.framed(tool_call(0, tool)))
    answer = json.loads(await ours.answer())
    if error := error_of(answer):
        raise RuntimeError(f"{tool}: {error}")
    with Bare(json.dumps({**answer, "id": 0}), socket=isinstance(place.address, str)) as server:
        bare_place = Place(server.address if isinstance(place.address, str) else server.port)
        bare = await bare_place.dial()
        try:
            yield Both(place, bare_place, ours, bare, tool)
        finally:
            ours.close()
            bare.close()


def error_of(answer: dict[str, object]) -> object:
    """Why a call has failed; None when it has not."""
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError"):
        return result
    return answer.get("error")


async def _times(line: Line, tool: str, count: int) -> list[float]:
    calls: Sequence[bytes] = [line.framed(tool_call(number + 1, tool)) for number in range(count)]
    times = []
    for call in calls:
        begin = time.perf_counter()
        line.write(call)
        async with asyncio.timeout(30):
            await line.answer()
        times.append(time.perf_counter() - begin)
    return times
