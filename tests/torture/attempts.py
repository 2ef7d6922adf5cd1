"""Everything that somebody without a valid token may send, and what came of it.

Owns:     the attempts, how one is run and what came of it.
Not here: the servers (doors.py), what is right (test_nobody_in*.py), many attempts from another
          process (flood.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from tests.torture.doors import Door

__all__ = ["ATTEMPTS", "GIVE_UP_S", "PAGES", "SLOW", "Attempt", "Outcome", "knock"]

GIVE_UP_S = 30.0
"""Until then a connection that is still open is measured, not waited for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt.

    after_last_s:  from the last byte sent (or the connection) to the end of the connection.
    after_first_s: from the first byte sent (or the connection) to its end.
    """

    attempt: str
    answer: bytes
    after_last_s: float
    after_first_s: float

    def faults(self) -> list[str]:
        """What an answer to nobody must not be."""
        head, _, body = self.answer.partition(b"\r\n\r\n")
        low = head.lower()
        found = [
            *(["it is no 4xx"] if head and not re.match(rb"HTTP/1\.[01] 4\d\d ", head) else []),
            *(["it is long"] if len(self.answer) > 300 else []),
            *(["it has a body"] if body else []),
            *(["CORS"] if b"access-control" in low else []),
            *(
                ["it tells the software"]
                if any(word in low for word in (b"python", b"aiohttp", b"websockets/"))
                else []
            ),
        ]
        return [f"{self.attempt}: {fault}: {self.answer[:400]!r}" for fault in found]


Send = Callable[["Line"], Awaitable[None]]


class Line:
    """One connection; notes when bytes went out."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.first_s: float | None = None
        self.last_s = time.monotonic()

    async def send(self, data: bytes) -> None:
        for at in range(0, len(data), 65536):
            self._writer.write(data[at : at + 65536])
            self.last_s = time.monotonic()
            self.first_s = self.first_s or self.last_s
            await self._writer.drain()
        self.last_s = time.monotonic()

    def half_close(self) -> None:
        self._writer.write_eof()
        self.last_s = time.monotonic()


@dataclass(frozen=True, slots=True)
class Attempt:
    name: str
    run: Callable[[Door, Line], Awaitable[None]]


def _says(name: str, make: Callable[[Door], bytes]) -> Attempt:
    async def run(door: Door, line: Line) -> None:
        await line.send(make(door))

    return Attempt(name, run)


def _with(name: str, *headers: Callable[[Door], str]) -> Attempt:
    return _says(name, lambda door: door.request(*(make(door) for make in headers)))


def _valued(make: Callable[[str], str]) -> Callable[[Door], str]:
    return lambda door: f"{door.header}: {make(door.value)}"


def _other_case(value: str) -> str:
    scheme, space, token = value.rpartition(" ")
    swapped = token.swapcase()
    # a token of digits alone has no case; then its neighbour must do
    return f"{scheme}{space}{swapped if swapped != token else token[:-1] + 'g'}"


async def _half_closed(door: Door, line: Line) -> None:
    await line.send(door.request()[:60])
    line.half_close()


async def _half_closed_at_once(door: Door, line: Line) -> None:
    line.half_close()


async def _nothing(door: Door, line: Line) -> None:
    pass


async def _stops_in_the_middle(door: Door, line: Line) -> None:
    await line.send(door.request()[:60])


async def _byte_a_second(door: Door, line: Line) -> None:
    for byte in door.request():
        await line.send(bytes([byte]))
        # quicker than the pause that ends a connection by itself
        await asyncio.sleep(0.5)


async def _byte_a_second_after_the_answer(door: Door, line: Line) -> None:
    await line.send(door.request())
    await _byte_a_second(door, line)


