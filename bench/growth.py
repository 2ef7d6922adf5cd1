"""How our own work grows with what there is: exponents of processor time at 1x, 4x and 16x.

Owns:     the exponent; the measure: processor time of the host, and of Neovim where all of its work
          is ours. It counts work, not waiting, so a machine that is shared spoils it least.
Not here: how long anything takes (the other parts). Neovim's own diff is left aside: of a file's
          size only the host's work counts, from the arrival of openDiff to the answer.

1 is linear: ten times as much costs ten times as much. What is constant makes an exponent smaller.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Sequence

from bench.against import Place, error_of
from bench.clients import pipelined_once
from bench.desk import Desk
from bench.lines import Line, tool_call
from bench.meanwhile import answered, decide, open_diff, shown, texts
from bench.table import Row

__all__ = ["exponent", "rows"]

STEPS = (1, 4, 16)
MOST = 1.15
"""Over it something is worse than linear: sorting would be 1.05, a loop in a loop 2."""

REPEATS, SHORT_REPEATS = 3, 1
"""Of each measurement the cheapest counts: what disturbs only adds."""

CALLS, IN_FLIGHT, CLIENTS, REVIEWS = 250, 60, 6, 3
CALLS_EACH = 20
FILE_BYTES, SHORT_FILE_BYTES = 625_000, 250_000

Measure = Callable[[int], Awaitable[float]]


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The power of the size that the cost grows with: the slope of the line through the logarithms.

    Raises:
        ValueError: fewer than two sizes, or one that is not positive.
    """
    if len(set(sizes)) < 2 or min(*sizes, *costs) <= 0:
        raise ValueError("an exponent needs two sizes, and costs above nothing")
    xs, ys = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return slope / sum((a - x) ** 2 for a in xs)


def rows(short: bool = False) -> list[Row]:
    repeats = SHORT_REPEATS if short else REPEATS
    with Desk() as desk:
        found = asyncio.run(_calls_and_clients(desk, repeats))
        found.append(asyncio.run(_reviews(desk)))
    with Desk() as desk:
        size = SHORT_FILE_BYTES if short else FILE_BYTES
        found.append(asyncio.run(_file_size(desk, size, repeats)))
    return found


async def _row(name: str, unit: int, repeats: int, measure: Measure) -> Row:
    sizes = [unit * step for step in STEPS]
    costs = []
    for size in sizes:
        costs.append(min([await measure(size) for _ in range(repeats)]))
    told = ", ".join(
        f"{size}: {cost * 1000:.0f} ms" for size, cost in zip(sizes, costs, strict=True)
    )
    return Row(f"growth with {name}", exponent(sizes, costs), "exp", MOST, told)


async def _calls_and_clients(desk: Desk, repeats: int) -> list[Row]:
    found = []
    for agent, place, tool in (
        ("Claude", desk.claude, "getCurrentSelection"),
        ("Copilot", desk.copilot, "get_selection"),
    ):
        line = await place.dial()
        await pipelined_once(line, tool, CALLS)  # what is imported or made once
        sequential = _work_of(desk, lambda count, a=line, b=tool: _one_by_one(a, b, count))
        found.append(await _row(f"the number of calls ({agent})", CALLS, repeats, sequential))
        at_once = _work_of(desk, lambda count, a=line, b=tool: pipelined_once(a, b, count))
        found.append(await _row(f"calls in flight ({agent})", IN_FLIGHT, repeats, at_once))
        line.close()
        many = _work_of(desk, lambda count, a=place, b=tool: _clients(a, b, count))
        found.append(await _row(f"the number of clients ({agent})", CLIENTS, repeats, many))
    return found


def _work_of(desk: Desk, act: Callable[[int], Awaitable[object]]) -> Measure:
    """Processor time of host and Neovim for something that has no diff in it."""

    async def measure(count: int) -> float:
        begin = desk.host_cpu_s() + desk.neovim_cpu_s()
        await act(count)
        return desk.host_cpu_s() + desk.neovim_cpu_s() - begin

    return measure


async def _one_by_one(line: Line, tool: str, count: int) -> None:
    for number in range(count):
        line.write(line.framed(tool_call(number + 1, tool)))
        async with asyncio.timeout(30):
            await line.answer()


async def _clients(place: Place, tool: str, count: int) -> None:
    """So many clients come, each calls, all go."""
    lines = [await place.dial() for _ in range(count)]
    async with asyncio.timeout(60):
        await asyncio.gather(*(_one_by_one(line, tool, CALLS_EACH) for line in lines))
    for line in lines:
        line.close()


async def _reviews(desk: Desk) -> Row:
    """So many proposals wait at once; the user decides one after the other, each small."""
    line = await desk.claude.dial()
    last = 0

    async def measure(count: int) -> float:
        nonlocal last
        begin = desk.host_cpu_s() + desk.neovim_cpu_s()
        for number in range(count):
            path = desk.project / f"small-{number}.txt"
            path.write_text("one\ntwo\nthree\n")
            arguments = {
                "old_file_path": str(path),
                "new_file_path": str(path),
                "new_file_contents": "one\nTWO\nthree\n",
                "tab_name": f"small {number}",
            }
            line.write(line.framed(tool_call(number + 1, "openDiff", **arguments)))
        for _ in range(count):
            last = await shown(desk, last)
            await decide(desk, last, "reject")
            async with asyncio.timeout(30):
                answer = json.loads(await line.answer())
            if error := error_of(answer):
                raise RuntimeError(f"openDiff: {error}")
        return desk.host_cpu_s() + desk.neovim_cpu_s() - begin

    await measure(1)
    row = await _row("the number of reviews that wait", REVIEWS, 1, measure)
    line.close()
    return row


async def _file_size(desk: Desk, unit: int, repeats: int) -> Row:
    """The host's work for one diff, from openDiff's arrival until the answer to the accept."""
    line = await desk.claude.dial()
    last = 0

    async def measure(size: int) -> float:
        nonlocal last
        # each its own: an accepted one whose client never writes is asked about
        name = f"large-{last}.txt"
        call = open_diff(desk, line, *texts(size), name)
        begin = desk.host_cpu_s()
        line.write(call)
        last = await shown(desk, last)
        await decide(desk, last, "accept")
        await answered(line)
        cost = desk.host_cpu_s() - begin
        line.write(line.framed(tool_call(2, "close_tab", tab_name=name)))
        await answered(line)
        return cost

    await measure(unit)
    row = await _row("the size of a file (host)", unit, repeats, measure)
    line.close()
    return row
