"""Bad WebSocket frames from an admitted client: the close code that RFC 6455 asks for, no more.

What is no WebSocket handshake at all, and who is let in: tests/transports/test_websocket.py.
Too much of it: test_too_many_frames.py.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator

import pytest

from tests.servers.claude import Desk
from tests.torture.besieged import bystander, desk, dial, served
from tests.torture.frames import BINARY, CLOSE, CONT, PING, PONG, TEXT, close, frame, text

__all__ = ["bystander", "desk", "served"]

pytestmark = pytest.mark.usefixtures("served")

ASK = {"id": 1, "method": "ping"}
ASK_BYTES = json.dumps({"jsonrpc": "2.0", **ASK}).encode()


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
