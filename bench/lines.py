"""Clients that cost next to nothing, so that what is measured is the server: requests are framed
before they are timed, answers are read with as little Python as can be.

Owns:     one connection of Claude's protocol (WebSocket) or Copilot's (HTTP); its greeting.
Not here: what is asked, what is measured; the scripted CLI for everything else (editor.py).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["HttpLine", "Line", "WebSocketLine", "greet", "request", "tool_call"]

CLAUDE_HEADER = "x-claude-code-ide-authorization"

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}

CLOSE_FRAME = b"\x88\x82\0\0\0\0\x03\xe8"

LONG_LINE = 64 * 1024 * 1024


def request(number: int, method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """A request's JSON."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
    return json.dumps(message).encode()


def tool_call(number: int, tool: str, **arguments: Any) -> bytes:
    return request(number, "tools/call", {"name": tool, "arguments": arguments})


class Line(Protocol):
    """One connection; what is written is answered in any order."""

    def framed(self, message: bytes) -> bytes:
        """A message as it goes over the wire."""

    def write(self, framed: bytes) -> None: ...

    async def answer(self) -> bytes:
        """The JSON of the next answer; what the server says unasked is passed over.

        Raises:
            ConnectionError: the server has closed.
        """

    def close(self) -> None: ...


async def greet(line: Line) -> Any:
    """Begin an MCP session: the result of `initialize`."""
    line.write(line.framed(request(0, "initialize", INITIALIZE)))
    answer = json.loads(await line.answer())
    line.write(line.framed(b'{"jsonrpc":"2.0","method":"notifications/initialized"}'))
    return answer.get("result")


class WebSocketLine:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def dial(cls, port: int, headers: Mapping[str, str]) -> WebSocketLine:
        """Raises ConnectionError: the server does not want it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=LONG_LINE)
        lines = [
            "GET / HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: mcp",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        status = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0]
        if b" 101 " not in status:
            writer.close()
            raise ConnectionError(f"the server answers {status.decode('latin-1')}")
        return cls(reader, writer)

    def framed(self, message: bytes) -> bytes:
        return text_frame(message)

    def write(self, framed: bytes) -> None:
        self._writer.write(framed)

    async def answer(self) -> bytes:
        while True:
            payload = await self._message()
            if payload[:1] == b"{" and b'"id"' in payload and b'"method"' not in payload[:60]:
                return payload

    async def _message(self) -> bytes:
        whole = b""
        while True:
            is_last, payload = await self._frame()
            if is_last and not whole:
                return payload
            whole += payload
            if is_last:
                return whole

    async def _frame(self) -> tuple[bool, bytes]:
        try:
            kind, length = await self._reader.readexactly(2)
            if length == 126:
                length = int.from_bytes(await self._reader.readexactly(2))
            elif length == 127:
                length = int.from_bytes(await self._reader.readexactly(8))
            payload = await self._reader.readexactly(length)
        except asyncio.IncompleteReadError:
            raise ConnectionError("the server has closed") from None
        if kind == 0x88:
            raise ConnectionError(f"the server closes: {payload!r}")
        return kind & 0x80 != 0, payload

    def close(self) -> None:
        self._writer.write(CLOSE_FRAME)
        self._writer.close()


def text_frame(message: bytes) -> bytes:
    """One text frame of a client; a mask of zeros leaves the text as it is."""
    if len(message) < 126:
        length = bytes([0x80 | len(message)])
    elif len(message) < 1 << 16:
        length = b"\xfe" + len(message).to_bytes(2)
    else:
        length = b"\xff" + len(message).to_bytes(8)
    return b"\x81" + length + b"\0\0\0\0" + message


class HttpLine:
    """MCP over HTTP on a unix socket, one connection that is kept."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        headers: Mapping[str, str],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._headers = dict(headers)
        self._path = ""
        self._pushes: asyncio.StreamWriter | None = None

    @classmethod
    async def dial(cls, path: str, headers: Mapping[str, str]) -> HttpLine:
        line = cls(*await asyncio.open_unix_connection(path, limit=LONG_LINE), headers)
        line._path = path
        return line

    def _head(self, method: str, *more: str) -> bytes:
        lines = [
            f"{method} /mcp HTTP/1.1",
            "Host: localhost",
            "Accept: application/json, text/event-stream",
            *more,
            *(f"{name}: {value}" for name, value in self._headers.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def framed(self, message: bytes) -> bytes:
        length = f"Content-Length: {len(message)}"
        return self._head("POST", "Content-Type: application/json", length) + message

    async def listen(self) -> None:
        """Open the push stream, on a connection of its own; nothing of it is read."""
        reader, self._pushes = await asyncio.open_unix_connection(self._path)
        self._pushes.write(self._head("GET"))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise ConnectionError(f"no push stream: {head[:30]!r}")

    def write(self, framed: bytes) -> None:
        self._writer.write(framed)

    async def answer(self) -> bytes:
        while True:
            body = await self._body()
            if body:
                return body.partition(b"data: ")[2].rstrip() if body[:1] == b"e" else body

    async def _body(self) -> bytes:
        """Of the next response; empty for a notification's."""
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        except asyncio.IncompleteReadError:
            raise ConnectionError("the server has closed") from None
        status = head[9:12]
        if status not in (b"200", b"202"):
            raise ConnectionError(f"the server answers {head.split()[1:2]}")
        if b"mcp-session-id: " in head and "mcp-session-id" not in self._headers:
            value = head.partition(b"mcp-session-id: ")[2].partition(b"\r\n")[0]
            self._headers["mcp-session-id"] = value.decode()
        body = b""
        if b"transfer-encoding: chunked" in head:
            while length := int(await self._reader.readline(), 16):
                body += (await self._reader.readexactly(length + 2))[:-2]
            await self._reader.readexactly(2)
        else:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await self._reader.readexactly(length)
        return body if status == b"200" else b""

    def close(self) -> None:
        """End the session as a CLI does that exits."""
        if "mcp-session-id" in self._headers:
            self._writer.write(self._head("DELETE"))
        self._writer.close()
        if self._pushes is not None:
            self._pushes.close()
