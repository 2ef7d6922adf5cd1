"""Which pushes a client hears, in what order and at what pace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent_ide.transports.pushes import MAX_POSTED, Pushes
from tests.support.eventually import eventually

INTERVAL_S = 0.05


class Stream:
    """A stream that is read until it ends; a `paused` one is not."""

    def __init__(self, pushes: Pushes) -> None:
        self.heard: list[bytes] = []
        self.at_s: list[float] = []
        self.go = asyncio.Event()
        self.go.set()
        self.task = asyncio.ensure_future(self._read(pushes))

    async def _read(self, pushes: Pushes) -> None:
        async for message in pushes.stream():
            self.heard.append(message)
            self.at_s.append(asyncio.get_running_loop().time())
            await self.go.wait()

    async def hears(self, *messages: bytes) -> None:
        await eventually(lambda: len(self.heard) >= len(messages))
        assert self.heard == list(messages)

    async def ends(self) -> None:
        async with asyncio.timeout(5):
            await self.task


class Changes:
    def __init__(self) -> None:
        self.opens: list[bool] = []
        self.pushes = Pushes(INTERVAL_S, lambda: self.opens.append(self.pushes.open))


@pytest.fixture
def pushes() -> Pushes:
    return Pushes(INTERVAL_S, lambda: None)


def says(message: bytes | None) -> Callable[[], bytes | None]:
    return lambda: message


async def test_posted_ones_in_order_and_once(pushes: Pushes) -> None:
    pushes.post(b"before")
    stream = Stream(pushes)
    pushes.post(b"1")
    pushes.post(b"1")
    await stream.hears(b"before", b"1", b"1")
    await Stream(pushes).hears()
    await stream.ends()


async def test_posted_ones_are_bounded(pushes: Pushes) -> None:
    for number in range(MAX_POSTED + 50):
        pushes.post(b"%d" % number)
    stream = Stream(pushes)
    await eventually(lambda: len(stream.heard) == MAX_POSTED)
    assert (stream.heard[0], stream.heard[-1]) == (b"50", b"149")


async def test_first_state_at_once_then_at_pace_and_the_last(pushes: Pushes) -> None:
    stream = Stream(pushes)
    await eventually(lambda: pushes.open)
    loop = asyncio.get_running_loop()
    begin_s, number = loop.time(), 0
    while loop.time() - begin_s < INTERVAL_S * 4:
        number += 1
        pushes.refresh("state", says(b"%d" % number))
        await asyncio.sleep(0)
    await eventually(lambda: stream.heard[-1] == b"%d" % number)
    assert stream.heard[0] == b"1"
    gaps = [after - before for before, after in zip(stream.at_s, stream.at_s[1:], strict=False)]
    # timers have a resolution
    assert all(gap > INTERVAL_S * 0.9 for gap in gaps), gaps


async def test_equal_state_is_said_once(pushes: Pushes) -> None:
    stream = Stream(pushes)
    for message in (b"a", b"a"):
        pushes.refresh("state", says(message))
        await stream.hears(b"a")
    await eventually(lambda: not pushes._dirty)
    pushes.post(b"mark")
    await stream.hears(b"a", b"mark")


async def test_state_without_a_message(pushes: Pushes) -> None:
    stream = Stream(pushes)
    pushes.refresh("state", says(None))
    pushes.refresh("state", says(None))
    pushes.post(b"mark")
    await stream.hears(b"mark")
    pushes.refresh("state", says(b"at once"))
    await stream.hears(b"mark", b"at once")


async def test_each_kind_has_its_own_pace(pushes: Pushes) -> None:
    stream = Stream(pushes)
    pushes.refresh("one", says(b"1"))
    await stream.hears(b"1")
    pushes.refresh("one", says(b"1 again"))
    pushes.refresh("two", says(b"2"))
    await eventually(lambda: len(stream.heard) == 3)
    assert stream.heard == [b"1", b"2", b"1 again"]


async def test_only_the_newest_waits_for_a_slow_client(pushes: Pushes) -> None:
    stream = Stream(pushes)
    stream.go.clear()
    rendered: list[int] = []

    def render_as(number: int) -> Callable[[], bytes]:
        def render() -> bytes:
            rendered.append(number)
            return b"%d" % number

        return render

    for number in range(1000):
        pushes.refresh("state", render_as(number))
        await asyncio.sleep(0)
    stream.go.set()
    await eventually(lambda: stream.heard[-1] == b"999")
    assert len(rendered) == 2


async def test_new_stream_hears_the_state_again(pushes: Pushes) -> None:
    first = Stream(pushes)
    pushes.refresh("state", says(b"s"))
    await first.hears(b"s")
    second = Stream(pushes)
    pushes.refresh("state", says(b"s"))
    await second.hears(b"s")
    await first.ends()
    assert first.heard == [b"s"]


async def test_replaced_stream_takes_nothing_more(pushes: Pushes) -> None:
    first = Stream(pushes)
    first.go.clear()
    pushes.post(b"1")
    await first.hears(b"1")
    second = Stream(pushes)
    await asyncio.sleep(0)
    for number in (2, 3):
        pushes.post(b"%d" % number)
    first.go.set()
    await first.ends()
    await second.hears(b"2", b"3")
    assert pushes.open
    await asyncio.sleep(0)
    second.task.cancel()
    await eventually(lambda: not pushes.open)


async def test_open_is_told() -> None:
    changes = Changes()
    first = Stream(changes.pushes)
    await eventually(lambda: changes.opens)
    second = Stream(changes.pushes)
    await first.ends()
    assert changes.opens == [True, True]
    changes.pushes.end()
    await second.ends()
    assert changes.opens == [True, True, False]


async def test_end(pushes: Pushes) -> None:
    stream = Stream(pushes)
    pushes.refresh("state", says(b"1"))
    await stream.hears(b"1")
    pushes.refresh("state", says(b"2"))
    pushes.end()
    await stream.ends()
    await Stream(pushes).ends()
    assert stream.heard == [b"1"]


async def test_the_last_word_is_said_before_the_end(pushes: Pushes) -> None:
    stream = Stream(pushes)
    stream.go.clear()
    pushes.post(b"1")
    await stream.hears(b"1")
    pushes.post(b"2")
    pushes.post(b"3")
    pushes.end()
    stream.go.set()
    await stream.ends()
    assert stream.heard == [b"1", b"2", b"3"]


async def test_no_timer_outlives_it(pushes: Pushes, event_loop_timers: Any) -> None:
    stream = Stream(pushes)
    for number in range(100):
        pushes.refresh("state", says(b"%d" % number))
        await asyncio.sleep(0)
    assert event_loop_timers() <= 1
    pushes.end()
    await stream.ends()
    assert event_loop_timers() == 0


@pytest.fixture
def event_loop_timers() -> Callable[[], int]:
    def count() -> int:
        timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
        return sum(1 for timer in timers if not timer.cancelled() and "Event" in repr(timer))

    return count
