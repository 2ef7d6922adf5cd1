"""Many attempts from a process of their own, so that measuring them slows nobody else down.

Owns:     the mix of attempts, their number, the summary; a crowd that says nothing.
Not here: the attempts (attempts.py), what is right (test_nobody_in_flood.py).

    python -m tests.torture.flood flood COUNT < doors.json > summary.json
    python -m tests.torture.flood crowd COUNT < doors.json > summary.json
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Literal

from tests.support.neovim import REPO
from tests.torture.attempts import ATTEMPTS, PAGES, SLOW, Attempt, knock
from tests.torture.doors import Door, from_json, to_json

__all__ = ["Flood"]

AT_ONCE = 48
"""Attempts under way at a time."""

RARELY = 250
"""One in so many is one that takes seconds, or 20 MB."""


class Flood:
    """The process, from the outside."""

    def __init__(
        self, found: list[Door], count: int, what: Literal["flood", "crowd"] = "flood"
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.flood", what, str(count)],
            cwd=REPO,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["python", "."])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(to_json(found))
        self._process.stdin.close()

    @property
    def over(self) -> bool:
        return self._process.poll() is not None

    def summary(self, bound_s: float) -> dict[str, Any]:
        """Wait for its end: a flood's `attempts`, `faults`, `after_last_s`, `after_first_s` and
        `seconds`; a crowd's `longest_s` and whether it was `answered`."""
        assert self._process.stdout is not None
        with self._process.stdout as out:
            try:
                self._process.wait(bound_s)
            finally:
                self._process.kill()
            found: dict[str, Any] = json.loads(out.read())
        return found


def mixed(found: list[Door]) -> Iterator[tuple[Door, Attempt]]:
    rare = [attempt for attempt in ATTEMPTS if attempt.name.startswith("20 MB")] + SLOW
    usual = [attempt for attempt in ATTEMPTS if attempt not in rare] + PAGES
    pairs = itertools.cycle(itertools.product(usual, found))
    rarely = itertools.cycle(itertools.product(rare, found))
    for number in itertools.count(1):
        attempt, door = next(rarely if number % RARELY == 0 else pairs)
        yield door, attempt


async def run(found: list[Door], count: int) -> dict[str, Any]:
    # what the servers do counts, not who of the machine's programs gets a processor
    os.nice(10)
    attempts = itertools.islice(mixed(found), count)
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    outcomes = []

    async def work() -> None:
        for door, attempt in attempts:
            outcomes.append(await knock(door, attempt))

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return {
        "attempts": len(outcomes),
        "faults": [fault for outcome in outcomes for fault in outcome.faults()][:20],
        "after_last_s": max(outcome.after_last_s for outcome in outcomes if not is_slow(outcome)),
        "after_first_s": max(outcome.after_first_s for outcome in outcomes),
        "seconds": loop.time() - begun_s,
    }


def is_slow(outcome: Any) -> bool:
    return outcome.attempt in {attempt.name for attempt in SLOW}


async def crowd(found: list[Door], count: int) -> dict[str, Any]:
    """Connect at once, say nothing, and wait for the end."""
    loop = asyncio.get_running_loop()
    lines = [(door.dial(), loop.time()) for _ in range(count) for door in found]

    async def stay(line: socket.socket, since_s: float) -> tuple[float, bytes]:
        with line:
            try:
                answer = await loop.sock_recv(line, 1)
            except ConnectionError:
                answer = b""
        return loop.time() - since_s, answer

    stays = await asyncio.gather(*(stay(line, since_s) for line, since_s in lines))
    return {
        "longest_s": max(seconds for seconds, _ in stays),
        "answered": any(answer for _, answer in stays),
    }


def main(what: str, count: int) -> None:
    found = from_json(sys.stdin.read())
    print(json.dumps(asyncio.run({"flood": run, "crowd": crowd}[what](found, count))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
