"""HTTP without measure and HTTP that stops half-way: bounded, and others are served.

What each bad request is answered with: test_bad_http.py.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable

import pytest

from agent_ide.model import Position, Range, Selection
from tests.support.eventually import eventually
from tests.support.figures import Figure, Scale
from tests.torture.requests import Site, at, encode
from tests.torture.witness import Growth

__all__ = ["at"]

MB = 1024 * 1024

PING = encode({"id": 1, "method": "ping"})
LENGTH = f"Content-Length: {len(PING)}"
CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)


# -- too much --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda at: at.head("POST", *["A: b"] * 10_000, LENGTH) + PING,
        lambda at: at.head("POST", "A: " + "b" * MB, LENGTH) + PING,
        lambda at: at.head("POST", "A" * MB + ": b", LENGTH) + PING,
        lambda at: at.head("POST", LENGTH, target="/" + "m" * MB) + PING,
        lambda at: at.head("P" * MB, LENGTH) + PING,
        lambda at: at.head("POST", CHUNKED) + CHUNKS[:-2] + b"A: b\r\n" * 10_000 + b"\r\n",
        lambda at: at.head("POST", CHUNKED) + CHUNKS[:-2] + b"A: " + b"b" * MB + b"\r\n\r\n",
    ],
    ids=["headers", "value", "name", "target", "method", "trailers", "trailer"],
)
async def test_head_without_measure(at: Site, make: Callable[[Site], bytes]) -> None:
    growth = Growth()
    answers, ended = await at.answers(make(at))
    assert [item.status for item in answers] in ([400], [431], []), answers
    assert ended
    assert growth.look() < 32


async def test_no_compression(at: Site) -> None:
    bomb = gzip.compress(bytes(64 * MB))
    for coding, body in (("gzip", bomb), ("gzip", PING), ("br", PING), ("deflate, gzip", bomb)):
        growth = Growth()
        headers = (f"Content-Encoding: {coding}", f"Content-Length: {len(body)}")
        assert await at.status(at.head("POST", *headers) + body) == 415
        assert growth.look() < 16
    answers, ended = await at.answers(
        at.head("POST", "Transfer-Encoding: gzip, chunked") + CHUNKS + at.head("DELETE")
    )
    assert [item.status for item in answers] == [501]
    assert ended


# -- half of a connection --------------------------------------------------------------------------


async def test_half_closed(at: Site) -> None:
    """Nobody can tell it from a client that has died: nothing is answered, nothing goes on."""
    for data in (
        at.ping()[:20],
        at.head("POST", LENGTH),
        at.head("POST", LENGTH) + PING[:5],
        at.head("POST", CHUNKED) + b"5\r\nab",
        at.head("GET", "Accept: text/event-stream"),
    ):
        answers, ended = await at.answers(data, eof=True)
        assert [item.status for item in answers] in ([], [200])
        assert ended


async def test_continue(at: Site) -> None:
    wire = await at.dial()
    wire.write(at.head("POST", LENGTH, "Expect: 100-Continue"))
    assert await wire.head() == (100, {})
    wire.write(PING)
    assert (await wire.answer()).status == 200
    wire.write(at.head("POST", LENGTH, "Expect: magic"))
    assert (await wire.answer()).status == 417
    await wire.close()
    # told before a byte of it came, and without "go on"
    too_long = at.head("POST", f"Content-Length: {1 << 40}", "Expect: 100-continue")
    assert await at.status(too_long) == 413


# -- requests in one write -------------------------------------------------------------------------


async def test_many_requests_in_one_write(at: Site, scale: Scale, figure: Figure) -> None:
    count = scale(short=1_000, long=10_000)
    wire = await at.dial()
    wire.write(b"".join(at.ping(n) for n in range(count)))
    ids = [(await wire.answer()).events[0]["id"] for _ in range(count)]
    assert ids == list(range(count))
    await wire.close()
    figure(f"requests in one write at {type(at.desk).__module__}", count)


async def test_many_requests_that_are_never_read(at: Site, figure: Figure) -> None:
    """What it does not read holds the rest back."""
    wire = await at.dial()
    wave = at.post({"id": "x" * 4000, "method": "ping"}) * 20
    growth, sent, still = Growth(), 0, 0
    # held back: nothing more is taken for a second
    while still < 100:
        if wire.writer.transport.get_write_buffer_size() > 0:
            still += 1
            await asyncio.sleep(0.01)
            continue
        assert sent < 64 * MB, "it is heard without end"
        still = 0
        wire.write(wave)
        sent += len(wave)
        growth.look()
    figure("pipelined, never read: taken in", sent / MB, "MB", f"growth {growth.most_mb:.1f} MB")
    assert growth.most_mb < 32
    wire.writer.transport.abort()


# -- the push stream -------------------------------------------------------------------------------


async def test_get_with_a_body(at: Site) -> None:
    """The body is the stream's, not the next request."""
    smuggled = at.head("DELETE")
    for data in (
        at.head("GET", f"Content-Length: {len(smuggled)}") + smuggled,
        at.head("GET", CHUNKED) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(smuggled), smuggled),
    ):
        wire = await at.dial()
        wire.write(data)
        assert (await wire.head())[0] == 200
        assert await at.serves()
        await wire.close()


async def test_stream_that_is_never_read(at: Site, scale: Scale, figure: Figure) -> None:
    wire = await at.dial()
    wire.write(at.head("GET", "Accept: text/event-stream"))
    assert (await wire.head())[0] == 200
    await eventually(lambda: any(client.ready for client in at.clients()))
    growth, changes = Growth(), scale(short=300, long=3_000)
    for n in range(changes):
        at.desk.state.select(Selection("/a", Range(Position(n, 0), Position(n, 9)), "x" * MB))
        await asyncio.sleep(0.002)
        growth.look()
    figure("stream never read: growth", growth.most_mb, "MB", f"{changes} selections of 1 MB")
    assert growth.most_mb < 48
    await wire.close()


async def test_ends_in_every_place(at: Site) -> None:
    """A request that is cut at any byte, then nothing: not a word in the log."""
    data = at.head("POST", CHUNKED) + CHUNKS
    for cut in range(1, len(data), 7):
        wire = await at.dial()
        wire.write(data[:cut])
        await wire.writer.drain()
        wire.writer.transport.abort()
        await wire.close()
