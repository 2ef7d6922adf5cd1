"""`python -m bench other`: any server of Claude Code's IDE protocol, by its port and token.

Owns:     which rows need nothing of our plugin: calls of tools that change nothing, as far as the
          server has them, calls in flight, many clients.
Not here: the bare echo and the turns with it (against.py); our own server, which the parts start.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from bench.against import Both, Place, against_bare
from bench.clients import many_clients, pipelined
from bench.lines import Line, request
from bench.table import Row

__all__ = ["Unanswered", "measure_server"]

TOOLS = (
    "getCurrentSelection",
    "getLatestSelection",
    "getWorkspaceFolders",
    "getOpenEditors",
    "getDiagnostics",
)
"""They read, and need no argument."""

CALLS, SHORT_CALLS = 2000, 200
ROUNDS, SHORT_ROUNDS = 5, 1
P50, P99 = 1.35, 2.0


class Unanswered(Exception):
    """The server cannot be measured; the text says why."""


async def measure_server(place: Place, short: bool = False) -> tuple[list[Row], dict[str, str]]:
    """Rows, and why those that failed have none.

    Raises:
        Unanswered: nobody is there, the token is refused, or it has none of the tools.
    """
    tools = await _tools(place)
    rows: list[Row] = []
    errors: dict[str, str] = {}

    async def tried(name: str, tool: str, measure: Callable[[Both], Awaitable[list[Row]]]) -> None:
        try:
            async with against_bare(place, tool) as both:
                rows.extend(await measure(both))
        except (ConnectionError, TimeoutError, RuntimeError) as error:
            errors[name] = str(error) or type(error).__name__

    async def latency(both: Both) -> list[Row]:
        return await both.latency_rows(both.tool, SHORT_CALLS if short else CALLS, P50, P99)

    async def in_flight(both: Both) -> list[Row]:
        return [await pipelined(both, SHORT_ROUNDS if short else ROUNDS)]

    async def clients(both: Both) -> list[Row]:
        return [await many_clients(both, SHORT_ROUNDS if short else ROUNDS)]

    for tool in tools:
        await tried(tool, tool, latency)
    await tried("calls in flight", tools[0], in_flight)
    await tried("many clients", tools[0], clients)
    return rows, errors


async def _tools(place: Place) -> list[str]:
    """Those of TOOLS that the server lists."""
    try:
        line = await place.dial()
    except OSError as error:
        raise Unanswered(f"no connection: {error}") from error
    try:
        listed = await _listed(line)
    except (ConnectionError, TimeoutError) as error:
        raise Unanswered(f"no answer to tools/list: {error or 'time-out'}") from error
    finally:
        line.close()
    found = [tool for tool in TOOLS if tool in listed]
    if not found:
        raise Unanswered(f"it lists none of {', '.join(TOOLS)}")
    return found


async def _listed(line: Line) -> set[str]:
    line.write(line.framed(request(1, "tools/list")))
    async with asyncio.timeout(10):
        answer = json.loads(await line.answer())
    return {tool["name"] for tool in answer.get("result", {}).get("tools", [])}
