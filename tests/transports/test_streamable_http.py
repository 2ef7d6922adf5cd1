"""Streamable HTTP at byte level, on a unix socket and on loopback, with sessions that echo."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_ide.errors import RpcError, ServeError
from agent_ide.transports import http_answers, http_server
from agent_ide.transports import streamable_http as http
from agent_ide.transports.pushes import Pushes
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import Exchange, McpSession, Message, ToolResult
from agent_ide.wire.toolspec import ToolSet, ToolSpec
from tests.support.eventually import eventually
from tests.transports.http import Answer, Wire, dial

TOKEN = "Nonce 00000002-0000-4000-8000-000000000002"
LIMIT = 64 * 1024


class EchoArguments(msgspec.Struct, frozen=True):
    text: str


TOOLS = ToolSet([ToolSpec("echo", "", EchoArguments), ToolSpec("wait", "", EchoArguments)])


class EchoSession:
    """Tools that say what they are told, at once or when `answered` is set."""

    def __init__(self, number: int) -> None:
        self.id = f"session-{number}"
        self.mcp = McpSession(TOOLS, {"name": "echo"}, {"tools": {}})
        self.pushed = Pushes(0.05, lambda: None)
        self.answered = asyncio.Event()
        self.waiting = 0
        self.lost = 0

    def read(self, body: bytes) -> Message:
        return self.mcp.read(body)

    def receive(self, message: Message) -> Exchange:
        return self.mcp.receive(message)

    async def answer(self, exchange: Exchange) -> bytes | None:
        reply = None
        for call in exchange.calls:
            if call.spec.name == "wait":
                await self._wait()
            text = getattr(call.arguments, "text")  # noqa: B009 - a Struct's field to mypy
            reply = exchange.answer(call, ToolResult.of_text(text))
        return reply

    async def _wait(self) -> None:
        self.waiting += 1
        try:
            await self.answered.wait()
        except asyncio.CancelledError:
            self.lost += 1
            raise
        finally:
            self.waiting -= 1

    def pushes(self) -> AsyncGenerator[bytes]:
        return self.pushed.stream()


class EchoService:
    def __init__(self) -> None:
        self.sessions: dict[str, EchoSession] = {}

    def find(self, session_id: str) -> EchoSession | None:
        return self.sessions.get(session_id)

    def open(self, _headers: Mapping[str, str], body: bytes) -> EchoSession | RpcError:
        match jsonrpc.parse(body):
            case jsonrpc.Malformed(_, error):
                return error
            case jsonrpc.Request(_, "initialize"):
                session = EchoSession(len(self.sessions) + 1)
                self.sessions[session.id] = session
                return session
            case jsonrpc.Request(_, method):
                return RpcError.method_not_found(method)
        return RpcError.invalid_request("initialize comes first")

    def close(self, session: http.Session) -> None:
        self.sessions.pop(session.id).pushed.end()


class Bench:
    """A server, and requests to it."""

    def __init__(self, service: EchoService, server: http.HttpServer, host: str) -> None:
        self.service, self.server, self.host = service, server, host
        self.wires: list[Wire] = []

    async def dial(self) -> Wire:
        wire = await dial(self.server.address)
        self.wires.append(wire)
        return wire

    def head(self, method: str, *headers: str, path: str = "/mcp") -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", f"Authorization: {TOKEN}"]
        return "\r\n".join([*lines, *headers, "", ""]).encode()

    def post(self, body: Any, *headers: str) -> bytes:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.head("POST", f"Content-Length: {len(data)}", *headers) + data

    def chunked(self, body: Any, *headers: str, size: int = 7) -> bytes:
        data = json.dumps(body).encode()
        chunks = [data[at : at + size] for at in range(0, len(data), size)] + [b""]
        framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
        return self.head("POST", "Transfer-Encoding: chunked", *headers) + framed

    async def ask(self, data: bytes) -> Answer:
        wire = await self.dial()
        wire.write(data)
        return await wire.answer()

    async def begin(self, revision: str = "2025-11-25") -> EchoSession:
        await self.ask(self.post(initialize(revision)))
        return list(self.service.sessions.values())[-1]

    async def stream(self, session: EchoSession) -> Wire:
        wire = await self.dial()
        wire.write(self.head("GET", named(session), "Accept: text/event-stream"))
        status, _ = await wire.head()
        assert status == 200
        await eventually(lambda: session.pushed.open)
        return wire


def initialize(revision: str = "2025-11-25") -> Any:
    return request("initialize", protocolVersion=revision, capabilities={}, clientInfo={})


def request(method: str, request_id: Any = 1, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def call(tool: str, text: str = "é", request_id: Any = 1) -> Any:
    return request("tools/call", request_id, name=tool, arguments={"text": text})


def named(session: EchoSession) -> str:
    return f"Mcp-Session-Id: {session.id}"


def text_of(message: Any) -> str:
    text: str = message["result"]["content"][0]["text"]
    return text


@pytest.fixture(params=["unix", "tcp"])
async def bench(
    request: pytest.FixtureRequest, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bench]:
    # most tests wait for a refused connection to end
    monkeypatch.setattr(http_server, "LINGER_S", 0.05)
    service = EchoService()
    if request.param == "unix":
        admission = http.Admission((TOKEN,), frozenset({"localhost"}))
        server = await http.listen_unix(service, admission, short_folder / "s", LIMIT)
        it = Bench(service, server, "localhost")
    else:
        server = await http.listen_tcp(
            service, lambda port: http.Admission((TOKEN,), frozenset({f"127.0.0.1:{port}"})), LIMIT
        )
        it = Bench(service, server, server.address)
    yield it
    for wire in it.wires:
        await wire.close()
    await server.close()


# -- who is let in ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        [],
        ["Authorization: "],
        [f"Authorization: {TOKEN[:-1]}"],
        [f"Authorization: {TOKEN}0"],
        [f"Authorization: {TOKEN.upper()}"],
        [f"Authorization: {TOKEN.removeprefix('Nonce ')}"],
        ["Authorization: Bearer x"],
        [f"Authorization: {TOKEN}", f"Authorization: {TOKEN}"],
        [f"Authorization: {TOKEN}, {TOKEN}"],
        ["Authorization: \xe9"],
        [f"X-Authorization: {TOKEN}"],
        [f"Cookie: Authorization={TOKEN}"],
    ],
    ids=lambda headers: " ".join(headers)[:40] or "none",
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
async def test_wrong_authorization(bench: Bench, method: str, headers: list[str]) -> None:
    lines = [f"{method} /mcp HTTP/1.1", f"Host: {bench.host}", *headers, "Content-Length: 9"]
    wire = await bench.dial()
    # the body never comes: nobody waits for it
    wire.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    answer = await wire.answer()
    assert (answer.status, answer.body) == (401, b"")
    assert await wire.ended(2.0)


@pytest.mark.parametrize(("token", "let_in"), [("a", True), ("b", True), ("c", False)])
async def test_each_of_several_tokens(token: str, let_in: bool) -> None:
    server = await http.listen_tcp(
        EchoService(), lambda _: http.Admission(("a", "b"), frozenset({"localhost"})), LIMIT
    )
    wire = await dial(server.address)
    wire.write(f"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n\r\n".encode())
    # no session is named, which is found only after the token
    assert (await wire.answer()).status == (400 if let_in else 401)
    await wire.close()
    await server.close()


async def test_token_in_the_url(bench: Bench) -> None:
    wire = await bench.dial()
    url = "/mcp?authorization=" + TOKEN.replace(" ", "%20")
    wire.write(f"GET {url} HTTP/1.1\r\nHost: {bench.host}\r\n\r\n".encode())
    assert (await wire.answer()).status == 401


@pytest.mark.parametrize("host", ["evil.example", "localhost:1", "", "localhost.evil.example"])
async def test_foreign_host(bench: Bench, host: str) -> None:
    wire = await bench.dial()
    wire.write(f"GET /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: {TOKEN}\r\n\r\n".encode())
    answer = await wire.answer()
    assert (answer.status, answer.body) == (403, b"")
    assert await wire.ended(2.0)


async def test_two_hosts(bench: Bench) -> None:
    assert (await bench.ask(bench.head("GET", f"Host: {bench.host}"))).status in (400, 403)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://localhost:1"])
async def test_web_page(bench: Bench, origin: str) -> None:
    answer = await bench.ask(bench.head("GET", f"Origin: {origin}"))
    assert (answer.status, answer.body) == (403, b"")


async def test_our_own_origin(bench: Bench) -> None:
    answer = await bench.ask(bench.post(initialize(), f"Origin: http://{bench.host}"))
    assert answer.status == 200


async def test_path_and_method(bench: Bench) -> None:
    session = await bench.begin()
    for path in ("/sse", "/mcp/", "/mcp/x", "//mcp", "/%6dcpx"):
        assert (await bench.ask(bench.head("GET", path=path))).status == 404, path
    for method in ("PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"):
        wire = await bench.dial()
        wire.write(bench.head(method, named(session)))
        status, headers = await wire.head()
        assert (status, headers["allow"]) == (405, "POST, GET, DELETE"), method
    answer = await bench.ask(bench.head("DELETE", named(session), path="/"))
    assert answer.status == 200, "/ is /mcp"


async def test_no_answer_tells_versions(bench: Bench) -> None:
    session = await bench.begin()
    stream = await bench.dial()
    stream.write(bench.head("GET", named(session)))
    heads = [(await stream.head())[1]]
    for data in (
        bench.post(initialize()),
        bench.post({"jsonrpc": "2.0", "method": "x"}, named(session)),
        bench.post(b"?"),
        bench.head("GET"),
        b"GET / HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A" * 10_000 + b": b\r\n\r\n",
    ):
        heads.append((await bench.ask(data)).headers)
    assert {head["server"] for head in heads} == {""}


# -- framing ---------------------------------------------------------------------------------------


async def test_length_and_chunks(bench: Bench) -> None:
    session = await bench.begin()
    for data in (
        bench.post(call("echo"), named(session)),
        bench.chunked(call("echo"), named(session)),
        bench.chunked(call("echo"), named(session), size=1),
    ):
        answer = await bench.ask(data)
        assert [text_of(event) for event in answer.events] == ["é"]


async def test_every_byte_on_its_own(bench: Bench) -> None:
    session = await bench.begin()
    wire = await bench.dial()
    for byte in bench.chunked(call("echo"), named(session)):
        wire.write(bytes([byte]))
        await wire.writer.drain()
        await asyncio.sleep(0)
    assert text_of((await wire.answer()).events[0]) == "é"


async def test_pipelining(bench: Bench) -> None:
    session = await bench.begin()
    wire = await bench.dial()
    messages = [
        bench.post(call("echo", "one", 1), named(session)),
        bench.chunked(call("echo", "two", 2), named(session)),
        bench.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, named(session)),
        bench.post(request("ping", 3), named(session)),
    ]
    wire.write(b"".join(messages))
    answers = [await wire.answer() for _ in messages]
    assert [answer.status for answer in answers] == [200, 200, 202, 200]
    ids = [event["id"] for answer in answers for event in answer.events]
    assert ids == [1, 2, 3]


async def test_connection_is_kept(bench: Bench) -> None:
    session = await bench.begin()
    wire = await bench.dial()
    for number in range(5):
        wire.write(bench.chunked(call("echo", str(number)), named(session)))
        assert text_of((await wire.answer()).events[0]) == str(number)


async def test_too_long_by_its_length(bench: Bench) -> None:
    wire = await bench.dial()
    wire.write(bench.head("POST", f"Content-Length: {LIMIT + 1}"))
    answer = await wire.answer()
    assert (answer.status, answer.body) == (413, b""), "told before a byte of it came"
    assert await wire.ended(2.0)


async def test_too_long_by_its_chunks(bench: Bench) -> None:
    wire = await bench.dial()
    wire.write(bench.head("POST", "Transfer-Encoding: chunked"))
    piece = b"%x\r\n%s\r\n" % (LIMIT // 4, b" " * (LIMIT // 4))
    for _ in range(5):
        wire.write(piece)
    assert (await wire.answer()).status == 413
    assert await wire.ended(2.0)


async def test_limit_is_taken(bench: Bench) -> None:
    session = await bench.begin()
    body = json.dumps(call("echo")).encode().ljust(LIMIT)
    assert (await bench.ask(bench.post(body, named(session)))).status == 200


@pytest.mark.parametrize(
    "framing",
    [
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: -1"],
        ["Content-Length: 5x"],
        ["Content-Length: +5"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding: xchunked"],
        ["Bad Name: 1"],
        ["X: a\0b"],
        [" folded: 1"],
    ],
    ids=lambda framing: ", ".join(framing).replace("\0", "NUL"),
)
async def test_bad_framing(bench: Bench, framing: list[str]) -> None:
    wire = await bench.dial()
    wire.write(bench.head("POST", *framing) + b"5\r\nhello\r\n0\r\n\r\n")
    answer = await wire.answer()
    assert (answer.status, answer.body) == (400, b"")
    assert await wire.ended(2.0)


@pytest.mark.parametrize(
    "chunks", [b"x\r\n{}\r\n", b"2\r\n{}{}\r\n", b"-1\r\n", b"2;" + b"a" * 20_000, b"2\n{}\n0\n\n"]
)
async def test_bad_chunk(bench: Bench, chunks: bytes) -> None:
    session = await bench.begin()
    wire = await bench.dial()
    wire.write(bench.head("POST", "Transfer-Encoding: chunked", named(session)))
    wire.write(chunks + b"\r\n0\r\n\r\n")
    answer = await wire.answer()
    assert (answer.status, answer.body) == (400, b"")
    assert await wire.ended(2.0)


async def test_body_that_does_not_come(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_S", 0.05)
    wire = await bench.dial()
    wire.write(bench.head("POST", "Content-Length: 5") + b"{")
    assert (await wire.answer()).status == 408
    assert await wire.ended(2.0)


async def test_probes_say_nothing_in_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    session = await bench.begin()
    caplog.clear()
    for data in (
        b"",
        b"\r\n",
        b"GET",
        b"\x16\x03\x01\x02\x00",
        bench.head("POST", "Content-Length: 5"),
        bench.head("POST", "Transfer-Encoding: chunked") + b"x\r\n",
        bench.post(call("wait"), named(session)),
        bench.head("GET", named(session)),
    ):
        wire = await dial(bench.server.address)
        wire.write(data)
        await wire.writer.drain()
        await wire.close()
    assert (await bench.ask(bench.post(request("ping"), named(session)))).status == 200
    await eventually(lambda: session.waiting == 0 and not session.pushed.open)
    assert caplog.records == []


async def test_fault_of_ours(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    session = await bench.begin()
    session.receive = None  # type: ignore[method-assign, assignment]
    answer = await bench.ask(bench.post(request("ping"), named(session)))
    assert (answer.status, answer.body) == (500, b"")
    assert "Traceback" in caplog.text, "the log has the reason"


# -- messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"{'a': 1}", b"[1,"])
async def test_not_json(bench: Bench, body: bytes) -> None:
    session = await bench.begin()
    for headers in ([], [named(session)]):
        answer = await bench.ask(bench.post(body, *headers))
        assert answer.status == 400
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["error"]["code"] == -32700
        assert answer.json["id"] is None


@pytest.mark.parametrize("body", [b"1", b"null", b"[]", b"{}", b'{"jsonrpc":"1.0"}'])
async def test_no_message(bench: Bench, body: bytes) -> None:
    session = await bench.begin()
    answer = await bench.ask(bench.post(body, named(session)))
    assert (answer.status, answer.json["error"]["code"]) == (400, -32600)


async def test_unknown_method(bench: Bench) -> None:
    session = await bench.begin()
    answer = await bench.ask(bench.post(request("server/discover"), named(session)))
    assert answer.status == 200
    assert answer.events[0]["error"]["code"] == -32601


async def test_discover_before_a_session(bench: Bench) -> None:
    answer = await bench.ask(bench.post(request("server/discover", 0)))
    assert answer.status == 400
    assert (answer.json["id"], answer.json["error"]["code"]) == (0, -32601)


async def test_session_id(bench: Bench) -> None:
    unknown = "Mcp-Session-Id: session-9"
    for data in (
        bench.post(request("ping"), unknown),
        bench.post(initialize(), unknown),
        bench.head("GET", unknown),
        bench.head("DELETE", unknown),
    ):
        assert (await bench.ask(data)).status == 404
    for data in (
        bench.post(request("ping")),
        bench.post({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        bench.head("GET"),
        bench.head("DELETE"),
    ):
        assert (await bench.ask(data)).status == 400
    assert bench.service.sessions == {}


async def test_revision_header(bench: Bench) -> None:
    session = await bench.begin()
    for revision, status in (("2025-11-25", 200), ("2024-11-05", 200), ("1999-01-01", 400)):
        data = bench.post(request("ping"), named(session), f"mcp-protocol-version: {revision}")
        assert (await bench.ask(data)).status == status


async def test_answer_as_events(bench: Bench) -> None:
    session = await bench.begin()
    for accept in (["Accept: application/json, text/event-stream"], ["Accept: */*"], []):
        answer = await bench.ask(bench.post(request("ping", "a"), named(session), *accept))
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["mcp-session-id"] == session.id
        assert answer.headers["transfer-encoding"] == "chunked"
        expected = b'event: message\ndata: {"jsonrpc":"2.0","id":"a","result":{}}\n\n'
        assert answer.chunks == (expected,)


async def test_answer_as_json(bench: Bench) -> None:
    session = await bench.begin()
    accept = "Accept: application/json"
    for message in (request("ping", 1), call("echo")):
        answer = await bench.ask(bench.post(message, named(session), accept))
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["mcp-session-id"] == session.id
        assert answer.json["id"] == 1


async def test_initialize_names_the_session(bench: Bench) -> None:
    answer = await bench.ask(bench.post(initialize()))
    assert answer.headers["mcp-session-id"] == "session-1"
    assert answer.events[0]["result"]["serverInfo"] == {"name": "echo"}


async def test_what_needs_no_answer(bench: Bench) -> None:
    session = await bench.begin()
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ):
        answer = await bench.ask(bench.post(message, named(session)))
        assert (answer.status, answer.body) == (202, b"Accepted")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_batches_are_of_one_revision(bench: Bench) -> None:
    session = await bench.begin("2025-03-26")
    batch = [call("echo", "a", 1), {"jsonrpc": "2.0", "method": "x"}, request("ping", 2)]
    (replies,) = (await bench.ask(bench.post(batch, named(session)))).events
    assert sorted(reply["id"] for reply in replies) == [1, 2]
    session = await bench.begin("2025-11-25")
    (reply,) = (await bench.ask(bench.post(batch, named(session)))).events
    assert reply["error"]["code"] == -32600
    assert (await bench.ask(bench.post([initialize()]))).status == 400


async def test_calls_run_at_once(bench: Bench) -> None:
    session = await bench.begin()
    slow = await bench.dial()
    slow.write(bench.post(call("wait", "slow", 1), named(session)))
    await eventually(lambda: session.waiting)
    fast = await bench.ask(bench.post(call("echo", "fast", 2), named(session)))
    assert text_of(fast.events[0]) == "fast"
    session.answered.set()
    assert text_of((await slow.answer()).events[0]) == "slow"


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_lost_connection_cancels_its_call(bench: Bench, accept: str) -> None:
    session = await bench.begin()
    wire = await bench.dial()
    wire.write(bench.post(call("wait"), named(session), f"Accept: {accept}"))
    await eventually(lambda: session.waiting)
    await wire.close()
    await eventually(lambda: session.lost)


async def test_delete(bench: Bench) -> None:
    session = await bench.begin()
    stream = await bench.stream(session)
    wire = await bench.dial()
    wire.write(bench.head("DELETE", named(session)))
    answer = await wire.answer()
    assert (answer.status, answer.body) == (200, b"")
    assert await wire.ended(2.0)
    assert await stream.chunk() == b"", "its push stream ends with it"
    assert (await bench.ask(bench.head("DELETE", named(session)))).status == 404


# -- the push stream -------------------------------------------------------------------------------


async def test_headers_of_the_stream(bench: Bench) -> None:
    session = await bench.begin()
    wire = await bench.dial()
    wire.write(bench.head("GET", named(session), "Accept: text/event-stream"))
    status, headers = await wire.head()
    del headers["date"], headers["server"]
    assert status == 200
    assert headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "connection": "keep-alive",
        "mcp-session-id": session.id,
        "transfer-encoding": "chunked",
    }


async def test_one_event_a_chunk(bench: Bench) -> None:
    session = await bench.begin()
    wire = await bench.stream(session)
    for number in range(3):
        session.pushed.post(b'{"n":%d}' % number)
    for number in range(3):
        assert await wire.chunk() == b'event: message\ndata: {"n":%d}\n\n' % number


async def test_silence_is_broken_by_a_comment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_answers, "HEARTBEAT_S", 0.02)
    session = await bench.begin()
    wire = await bench.stream(session)
    assert [await wire.chunk() for _ in range(3)] == [b": \n\n"] * 3
    session.pushed.post(b"{}")
    chunks = [await wire.chunk()]
    while chunks[-1] == b": \n\n":
        chunks.append(await wire.chunk())
    assert chunks[-1] == b"event: message\ndata: {}\n\n", "nothing is lost by it"


async def test_new_stream_replaces_the_old(bench: Bench) -> None:
    session = await bench.begin()
    first = await bench.stream(session)
    second = await bench.stream(session)
    assert await first.chunk() == b""
    session.pushed.post(b"1")
    assert await second.chunk() == b"event: message\ndata: 1\n\n"
    first.write(bench.post(request("ping"), named(session)))
    assert (await first.answer()).status == 200, "its connection goes on"
    assert session.pushed.open


async def test_stream_that_is_lost(bench: Bench) -> None:
    session = await bench.begin()
    await (await bench.stream(session)).close()
    await eventually(lambda: not session.pushed.open)
    session.pushed.post(b"kept")
    wire = await bench.stream(session)
    assert await wire.chunk() == b"event: message\ndata: kept\n\n"


async def test_client_that_does_not_read(bench: Bench) -> None:
    session = await bench.begin()
    await bench.stream(session)
    rendered = 0

    def render() -> bytes:
        nonlocal rendered
        rendered += 1
        return b'"%d %s"' % (rendered, b"x" * 100_000)

    for _ in range(200):
        session.pushed.refresh("state", render)
        session.pushed._next_s.clear()
        await asyncio.sleep(0)
    held = [
        connection.transport.get_write_buffer_size()
        for connection in bench.server._runner.server.connections  # type: ignore[union-attr]
        if connection.transport is not None
    ]
    assert sum(held) < 1_000_000
    assert rendered < 50, "what nobody takes is not even rendered"


async def test_pushes_end_with_the_server(bench: Bench) -> None:
    session = await bench.begin()
    wire = await bench.stream(session)
    async with asyncio.timeout(3):
        await bench.server.close()
    assert await wire.ended() or await wire.chunk() == b""


# -- the socket ------------------------------------------------------------------------------------


async def test_socket_is_private_from_its_first_moment(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    real_bind = socket.socket.bind

    class Watched(socket.socket):
        def bind(self, address: Any) -> None:
            real_bind(self, address)
            modes.append(stat.S_IMODE(os.stat(address).st_mode))

    monkeypatch.setattr(socket, "socket", Watched)
    before = os.umask(0o022)
    try:
        admission = http.Admission((TOKEN,), frozenset({"localhost"}))
        server = await http.listen_unix(EchoService(), admission, short_folder / "s", LIMIT)
        assert os.umask(0o022) == 0o022, "the umask is as it was"
    finally:
        os.umask(before)
    assert modes == [0o600]
    assert stat.S_IMODE((short_folder / "s").stat().st_mode) == 0o600
    await server.close()
    assert not (short_folder / "s").exists()


async def test_paths_that_are_too_long(short_folder: Path) -> None:
    admission = http.Admission((TOKEN,), frozenset({"localhost"}))
    folder = short_folder
    room = http_server.MAX_UNIX_PATH_BYTES - len(os.fsencode(folder)) - 1
    server = await http.listen_unix(EchoService(), admission, folder / ("y" * room), LIMIT)
    await server.close()
    with pytest.raises(ServeError, match="too long"):
        await http.listen_unix(EchoService(), admission, folder / ("y" * (room + 1)), LIMIT)
    with pytest.raises(ServeError, match="too long"):
        await http.listen_unix(EchoService(), admission, folder / ("é" * (room // 2 + 1)), LIMIT)


async def test_paths_that_cannot_be_had(tmp_path: Path) -> None:
    admission = http.Admission((TOKEN,), frozenset({"localhost"}))
    (tmp_path / "taken").write_text("")
    for path in (tmp_path / "taken", tmp_path / "no" / "folder"):
        with pytest.raises(ServeError, match="cannot be listened on"):
            await http.listen_unix(EchoService(), admission, path, LIMIT)
    assert (tmp_path / "taken").is_file(), "it is somebody's"


async def test_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServeError, match=str(port)):
            await http.listen_tcp(
                EchoService(), lambda _: http.Admission((TOKEN,), frozenset()), LIMIT, port
            )
