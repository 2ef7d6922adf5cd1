"""Who is let in by the WebSocket server, and what happens to everybody else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.frames import Frame, Opcode

from agent_ide.errors import ServeError
from agent_ide.transports.door import TOGETHER_BYTES
from agent_ide.transports.websocket import Admission, Connection, WebSocketServer, listen

TOKEN = "0123456789abcdef0123456789abcdef"
HEADER = "x-claude-code-ide-authorization"
ADMISSION = Admission(HEADER, TOKEN, subprotocol="mcp")


async def echo(connection: Connection) -> None:
    async for message in connection.receive():
        data = message if isinstance(message, bytes) else message.encode()
        await connection.send(data)


@pytest.fixture
async def server() -> AsyncIterator[WebSocketServer]:
    it = await listen(echo, ADMISSION, range(10000, 65536))
    yield it
    await it.close()


def url(server: WebSocketServer) -> str:
    return f"ws://127.0.0.1:{server.port}"


def upgrade(server: WebSocketServer, *headers: str, host: str | None = None) -> bytes:
    lines = [
        "GET / HTTP/1.1",
        f"Host: {host or f'127.0.0.1:{server.port}'}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: mcp",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def raw(server: WebSocketServer, data: bytes) -> bytes:
    """Everything the server says until it closes; bounded by a second after the last byte."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    async with asyncio.timeout(1.0):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_admitted(server: WebSocketServer) -> None:
    async with connect(
        url(server), additional_headers={HEADER: TOKEN}, subprotocols=["mcp"]
    ) as client:
        assert client.subprotocol == "mcp"
        await client.send("é")
        assert await client.recv() == "é"
        await client.send(b"\xc3\xa9")
        assert await client.recv() == "é", "text frames go out, whatever came in"


async def test_port_is_of_the_range(server: WebSocketServer) -> None:
    assert 10000 <= server.port <= 65535


async def test_no_subprotocol_asked(server: WebSocketServer) -> None:
    async with connect(url(server), additional_headers={HEADER: TOKEN}) as client:
        assert client.subprotocol is None


async def test_no_compression(server: WebSocketServer) -> None:
    async with connect(
        url(server), additional_headers={HEADER: TOKEN}, compression="deflate"
    ) as client:
        assert client.response is not None
        assert "Sec-WebSocket-Extensions" not in client.response.headers


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [f"{HEADER}: "],
        [f"{HEADER}: {TOKEN[:-1]}"],
        [f"{HEADER}: {TOKEN}0"],
        [f"{HEADER}: {TOKEN}{TOKEN}"],
        [f"{HEADER}: {TOKEN.upper()}"],
        [f"{HEADER}: {TOKEN}", f"{HEADER}: {TOKEN}"],
        [f"{HEADER}: {TOKEN}, {TOKEN}"],
        [f"{HEADER}: \xe9"],
        [f"Authorization: Bearer {TOKEN}"],
        [f"Cookie: {HEADER}={TOKEN}"],
    ],
    ids=lambda headers: " ".join(headers)[:60] or "none",
)
async def test_wrong_token(server: WebSocketServer, headers: list[str]) -> None:
    answer = await raw(server, upgrade(server, *headers))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert len(answer) < 512
    assert b"Server:" not in answer


async def test_token_in_the_url(server: WebSocketServer) -> None:
    answer = await raw(server, f"GET /?token={TOKEN} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("origin", ["http://localhost", "null", "https://evil.example", ""])
async def test_web_page(server: WebSocketServer, origin: str) -> None:
    answer = await raw(server, upgrade(server, f"{HEADER}: {TOKEN}", f"Origin: {origin}"))
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}"])
async def test_foreign_host(server: WebSocketServer, host: str) -> None:
    foreign = host.format(port=server.port)
    answer = await raw(server, upgrade(server, f"{HEADER}: {TOKEN}", host=foreign))
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET " + b"/" * 20_000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
    ],
    ids=["empty", "bare", "post", "tls", "long line", "many headers"],
)
async def test_port_scan(server: WebSocketServer, data: bytes) -> None:
    answer = await raw(server, data)
    assert b" 101 " not in answer
    assert len(answer) < 1024
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


async def test_probe_without_a_byte(server: WebSocketServer) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.close()
    await writer.wait_closed()
    async with connect(url(server), additional_headers={HEADER: TOKEN}) as client:
        await client.send("still here")
        assert await client.recv() == "still here"


async def test_without_token_by_the_library(server: WebSocketServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(url(server))
    assert refused.value.response.status_code == 401


async def test_taken_port_is_an_error_and_a_range_goes_on(server: WebSocketServer) -> None:
    with pytest.raises(ServeError):
        await listen(echo, ADMISSION, server.port)
    with pytest.raises(ServeError):
        await listen(echo, ADMISSION, range(server.port, server.port + 1))


async def test_same_port_again_at_once() -> None:
    first = await listen(echo, ADMISSION, range(10000, 65536))
    async with connect(url(first), additional_headers={HEADER: TOKEN}) as client:
        await client.send("a")
        await client.recv()
        await first.close()
    second = await listen(echo, ADMISSION, first.port)
    assert second.port == first.port
    await second.close()


async def test_connections_end_with_the_server() -> None:
    server = await listen(echo, ADMISSION, range(10000, 65536))
    async with connect(url(server), additional_headers={HEADER: TOKEN}) as client:
        await server.close()
        async with asyncio.timeout(2.0):
            await client.wait_closed()
        assert client.protocol.close_code == 1001
    with pytest.raises((OSError, InvalidHandshake)):
        await connect(url(server), additional_headers={HEADER: TOKEN})


async def test_only_loopback(server: WebSocketServer) -> None:
    names = [sock.getsockname()[0] for sock in server._server.sockets]
    assert names == ["127.0.0.1"]


async def test_no_message_waits_for_the_one_before(server: WebSocketServer) -> None:
    """Nagle's algorithm would hold the second of two small ones back for 40 ms."""
    async with connect(url(server), additional_headers={HEADER: TOKEN}):
        (connection,) = server._server.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def frames(*messages: str) -> bytes:
    """Messages of a client, framed, to be written at once."""
    return b"".join(
        Frame(Opcode.TEXT, message.encode()).serialize(mask=True) for message in messages
    )


async def echo_words(connection: Connection) -> None:
    """What is no word has no answer."""
    async for message in connection.receive():
        if message.isalpha():
            await connection.send(message)


@pytest.mark.parametrize("last", ["z", "1"], ids=["answered", "without an answer"])
async def test_answers_to_many_messages_at_once_come_in_order(last: str) -> None:
    """They may share a write; none waits for one more message."""
    server = await listen(echo_words, ADMISSION, range(10000, 65536))
    sizes = [1, 2, TOGETHER_BYTES - 1, 3, TOGETHER_BYTES + 1, *([5] * 500), 300_000, 1, 1]
    words = ["abc"[number % 3] * size for number, size in enumerate(sizes)]
    async with connect(
        url(server), additional_headers={HEADER: TOKEN}, subprotocols=["mcp"], compression=None
    ) as client:
        client.transport.write(frames(*words, "2", last))
        async with asyncio.timeout(10):
            answers = [await client.recv() for _ in words]
        assert answers == words
        if last.isalpha():
            assert await client.recv() == last
        client.transport.write(frames("a"))
        assert await client.recv() == "a"
    await server.close()
