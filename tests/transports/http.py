"""Raw HTTP/1.1 for tests: bytes out, answers in, on a unix socket or a port.

Owns:     one connection and what has come in on it.
Not here: what a test asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Answer", "Wire", "dial"]

BOUND_S = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One response; chunks: as framed, for one that is chunked and has ended."""

    status: int
    headers: dict[str, str]
    body: bytes
    chunks: tuple[bytes, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The JSON of each event."""
        blocks = [block for block in self.body.split(b"\n\n") if block.startswith(b"event: ")]
        return [json.loads(block.split(b"\ndata: ", 1)[1]) for block in blocks]


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers, names in lower case."""
        async with asyncio.timeout(BOUND_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").rstrip().split("\r\n")
        pairs = [line.split(": ", 1) for line in lines]
        return int(status.split()[1]), {pair[0].lower(): [*pair, ""][1] for pair in pairs}

    async def chunk(self) -> bytes:
        """The next chunk of a chunked body; empty: the last one."""
        async with asyncio.timeout(BOUND_S):
            size = int(await self.reader.readline(), 16)
            data = await self.reader.readexactly(size)
            assert await self.reader.readexactly(2) == b"\r\n"
        return data

    async def answer(self) -> Answer:
        status, headers = await self.head()
        if headers.get("transfer-encoding") == "chunked":
            chunks = []
            while chunk := await self.chunk():
                chunks.append(chunk)
            return Answer(status, headers, b"".join(chunks), tuple(chunks))
        async with asyncio.timeout(BOUND_S):
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(status, headers, body)

    async def ended(self, bound_s: float = BOUND_S) -> bool:
        """The server closes, without another byte."""
        async with asyncio.timeout(bound_s):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


async def dial(address: str) -> Wire:
    """Connect to `host:port`, or to the path of a unix socket."""
    if address.startswith("/"):
        return Wire(*await asyncio.open_unix_connection(address))
    host, _, port = address.partition(":")
    return Wire(*await asyncio.open_connection(host, int(port)))
