"""WebSocket messages without measure, and a client that does not read: memory stays, others go on.

What each bad frame is answered with: test_bad_frames.py.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable

import pytest

from agent_ide.model import Position, Range, Selection
from agent_ide.transports.door import MAX_FRAGMENTS
from agent_ide.transports.websocket import MAX_MESSAGE_BYTES
from tests.servers.claude import Client, Desk
from tests.support.figures import Figure, Scale
from tests.torture.besieged import bystander, desk, dial, served
from tests.torture.frames import BINARY, CONT, PING, TEXT, frame, text
from tests.torture.witness import Growth

__all__ = ["bystander", "desk", "served"]

pytestmark = pytest.mark.usefixtures("served")

ASK = {"id": 1, "method": "ping"}

MB = 1024 * 1024


# -- size ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        frame(TEXT, length=MAX_MESSAGE_BYTES + 1),
        frame(BINARY, length=(1 << 63) - 1),
        frame(TEXT, length=(1 << 64) - 1),
        frame(TEXT, b"x", fin=False) + frame(CONT, length=MAX_MESSAGE_BYTES),
        frame(PING, length=1 << 40),
    ],
    ids=["one more than the limit", "63 bits", "64 bits", "in two fragments", "of a ping"],
)
async def test_length_that_is_only_said(desk: Desk, data: bytes) -> None:
    client = await dial(desk)
    growth = Growth()
    client.write(data)
    assert await client.close_code() == 1009
    assert growth.look() < 32
    await client.end()


async def test_message_over_the_limit_in_fragments(
    desk: Desk, scale: Scale, figure: Figure
) -> None:
    """Refused as soon as it is over, without more memory than the limit asks for."""
    client = await dial(desk)
    piece_mb = 4
    growth = Growth()
    client.write(frame(TEXT, b"[", fin=False))
    for _ in range(MAX_MESSAGE_BYTES // MB // piece_mb):
        client.write(frame(CONT, b" " * piece_mb * MB, fin=False))
        await client.drain()
        growth.look()
    assert await client.close_code() == 1009
    figure("message of 64 MB and a byte: growth", growth.most_mb, "MB", "at most 256")
    assert growth.most_mb < 256
    await client.end()


# -- many ------------------------------------------------------------------------------------------


async def test_many_frames_at_once(desk: Desk, figure: Figure) -> None:
    count = 10_000
    client = await dial(desk)
    began = time.monotonic()
    client.write(*(text({"id": n, "method": "ping"}) for n in range(count)))
    assert [(await client.message())["id"] for _ in range(count)] == list(range(count))
    figure("requests in one write, answered in order", count, "", "a second each thousand at most")
    assert time.monotonic() - began < 30
    client.write(*(frame(PING, b"%d" % n) for n in range(count)))
    assert [(await client.next())[1] for _ in range(count)] == [b"%d" % n for n in range(count)]
    await client.end()


async def test_many_empty_fragments(desk: Desk) -> None:
    client = await dial(desk)
    client.write(text(ASK, fin=False), frame(CONT, fin=False) * (MAX_FRAGMENTS - 2), frame(CONT))
    assert (await client.message())["id"] == 1
    await client.end()


async def test_fragments_without_end(desk: Desk, scale: Scale, figure: Figure) -> None:
    """Each is empty, so no limit of size would ever be met."""
    client = await dial(desk)
    growth = Growth()
    client.write(text(ASK, fin=False))
    ended = asyncio.ensure_future(client.close_code(bound_s=60.0))
    sent = 0
    while not ended.done() and sent < 100 * MAX_FRAGMENTS:
        client.write(frame(CONT, fin=False) * 1000)
        sent += 1000
        await asyncio.sleep(0)
        growth.look()
    assert await ended == 1009
    figure("fragments without end: growth", growth.most_mb, "MB", f"{MAX_FRAGMENTS} at most")
    assert growth.most_mb < 64
    await client.end()


# -- compression -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "offer",
    [
        "permessage-deflate",
        "permessage-deflate; client_max_window_bits=15; server_no_context_takeover",
        "permessage-deflate; server_max_window_bits=8, x-webkit-deflate-frame",
        "permessage-deflate; nonsense=1",
    ],
)
async def test_compression_is_never_agreed_upon(desk: Desk, offer: str) -> None:
    client = await dial(desk, f"Sec-WebSocket-Extensions: {offer}")
    assert b"sec-websocket-extensions" not in client.response.lower()
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = squeeze.compress(b"\0" * 32 * MB) + squeeze.flush(zlib.Z_SYNC_FLUSH)
    growth = Growth()
    client.write(frame(TEXT, bomb[:-4], rsv=4))
    assert await client.close_code() == 1002
    assert growth.look() < 16
    await client.end()


# -- a client that does not read -------------------------------------------------------------------


async def test_client_that_asks_and_never_reads(
    desk: Desk, bystander: Client, scale: Scale, figure: Figure
) -> None:
    answer_mb, count = 2, scale(short=150, long=2_000)
    span = Range(Position(0, 0), Position(0, 9))
    desk.state.select(Selection("/a.txt", span, "x" * answer_mb * MB))
    client = await dial(desk)
    growth = Growth()
    call = {"method": "tools/call", "params": {"name": "getLatestSelection"}}
    client.write(*(text({"id": n, **call}) for n in range(count)))
    slowest_s = 0.0
    for _ in range(20):
        began = time.monotonic()
        assert await bystander.call("getWorkspaceFolders", bound_s=15.0)
        slowest_s = max(slowest_s, time.monotonic() - began)
        growth.look()
    figure(
        "never reads: growth", growth.most_mb, "MB", f"{count} answers of {answer_mb} MB, under 150"
    )
    figure("never reads: another client's slowest answer", slowest_s * 1000, "ms")
    assert growth.most_mb < 150
    # nothing is lost when it reads after all
    ids = [(await client.message())["id"] for _ in range(20)]
    assert len(set(ids)) == 20
    await client.end()


LONG_ID = {"id": "x" * 4000}


async def test_cancelled_while_it_is_sent(desk: Desk) -> None:
    """Half of an answer would end the connection; what has begun is said to its end."""
    span = Range(Position(0, 0), Position(0, 9))
    desk.state.select(Selection("/a.txt", span, "x" * 2 * MB))
    client = await dial(desk)
    call = {"id": 1, "method": "tools/call", "params": {"name": "getLatestSelection"}}
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    client.write(text(call), text(cancel), text({"id": 2, "method": "ping"}))
    ids = [(await client.message())["id"]]
    if ids == [1]:
        ids.append((await client.message())["id"])
    assert ids[-1] == 2
    await client.end()


@pytest.mark.parametrize(
    "data",
    [frame(PING, b"x" * 125), text({**LONG_ID, "method": "ping"}), text({**LONG_ID, "method": 1})],
    ids=["pings", "requests", "faults"],
)
async def test_flood_that_never_reads(desk: Desk, data: bytes, figure: Figure) -> None:
    """What it does not read holds the rest back, before it takes memory."""
    client = await dial(desk)
    wave = data * (128 * 1024 // len(data))
    growth, sent = Growth(), 0

    def held_back() -> bool:
        return client.writer.transport.get_write_buffer_size() > 0

    while not held_back() or not await _stays(held_back):
        assert sent < 64 * MB, "it is heard without end"
        client.write(wave)
        sent += len(wave)
        growth.look()
    figure("flood that is not read: taken in", sent / MB, "MB", f"growth {growth.most_mb:.1f} MB")
    assert growth.most_mb < 24
    await client.end()


async def _stays(condition: Callable[[], bool]) -> bool:
    """It holds for as long as a busy server may need for another piece."""
    end = time.monotonic() + 1.0
    while condition():
        if time.monotonic() > end:
            return True
        await asyncio.sleep(0.01)
    return False
