"""Bad WebSocket frames from an admitted client: the close code that RFC 6455 asks for, no more.

What is no WebSocket handshake at all, and who is let in: tests/transports/test_websocket.py.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agent_ide.model import Position, Range, Selection
from agent_ide.transports.websocket import MAX_FRAGMENTS, MAX_MESSAGE_BYTES
from tests.servers.claude import HEADER, Client, Desk
from tests.support.eventually import eventually
from tests.support.figures import Figure, Scale
from tests.torture.frames import (
    BINARY,
    CLOSE,
    CONT,
    PING,
    PONG,
    TEXT,
    Socket,
    close,
    frame,
    text,
)
from tests.torture.witness import Growth, undisturbed

ASK = {"id": 1, "method": "ping"}
ASK_BYTES = json.dumps({"jsonrpc": "2.0", **ASK}).encode()

MB = 1024 * 1024


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    it = Desk(tmp_path)
    await it.server.start()
    yield it
    await it.close()


@pytest.fixture
async def bystander(desk: Desk) -> Client:
    """Another client, who must not notice anything."""
    client = await desk.connect()
    assert await client.call("getWorkspaceFolders")
    return client


@pytest.fixture(autouse=True)
async def served(
    desk: Desk, bystander: Client, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[None]:
    async with undisturbed(caplog):
        yield
        assert await bystander.call("getWorkspaceFolders", bound_s=15.0)
        await eventually(lambda: len(desk.server.clients()) == 1, 15.0)


async def dial(desk: Desk, *headers: str) -> Socket:
    return await Socket.connect(desk.port(), f"{HEADER}: {desk.lock()['authToken']}", *headers)


# -- what the protocol forbids ---------------------------------------------------------------------


def against_the_protocol() -> Iterator[tuple[str, bytes]]:
    yield "unmasked", text(ASK, masked=False)
    yield "unmasked ping", frame(PING, masked=False)
    for rsv in range(1, 8):
        yield f"reserved bits {rsv}", text(ASK, rsv=rsv)
    yield "reserved bit of a ping", frame(PING, rsv=4)
    for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
        yield f"opcode {opcode}", frame(opcode, ASK_BYTES)
    for opcode in (CLOSE, PING, PONG):
        yield f"long control frame {opcode}", frame(opcode, b"x" * 126)
        yield f"fragmented control frame {opcode}", frame(opcode, b"x" * 4, fin=False)
    yield "continuation of nothing", frame(CONT, ASK_BYTES)
    yield "last continuation twice", text(ASK, fin=False) + frame(CONT) + frame(CONT)
    yield "message inside a message", text(ASK, fin=False) + text(ASK)
    yield "binary inside a text", text(ASK, fin=False) + frame(BINARY, ASK_BYTES)
    yield "half a close code", frame(CLOSE, b"\x03")
    for code in (0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535):
        yield f"close code {code}", close(code)


@pytest.mark.parametrize(
    "data", [pytest.param(data, id=name) for name, data in against_the_protocol()]
)
async def test_protocol_error(desk: Desk, data: bytes) -> None:
    client = await dial(desk)
    client.write(data)
    assert await client.close_code() == 1002
    await client.end()


@pytest.mark.parametrize("code", [1000, 1001, 1003, 1007, 1011, 3000, 4999])
async def test_good_close_is_echoed(desk: Desk, code: int) -> None:
    client = await dial(desk)
    client.write(close(code, "é".encode()), text(ASK), close(1002))
    assert await client.close_code() == code
    await client.end()


async def test_close_without_a_code(desk: Desk) -> None:
    client = await dial(desk)
    client.write(frame(CLOSE))
    assert await client.close_code() == 1005
    await client.end()


# -- UTF-8 -----------------------------------------------------------------------------------------

NO_UTF8 = {
    "overlong in two": b"\xc0\x80",
    "overlong ascii": b"\xc1\xbf",
    "overlong in three": b"\xe0\x80\xaf",
    "overlong in four": b"\xf0\x80\x80\xaf",
    "high surrogate": b"\xed\xa0\x80",
    "low surrogate": b"\xed\xbf\xbf",
    "pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "cut after one": b"\xe2",
    "cut after two": b"\xe2\x82",
    "cut after three": b"\xf0\x9f\x98",
    "continued by nothing": b"\x80",
    "over U+10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "no byte of UTF-8": b"\xfe",
    "latin-1": b"\xe9t\xe9",
}


@pytest.mark.parametrize("bad", NO_UTF8.values(), ids=NO_UTF8)
async def test_no_utf8(desk: Desk, bad: bytes) -> None:
    whole = ASK_BYTES[:-1] + b',"x":"' + bad + b'"}'
    start = whole.index(bad)
    for cut in [None, *range(start, start + len(bad) + 1)]:
        client = await dial(desk)
        if cut is None:
            client.write(frame(TEXT, whole))
        else:
            client.write(frame(TEXT, whole[:cut], fin=False), frame(CONT, whole[cut:]))
        assert await client.close_code() == 1007, cut
        await client.end()


@pytest.mark.parametrize("bad", NO_UTF8.values(), ids=NO_UTF8)
async def test_no_utf8_as_the_reason_of_a_close(desk: Desk, bad: bytes) -> None:
    client = await dial(desk)
    client.write(close(1000, bad))
    assert await client.close_code() == 1007
    await client.end()


@pytest.mark.parametrize("bad", NO_UTF8.values(), ids=NO_UTF8)
async def test_no_utf8_in_a_binary_frame(desk: Desk, bad: bytes) -> None:
    """Any bytes may stand there; as JSON they are a parse error, and never come back."""
    client = await dial(desk)
    client.write(frame(BINARY, b'{"jsonrpc":"2.0","id":"' + bad + b'","method":"ping"}'), text(ASK))
    answer = await client.message()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert (await client.message())["result"] == {}
    await client.end()


# -- what is allowed, however odd ------------------------------------------------------------------


async def test_character_in_fragments_with_control_frames_between(desk: Desk) -> None:
    client = await dial(desk)
    message = '{"jsonrpc":"2.0","id":"é€😀","method":"ping"}'.encode()
    pieces = [message[n : n + 1] for n in range(len(message))]
    client.write(frame(TEXT, fin=False))
    for n, piece in enumerate(pieces):
        client.write(frame(PING, b"%d" % n), frame(PONG, b"unasked"), frame(CONT, piece, fin=False))
    client.write(frame(CONT))
    for n in range(len(pieces)):
        assert await client.next() == (PONG, b"%d" % n)
    assert (await client.message())["id"] == "é€😀"
    await client.end()


async def test_binary_is_answered_as_text(desk: Desk) -> None:
    client = await dial(desk)
    client.write(frame(BINARY, ASK_BYTES))
    opcode, payload = await client.next()
    assert (opcode, json.loads(payload)["id"]) == (TEXT, 1)
    await client.end()


async def test_every_byte_on_its_own(desk: Desk) -> None:
    client = await dial(desk)
    client.writer.transport.get_extra_info("socket").setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )
    for byte in text(ASK):
        client.write(bytes([byte]))
        await asyncio.sleep(0)
    assert (await client.message())["id"] == 1
    await client.end()


@pytest.mark.parametrize("cut", [1, 2, 5, 20])
@pytest.mark.parametrize("how", ["aborted", "half-closed"])
async def test_end_inside_a_frame(desk: Desk, cut: int, how: str) -> None:
    client = await dial(desk)
    client.write(text(ASK)[:cut])
    if how == "half-closed":
        client.writer.write_eof()
        async with asyncio.timeout(5):
            assert await client.reader.read() == b""
    await client.end()


async def test_half_closed_after_a_request(desk: Desk) -> None:
    client = await dial(desk)
    client.write(text(ASK))
    client.writer.write_eof()
    async with asyncio.timeout(5):
        await client.reader.read()
    await client.end()


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
    client.write(text(ASK, fin=False), frame(CONT, fin=False) * 10_000, frame(CONT))
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
