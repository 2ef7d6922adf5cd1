"""Without a valid token: a short 4xx or nothing, and soon the end of the connection.

On the three servers of a real Neovim: Claude's WebSocket, Copilot's unix socket, the companions'
HTTP.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.editor import Editor
from tests.support.figures import Figure
from tests.torture.attempts import ATTEMPTS, PAGES, SLOW, Attempt, Outcome, knock
from tests.torture.doors import Door, doors

NAMES = ["claude", "copilot", "gemini"]

LOADED_S = 3.0
"""More than is promised, for a machine that is busy with other tests."""


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="ni-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        with Editor(folder, project) as it:
            yield it


@pytest.fixture
def found(editor: Editor) -> list[Door]:
    return [door for door in doors(editor) if door.name in NAMES]


async def try_all(door: Door, attempts: list[Attempt]) -> list[Outcome]:
    # few at a time: what is measured is the server, not the queue before it
    gate = asyncio.Semaphore(8)

    async def one(attempt: Attempt) -> Outcome:
        async with gate:
            return await knock(door, attempt)

    return await asyncio.gather(*map(one, attempts))


async def test_no_token(found: list[Door], figure: Figure) -> None:
    """Whatever comes: what ends by itself and what takes its time."""
    slow = {attempt.name for attempt in SLOW}
    outcomes = await asyncio.gather(*(try_all(door, [*SLOW, *ATTEMPTS]) for door in found))
    for door, mine in zip(found, outcomes, strict=True):
        assert [fault for outcome in mine for fault in outcome.faults()] == [], door.name
        quick = [item for item in mine if item.attempt not in slow]
        last = max(quick, key=lambda outcome: outcome.after_last_s)
        first = max(mine, key=lambda outcome: outcome.after_first_s)
        figure(f"{door.name}: closed after the last byte", last.after_last_s, "s", last.attempt)
        figure(f"{door.name}: closed after the first byte", first.after_first_s, "s", first.attempt)
        assert last.after_last_s < 1 + LOADED_S, last.attempt
        assert first.after_first_s < 5 + LOADED_S, first.attempt


async def test_web_page(found: list[Door]) -> None:
    outcomes = await asyncio.gather(*(try_all(door, PAGES) for door in found))
    for door, mine in zip(found, outcomes, strict=True):
        assert [fault for outcome in mine for fault in outcome.faults()] == [], door.name
        late = [item.attempt for item in mine if item.after_last_s > 1 + LOADED_S]
        assert late == [], door.name


@pytest.mark.parametrize("name", NAMES)
async def test_right_token(found: list[Door], name: str) -> None:
    """What is refused above is refused for what it says, not by and large."""
    door = next(door for door in found if door.name == name)
    reader, writer = await door.connect()
    writer.write(door.right())
    async with asyncio.timeout(5):
        answer = await reader.readline()
    writer.close()
    assert answer.split()[1] in (b"101", b"200")
