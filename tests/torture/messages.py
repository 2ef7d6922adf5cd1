"""One JSON text to a real server, and every answer to it, over whichever transport it speaks.

Owns:     the three servers on editors in memory, an initialized session at each, how JSON is read
          here without Python's numbers in the way.
Not here: what is said (texts.py and the tests).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agent_ide.review.reviews import Reviews
from tests.servers import claude
from tests.torture.frames import BINARY, TEXT, Socket, frame
from tests.torture.requests import Site, site
from tests.transports.http import Wire

__all__ = ["SERVERS", "ClaudeLine", "Line", "NoJson", "Number", "connect", "read"]

SERVERS = ("claude", "copilot", "gemini")

BOUND_S = 20.0

HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}},
}


class Number(NamedTuple):
    """A JSON number as it is written: 1e400 and 5,000 digits are numbers, and 1 is not 1.0."""

    text: str


class NoJson(ValueError):
    pass


_HALF_PAIR = re.compile("[\ud800-\udfff]")


def read(text: bytes | str) -> Any:
    """JSON as RFC 8259 has it, halves of surrogate pairs replaced.

    Raises:
        NoJson: it is none.
    """

    def refuse(constant: str) -> None:
        raise NoJson(constant)

    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        value = json.loads(decoded, parse_int=Number, parse_float=Number, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise NoJson(str(error)) from None
    return _mended(value)


def _mended(value: Any) -> Any:
    match value:
        case Number():
            return value
        case str():
            return _HALF_PAIR.sub("\ufffd", value)
        case list():
            return [_mended(item) for item in value]
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
    return value


class Line(Protocol):
    """A client's session at a server."""

    async def ask(self, text: bytes, answers: int | None = None) -> list[Any]:
        """Send one text; all that comes back for it. At least so many answers are waited for."""

    async def close(self) -> None: ...


class ClaudeLine:
    """Over a WebSocket, where an answer may come at any time: a ping tells that all is said."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._numbers = itertools.count()

    @classmethod
    async def dial(cls, port: int, token: str) -> ClaudeLine:
        """To whichever Claude server listens there."""
        it = cls(await Socket.connect(port, f"{claude.HEADER}: {token}"))
        assert await it.ask(json.dumps(HELLO).encode(), answers=1)
        return it

    async def ask(self, text: bytes, answers: int | None = None) -> list[Any]:
        mark = f"mark {next(self._numbers)}"
        ping = json.dumps({"jsonrpc": "2.0", "id": mark, "method": "ping"}).encode()
        try:
            text.decode()
        except UnicodeDecodeError:
            kind = BINARY  # as text it would end the connection
        else:
            kind = TEXT
        self._socket.write(frame(kind, text), frame(TEXT, ping))
        found: list[Any] = []
        marked = False
        while not marked or len(found) < (answers or 0):
            opcode, payload = await self._socket.next(BOUND_S)
            assert opcode == TEXT, (opcode, payload[:200])
            answer = read(payload)
            if isinstance(answer, dict) and answer.get("id") == mark:
                marked = True
            elif "method" not in answer:
                # pushes are nobody's answer
                found.append(answer)
        return found

    async def close(self) -> None:
        await self._socket.end()


class HttpLine:
    """A request for each text, on one connection while the server keeps it."""

    def __init__(self, at: Site) -> None:
        self._at = at
        self._wire: Wire | None = None

    async def ask(self, text: bytes, answers: int | None = None) -> list[Any]:
        if self._wire is None:
            self._wire = await self._at.dial()
        self._wire.write(self._at.post(text))
        answer = await self._wire.answer()
        assert answer.status in (200, 202, 400), answer
        if answer.headers.get("connection") == "close":
            await self._wire.close()
            self._wire = None
        if answer.status == 202:
            return []
        if answer.headers["content-type"].startswith("text/event-stream"):
            blocks = [item for item in answer.body.split(b"\n\n") if item.startswith(b"event: ")]
            return [read(block.split(b"\ndata: ", 1)[1]) for block in blocks]
        assert (answer.status == 400) == (b'"error"' in answer.body)
        return [read(answer.body)]

    async def close(self) -> None:
        if self._wire is not None:
            await self._wire.close()


@asynccontextmanager
async def connect(name: str, folder: Path) -> AsyncIterator[tuple[Line, Reviews]]:
    """A session at one of `SERVERS`, and the reviews there; `folder` has a short path."""
    line: Line
    if name == "claude":
        desk = claude.Desk(folder)
        await desk.server.start()
        line = await ClaudeLine.dial(desk.port(), desk.lock()["authToken"])
        yield line, desk.reviews
        await line.close()
        await desk.close()
        return
    async with site(name, folder) as at:
        line = HttpLine(at)
        yield line, at.desk.reviews
        await line.close()
