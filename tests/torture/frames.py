"""A WebSocket client that can send any bytes, and reads what comes back frame by frame.

Owns:     frames as RFC 6455 has them and as it has not, one raw connection.
Not here: what a test sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from typing import Any

__all__ = ["BINARY", "CLOSE", "CONT", "PING", "PONG", "TEXT", "Socket", "close", "frame", "text"]

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA

BOUND_S = 15.0

NO_CODE = 1005
"""What a close frame without a code counts as."""

Frame = tuple[int, bytes]


def frame(
    opcode: int,
    payload: bytes = b"",
    *,
    fin: bool = True,
    rsv: int = 0,
    masked: bool = True,
    length: int | None = None,
) -> bytes:
    """One frame of a client.

    Args:
        rsv:    the three reserved bits, as a number below 8.
        length: what the frame says of its payload's length, whatever that has.
    """
    said = len(payload) if length is None else length
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    mark = 0x80 if masked else 0
    if said < 126:
        head = struct.pack("!BB", first, mark | said)
    elif said < 1 << 16:
        head = struct.pack("!BBH", first, mark | 126, said)
    else:
        head = struct.pack("!BBQ", first, mark | 127, said)
    if not masked:
        return head + payload
    key = b"\x37\xfa\x21\x3d"
    return head + key + _mask(payload, key)


def _mask(payload: bytes, key: bytes) -> bytes:
    size = len(payload)
    stream = key * (size // 4 + 1)
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(stream[:size], "big")
    return masked.to_bytes(size, "big")


def text(message: Any, **how: Any) -> bytes:
    """A text frame with a JSON-RPC message."""
    return frame(TEXT, json.dumps({"jsonrpc": "2.0", **message}).encode(), **how)


def close(code: int, reason: bytes = b"") -> bytes:
    return frame(CLOSE, struct.pack("!H", code) + reason)


class Socket:
    """One admitted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.response = b""
        self._begun: list[Frame] = []

    @classmethod
    async def connect(cls, port: int, *headers: str) -> Socket:
        """Open it; the handshake is right but for what `headers` say."""
        it = cls(*await asyncio.open_connection("127.0.0.1", port))
        lines = [
            "GET / HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: mcp",
            *headers,
        ]
        it.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(BOUND_S):
            it.response = await it.reader.readuntil(b"\r\n\r\n")
        assert it.response.startswith(b"HTTP/1.1 101 "), it.response
        return it

    def write(self, *data: bytes) -> None:
        """Send bytes, together where the system can."""
        self.writer.write(b"".join(data))

    async def drain(self) -> None:
        await self.writer.drain()

    async def next(self, bound_s: float = BOUND_S) -> Frame:
        """The server's next control frame, or its next message whole: opcode and payload."""
        async with asyncio.timeout(bound_s):
            while True:
                fin, opcode, payload = await self._frame()
                if opcode >= CLOSE:
                    assert fin, "a control frame is never fragmented"
                    return opcode, payload
                assert (opcode == CONT) == bool(self._begun), "a message inside another"
                self._begun.append((opcode, payload))
                if fin:
                    begun, self._begun = self._begun, []
                    return begun[0][0], b"".join(piece for _, piece in begun)

    async def _frame(self) -> tuple[bool, int, bytes]:
        first, second = await self.reader.readexactly(2)
        assert second < 0x80, "a server masks nothing"
        assert first & 0x70 == 0, "our server has no extensions"
        size = second
        if size == 126:
            (size,) = struct.unpack("!H", await self.reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
        return first >= 0x80, first & 0x0F, await self.reader.readexactly(size)

    async def message(self, bound_s: float = BOUND_S) -> Any:
        """The JSON of the next text frame; pongs are passed over."""
        while True:
            opcode, payload = await self.next(bound_s)
            if opcode == TEXT:
                return json.loads(payload.decode())
            assert opcode == PONG, (opcode, payload[:200])

    async def close_code(self, bound_s: float = BOUND_S) -> int:
        """The code with which the server closes, after whatever it still had to say; then it ends.

        Raises:
            IncompleteReadError: the connection ends without a close frame.
        """
        while True:
            opcode, payload = await self.next(bound_s)
            if opcode == CLOSE:
                break
        # a reset where the server has not read all that was sent
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(bound_s):
                assert await self.reader.read() == b"", "nothing comes after a close frame"
        return int(struct.unpack("!H", payload[:2])[0]) if payload else NO_CODE

    async def end(self) -> None:
        """Drop the connection without a word."""
        self.writer.transport.abort()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
