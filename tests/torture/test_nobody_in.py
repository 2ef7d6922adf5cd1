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
from tests.torture.attempts import ATTEMPTS, PAGES, SLOW, Attempt, Door, Outcome, doors, knock

NAMES = ["claude", "copilot", "gemini"]

LOADED_S = 1.5
"""More than is promised, for a machine that is busy with other tests."""


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="ni-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        with Editor(folder, project) as it:
            yield it


@pytest.fixture(params=NAMES)
def door(request: pytest.FixtureRequest, editor: Editor) -> Door:
    return next(door for door in doors(editor) if door.name == request.param)


async def try_all(door: Door, attempts: list[Attempt]) -> list[Outcome]:
    # few at a time: what is measured is the server, not the queue before it
    gate = asyncio.Semaphore(8)

    async def one(attempt: Attempt) -> Outcome:
        async with gate:
            return await knock(door, attempt)

    return await asyncio.gather(*map(one, attempts))


def judge(outcomes: list[Outcome]) -> None:
    assert [fault for outcome in outcomes for fault in outcome.faults()] == []
    late = [item for item in outcomes if item.after_last_s > 1 + LOADED_S]
    assert [(item.attempt, item.after_last_s) for item in late] == []


async def test_no_token(door: Door, figure: Figure) -> None:
    outcomes = await try_all(door, ATTEMPTS)
    judge(outcomes)
    worst = max(outcomes, key=lambda outcome: outcome.after_last_s)
    figure(f"{door.name}: closed after the last byte", worst.after_last_s, "s", worst.attempt)


async def test_takes_its_time(editor: Editor, figure: Figure) -> None:
    found = [door for door in doors(editor) if door.name in NAMES]
    outcomes = await asyncio.gather(*(try_all(door, SLOW) for door in found))
    for door, mine in zip(found, outcomes, strict=True):
        assert [fault for outcome in mine for fault in outcome.faults()] == []
        worst = max(mine, key=lambda outcome: outcome.after_first_s)
        figure(f"{door.name}: closed after the first byte", worst.after_first_s, "s", worst.attempt)
        assert worst.after_first_s < 5 + LOADED_S


async def test_web_page(door: Door) -> None:
    judge(await try_all(door, PAGES))


async def test_right_token(door: Door) -> None:
    """What is refused above is refused for what it says, not by and large."""
    reader, writer = await door.connect()
    writer.write(door.right())
    async with asyncio.timeout(5):
        answer = await reader.readline()
    writer.close()
    assert answer.split()[1] in (b"101", b"200")