ATTEMPTS = [
    _says("plain GET", lambda door: f"GET / HTTP/1.1\r\nHost: {door.host}\r\n\r\n".encode()),
    _says("GET without Host", lambda door: b"GET / HTTP/1.1\r\n\r\n"),
    _says("HTTP/1.0", lambda door: b"GET / HTTP/1.0\r\n\r\n"),
    _says("HTTP/2", lambda door: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)),
    _says("HEAD", lambda door: door.request(method="HEAD")),
    _says("TRACE", lambda door: door.request(method="TRACE")),
    _says("CONNECT", lambda door: b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    _says("TLS hello", lambda door: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)),
    _says("SSH", lambda door: b"SSH-2.0-OpenSSH_9.2\r\n"),
    _says("garbage", lambda door: bytes(range(256)) * 16),
    _says("NULs", lambda door: bytes(100_000)),
    _says("line breaks", lambda door: b"\r\n" * 10_000),
    _says("long target", lambda door: door.request(target="/" + "a" * 100_000)),
    _says("many headers", lambda door: door.request(*["A: b"] * 5000)),
    _says("20 MB of header", lambda door: door.request("A: " + "b" * 20_000_000)),
    _says("20 MB of headers", lambda door: door.request(*["A: " + "b" * 4000] * 5000)),
    _says("header without end", lambda door: door.request("A: " + "b" * 100_000)[:-4]),
    Attempt("half closed", _half_closed),
    Attempt("half closed at once", _half_closed_at_once),
    Attempt("stops in the middle", _stops_in_the_middle),
    _with("no token"),
    _with("empty token", _valued(lambda value: "")),
    _with("one byte short", _valued(lambda value: value[:-1])),
    _with("one byte more", _valued(lambda value: value + value[-1])),
    _with("first byte gone", _valued(lambda value: value[1:])),
    _with("doubled", _valued(lambda value: value + value)),
    _with("in a list", _valued(lambda value: f"{value}, {value}")),
    _with("twice", _valued(str), _valued(str)),
    _with("wrong one, right one", _valued(lambda value: "x"), _valued(str)),
    _with("another case", _valued(_other_case)),
    _with("quoted", _valued(lambda value: f'"{value}"')),
    _with("not UTF-8", _valued(lambda value: value + "\xe9")),
    _with("NUL after it", _valued(lambda value: value + "\0")),
    _with("folded", _valued(lambda value: f"{value[:4]}\r\n {value[4:]}")),
    _with("another scheme", lambda door: f"Authorization: Basic {door.token}"),
    _with("without scheme", lambda door: f"Proxy-Authorization: {door.value}"),
    _with("another header", lambda door: f"X-Authorization: {door.value}"),
    _with("the other server's header", lambda door: f"X-Token: {door.value}"),
    _with("cookie", lambda door: f"Cookie: {door.header}={door.token}"),
    _with("subprotocol", lambda door: f"Sec-WebSocket-Protocol: {door.token}"),
    _says("in the URL", lambda door: door.request(target=f"/mcp?token={door.token}")),
    _says("in the URL's path", lambda door: door.request(target=f"/{door.token}")),
    _says("in the URL's user", lambda door: door.request(target=f"http://{door.token}@x/mcp")),
    _says(
        "in a trailer",
        lambda door: (
            f"POST /mcp HTTP/1.1\r\nHost: {door.host}\r\nTransfer-Encoding: chunked\r\n"
            f"Trailer: {door.header}\r\n\r\n0\r\n{door.header}: {door.value}\r\n\r\n"
        ).encode(),
    ),
    _says(
        "in a second request",
        lambda door: door.request() + door.right(),
    ),
]
"""What ends by itself at once."""

SLOW = [
    Attempt("nothing", _nothing),
    Attempt("a byte now and then", _byte_a_second),
    Attempt("a byte now and then after the answer", _byte_a_second_after_the_answer),
]
"""What takes its time."""


def _page(name: str, *headers: str, host: str | None = None, method: str = "") -> Attempt:
    """A web page that has the token, for the sake of the argument."""

    def make(door: Door) -> bytes:
        marks = [header.replace("{host}", door.host) for header in headers]
        right = f"{door.header}: {door.value}"
        return door.request(right, *marks, host=host, method=method)

    return _says(f"page: {name}", make)


PAGES = [
    _page("null origin", "Origin: null"),
    _page("origin", "Origin: https://evil.example"),
    _page("empty origin", "Origin:"),
    _page("origin of another port", "Origin: http://127.0.0.1:1"),
    _page("two origins", "Origin: http://{host}", "Origin: https://evil.example"),
    _page("rebound name", host="evil.example"),
    _page("rebound name that begins right", host="127.0.0.1.evil.example"),
    _page("any address", host="0.0.0.0"),
    _page("no Host", host=""),
    _page("two Hosts", "Host: evil.example"),
    _page("site", "Sec-Fetch-Site: cross-site"),
    _page("same origin", "Sec-Fetch-Site: same-origin"),
    _page("typed address", "Sec-Fetch-Site: none", "Sec-Fetch-User: ?1"),
    _page("mode", "Sec-Fetch-Mode: no-cors"),
    _page("WebSocket", "Sec-Fetch-Mode: websocket", "Sec-Fetch-Dest: websocket"),
    _page("two modes", "Sec-Fetch-Mode: cors", "sec-fetch-mode: navigate"),
    _page("image", "Sec-Fetch-Dest: image"),
    _says(
        "page: preflight",
        lambda door: door.request(
            "Origin: https://evil.example",
            "Access-Control-Request-Method: POST",
            f"Access-Control-Request-Headers: {door.header}",
            "Access-Control-Request-Private-Network: true",
            method="OPTIONS",
        ),
    ),
]


async def knock(door: Door, attempt: Attempt) -> Outcome:
    """Run an attempt and wait for the end of its connection, which it does not bring about."""
    reader, writer = await door.connect()
    line = Line(writer)
    begun_s = time.monotonic()

    async def talk() -> None:
        with contextlib.suppress(ConnectionError, OSError):
            await attempt.run(door, line)

    talking = asyncio.ensure_future(talk())
    answer = b""
    try:
        async with asyncio.timeout(GIVE_UP_S):
            async for data in _read(reader):
                answer += data
            ended_s = time.monotonic()
    except TimeoutError:
        ended_s = begun_s + GIVE_UP_S
    talking.cancel()
    await asyncio.gather(talking, return_exceptions=True)
    writer.transport.abort()
    last_s = min(line.last_s, ended_s)
    return Outcome(attempt.name, answer, ended_s - last_s, ended_s - (line.first_s or begun_s))


async def _read(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            yield data
