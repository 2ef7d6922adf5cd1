"""Tool calls against a bare echo of the same sizes, and the way of a key press to the agent.

Owns:     which tools are called.
Not here: the turns with the bare echo (against.py), many calls at once (clients.py), memory.
"""

from __future__ import annotations

import asyncio
import time
from statistics import median

from bench.against import Place, against_bare
from bench.desk import Desk
from bench.editor import Agent
from bench.table import Row, percentile

CALLS, SHORT_CALLS = 2000, 500
MOVES, SHORT_MOVES = 200, 30

CLAUDE_TOOLS = ("getCurrentSelection", "getWorkspaceFolders", "getOpenEditors", "getDiagnostics")
COPILOT_TOOLS = ("get_selection", "get_diagnostics")
FROM_STATE_P50, FROM_STATE_P99 = 1.35, 2.0
FROM_NEOVIM_P50 = 2.2


def rows(short: bool = False) -> list[Row]:
    calls = SHORT_CALLS if short else CALLS
    with Desk() as desk:
        found = asyncio.run(_from_state(desk, calls))
        found += asyncio.run(_key_to_push(desk, SHORT_MOVES if short else MOVES))
    # nothing is pushed, so what is selected is asked for with each call
    with Desk(options="{ track_selection = false }") as desk:
        return [*found, *asyncio.run(_from_neovim(desk, calls))]


async def _from_state(desk: Desk, calls: int) -> list[Row]:
    places = [(tool, desk.claude) for tool in CLAUDE_TOOLS]
    places += [(tool, desk.copilot) for tool in COPILOT_TOOLS]
    found = []
    for tool, place in places:
        async with against_bare(place, tool) as both:
            found += await both.latency_rows(tool, calls, FROM_STATE_P50, FROM_STATE_P99)
    return found


async def _from_neovim(desk: Desk, calls: int) -> list[Row]:
    tools: list[tuple[str, Place]] = [
        ("getCurrentSelection", desk.claude),
        ("get_selection", desk.copilot),
    ]
    found = []
    for tool, place in tools:
        async with against_bare(place, tool) as both:
            name = f"{tool}, asked of Neovim"
            found += await both.latency_rows(name, calls, FROM_NEOVIM_P50, None)
    return found


async def _key_to_push(desk: Desk, moves: int) -> list[Row]:
    """A key after rest until the agent has the new cursor."""
    agent = await Agent.connect(desk.claude_port, desk.claude_token)
    await asyncio.sleep(1.5)
    times = []
    for number in range(moves):
        seen = len(agent.pushes)
        begin = time.monotonic()
        desk.editor.press("j" if number % 2 == 0 else "k")
        async with asyncio.timeout(10):
            while len(agent.pushes) == seen:  # noqa: ASYNC110 - the list is what is measured
                await asyncio.sleep(0.0005)
        times.append((agent.pushes[seen][0] - begin) * 1000)
        await asyncio.sleep(0.08)  # rest: the next one is a leading edge again
    await agent.close()
    name = "key press to selection_changed"
    return [
        Row(f"{name}: p50", median(times), "ms", 15.0),
        Row(f"{name}: p99", percentile(times, 0.99), "ms", 40.0),
    ]
