"""Many calls at once: in flight on one connection, and from a hundred clients.

Owns:     the throughput of either, against the bare echo; every answer is looked at.
Not here: calls one after another (calls.py), a client beside a large diff (meanwhile.py).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from statistics import median

from bench.against import Both, against_bare, error_of
from bench.desk import Desk
from bench.lines import Line, tool_call
from bench.table import Row

__all__ = ["many_clients", "pipelined", "pipelined_once", "rows"]

IN_FLIGHT = 1000
CLIENTS = 100
CALLS_EACH = 20
ROUNDS, SHORT_ROUNDS = 7, 2
LEAST = 0.5


def rows(short: bool = False) -> list[Row]:
    rounds = SHORT_ROUNDS if short else ROUNDS
    with Desk() as desk:
        return asyncio.run(_measure(desk, rounds))


async def _measure(desk: Desk, rounds: int) -> list[Row]:
    found = []
    for place, tool in ((desk.claude, "getCurrentSelection"), (desk.copilot, "get_selection")):
        async with against_bare(place, tool) as both:
            found.append(await pipelined(both, rounds))
            found.append(await many_clients(both, rounds))
    return found


async def pipelined(both: Both, rounds: int, in_flight: int = IN_FLIGHT) -> Row:
    """So many calls sent before the first answer is read."""
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(await pipelined_once(both.ours, both.tool, in_flight))
        bare.append(await pipelined_once(both.bare, both.tool, in_flight))
    name = f"{both.tool}, {in_flight} in flight: throughput of a bare echo"
    return _row(name, in_flight, ours, bare)


async def pipelined_once(line: Line, tool: str, count: int) -> float:
    calls = b"".join(line.framed(tool_call(number + 1, tool)) for number in range(count))
    begin = time.perf_counter()
    line.write(calls)
    async with asyncio.timeout(60):
        answers = [await line.answer() for _ in range(count)]
    took = time.perf_counter() - begin
    _check(answers, count)
    return took


async def many_clients(both: Both, rounds: int, clients: int = CLIENTS) -> Row:
    """So many clients, each with calls one after another, all at once."""
    # the two have one each already
    more = [await both.place.dial() for _ in range(clients - 1)]
    more_bare = [await both.bare_place.dial() for _ in range(clients - 1)]
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(await _at_once([both.ours, *more], both.tool))
        bare.append(await _at_once([both.bare, *more_bare], both.tool))
    for line in (*more, *more_bare):
        line.close()
    name = f"{both.tool}, {clients} clients at once: throughput of a bare echo"
    return _row(name, clients * CALLS_EACH, ours, bare)


async def _at_once(lines: Sequence[Line], tool: str) -> float:
    async def client(line: Line, calls: Sequence[bytes]) -> list[bytes]:
        answers = []
        for call in calls:
            line.write(call)
            answers.append(await line.answer())
        return answers

    calls = [
        [line.framed(tool_call(number + 1, tool)) for number in range(CALLS_EACH)] for line in lines
    ]
    begin = time.perf_counter()
    async with asyncio.timeout(60):
        answers = await asyncio.gather(*map(client, lines, calls))
    took = time.perf_counter() - begin
    for of_one in answers:
        _check(of_one, CALLS_EACH)
    return took


def _check(answers: Sequence[bytes], count: int) -> None:
    """Each call has its answer, and none is an error."""
    messages = [json.loads(answer) for answer in answers]
    wrong = [error for message in messages if (error := error_of(message))]
    if wrong:
        raise RuntimeError(f"{len(wrong)} of {count} calls failed, the first with {wrong[0]}")
    if {message["id"] for message in messages} != set(range(1, count + 1)):
        raise RuntimeError("some call has no answer, or two")


def _row(name: str, calls: int, ours: Sequence[float], bare: Sequence[float]) -> Row:
    rate, base = calls / median(ours), calls / median(bare)
    detail = f"{rate:.0f} / {base:.0f} calls a second"
    return Row(name, rate / base, "x", LEAST, detail, at_least=True)
