"""What a large diff costs the others: another client's calls meanwhile, the host's memory.

Owns:     calls at a steady pace, each timed from when it was due: a stall counts for all that it
          held up, not once; the host's peak over what it had before.
Not here: what the editor's user feels of it (diffs.py).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from bench.against import error_of
from bench.desk import Desk
from bench.lines import Line, tool_call
from bench.table import Row, percentile

__all__ = ["answered", "decide", "open_diff", "rows", "shown", "texts"]

SIZE_BYTES = 10_000_000
PACE_S = 0.005
IDLE_S = 2.0
POLL_S = 0.02
RUNS = 3

LINE = "the quick brown fox jumps over the lazy dog, line {:07d}\n"

P99_MS = 25.0
ASCII_FACTOR, OTHER_FACTOR = 6.0, 15.0

STATES = """
return vim.tbl_map(function(review)
  return { review.id, review.state }
end, require("agent_ide.status").get().reviews)
"""


def rows(short: bool = False) -> list[Row]:
    runs = 1 if short else RUNS
    with Desk() as desk:
        found = asyncio.run(_beside(desk, runs))
    # one astral character makes four bytes of every character of a Python string
    for name, fox, budget in (("", "fox", ASCII_FACTOR), (", not ASCII", "🦊", OTHER_FACTOR)):
        with Desk() as desk:
            found.append(asyncio.run(_memory(desk, name, fox, budget)))
    return found


def texts(size_bytes: int, fox: str = "fox") -> tuple[str, str]:
    """A file of so many bytes, and a proposal that changes one line in a hundred."""
    lines = [LINE.format(number) for number in range(size_bytes // len(LINE.format(0)))]
    changed = [
        line.replace("dog", "cat") if number % 100 == 50 else line
        for number, line in enumerate(lines)
    ]
    return "".join(lines).replace("fox", fox), "".join(changed).replace("fox", fox)


async def shown(desk: Desk, after: int = 0) -> int:
    """Wait for the view of a review; its id.

    Asked from a thread: a stall of Neovim is none of ours.

    Args:
        after: the id of the one before, which Neovim may still call pending after its verdict.
    """
    return int(await _until(lambda: _pending(desk, after)))


def _pending(desk: Desk, after: int) -> int | None:
    states = desk.editor.lua(STATES)
    return next((id for id, state in states if state == "pending" and id > after), None)


async def _until(look: Callable[[], Any]) -> Any:
    async with asyncio.timeout(60):
        while not (found := await asyncio.to_thread(look)):  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(POLL_S)
    return found


async def decide(desk: Desk, review: int, verdict: str) -> None:
    code = "require('agent_ide.diff').decide(...)"
    await asyncio.to_thread(desk.editor.lua, code, review, verdict)


async def _beside(desk: Desk, runs: int) -> list[Row]:
    other, opener = await desk.claude.dial(), await desk.claude.dial()
    call = open_diff(desk, opener, *texts(SIZE_BYTES))
    idle = await _paced(other, asyncio.sleep(IDLE_S))
    busy: list[float] = []
    last = 0
    for _ in range(runs):
        opener.write(call)
        busy += await _paced(other, shown(desk, last))
        last = await shown(desk, last)
        await decide(desk, last, "reject")
        await answered(opener)
    other.close()
    opener.close()
    p99, idle_p99 = (percentile(times, 0.99) * 1000 for times in (busy, idle))
    detail = f"the worst {max(busy) * 1000:.0f} ms; idle p99 {idle_p99:.1f} ms"
    return [Row("another client's call while a 10 MB diff opens: p99", p99, "ms", P99_MS, detail)]


async def _paced(line: Line, during: Any) -> list[float]:
    """Calls at a steady pace until `during` is over; how late each answer was, in seconds."""
    framed = line.framed(tool_call(1, "getCurrentSelection"))
    due: deque[float] = deque()
    late: list[float] = []
    over = asyncio.ensure_future(during)

    async def read() -> None:
        while True:
            await line.answer()
            late.append(time.perf_counter() - due.popleft())

    reading = asyncio.ensure_future(read())
    upcoming = time.perf_counter()
    while not over.done():
        upcoming += PACE_S
        await asyncio.sleep(max(0.0, upcoming - time.perf_counter()))
        due.append(upcoming)
        line.write(framed)
    async with asyncio.timeout(30):
        while due:  # noqa: ASYNC110 - what is waited for is the list
            await asyncio.sleep(PACE_S)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    over.result()
    return late


async def _memory(desk: Desk, name: str, fox: str, budget: float) -> Row:
    opener = await desk.claude.dial()
    old, new = texts(SIZE_BYTES, fox)
    call = open_diff(desk, opener, old, new)
    before = desk.host_rss_mb()
    desk.forget_host_peak()
    opener.write(call)
    await decide(desk, await shown(desk), "accept")
    await answered(opener)
    peak, size = desk.host_peak_mb(), len(new.encode()) / 2**20
    opener.close()
    return Row(
        f"host's peak memory for a 10 MB diff{name}: of the text",
        (peak - before) / size,
        "x",
        budget,
        f"{before:.0f} -> {peak:.0f} MB, text {size:.1f} MB",
    )


async def answered(line: Line) -> None:
    async with asyncio.timeout(60):
        if error := error_of(json.loads(await line.answer())):
            raise RuntimeError(f"openDiff: {error}")


def open_diff(desk: Desk, line: Line, old: str, new: str, name: str = "large.txt") -> bytes:
    """A call of openDiff that proposes `new` for a file that holds `old`, ready to be written."""
    path = desk.project / name
    path.write_text(old, encoding="utf-8")
    return line.framed(
        tool_call(
            1,
            "openDiff",
            old_file_path=str(path),
            new_file_path=str(path),
            new_file_contents=new,
            tab_name=name,
        )
    )
