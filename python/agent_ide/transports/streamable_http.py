"""MCP's Streamable HTTP: admission, POST, the push stream, DELETE; bodies in, bodies out.

Owns:     who is let in, what becomes of each request, the limits of its size and time.
Not here: connections (http_server.py), the form of answers (http_answers.py), methods and tools
          (protocols/*/session.py), the lock file (lockfile.py).
Above:    protocols/*/serve.py gives an `Admission` and a `Service` whose sessions answer.
Source:   MCP 2025-11-25, "Streamable HTTP"; HTTP/1.1 through aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from agent_ide.errors import RpcError
from agent_ide.transports import http_answers as answers
from agent_ide.transports import http_server
from agent_ide.transports.http_server import Handler, HttpServer
from agent_ide.transports.reading import read
from agent_ide.transports.strangers import Strangers, is_from_browser
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import REVISIONS, Exchange, Message

__all__ = [
    "Admission",
    "HttpServer",
    "Service",
    "Session",
    "listen_pipe",
    "listen_tcp",
    "listen_unix",
]

SESSION_HEADER = "mcp-session-id"
REVISION_HEADER = "mcp-protocol-version"
PATHS = frozenset({"/", "/mcp"})

BODY_S = 30.0
"""How long a body may take to come in."""

AT_ONCE_S = 0.05
"""What is answered by then goes out in one write, head and all: three writes take twice as long
(doc/decisions/010). Later the head goes ahead, so that no client thinks that nothing comes."""


class Admission:
    """Who is let in: whose Authorization is one of `authorizations`, once and exactly.

    hosts: values of Host that are ours; any Origin is refused unless it is `http://` + one of them.
    """

    def __init__(self, authorizations: Iterable[str], hosts: Iterable[str]) -> None:
        self._authorizations = [wanted.encode() for wanted in authorizations]
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        # a whole URL as target counts more than Host does
        self._targets = ("/", *(f"{origin}/" for origin in self._origins))

    def refusal(self, request: web.BaseRequest) -> int | None:
        """The status to refuse with; looked at before the body, the tokens in constant time."""
        headers = request.headers
        given = headers.getall("Authorization", [])
        if len(given) != 1 or not self._admits(given[0]):
            return 401
        hosts = headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403
        if not self._origins.issuperset(headers.getall("Origin", [])):
            return 403
        if not request.raw_path.startswith(self._targets):
            return 403
        return 403 if is_from_browser(headers.items()) else None

    def _admits(self, given: str) -> bool:
        said = given.encode("utf-8", "replace")
        # compared with every one, whichever it is
        right = [hmac.compare_digest(said, wanted) for wanted in self._authorizations]
        return any(right)


class Session(Protocol):
    """One client's session, as the transport sees it."""

    @property
    def id(self) -> str: ...

    def read(self, body: bytes) -> Message:
        """What a message or batch says; changes nothing, so that it may run in a thread."""

    def receive(self, message: Message) -> Exchange:
        """Take what it says."""

    def answer(self, exchange: Exchange) -> Awaitable[bytes | None]:
        """Run its calls; the reply. Cancelled when the client's connection is lost."""

    def pushes(self) -> AsyncGenerator[bytes]:
        """Messages for a push stream that has just opened; ends with the session.

        A stream that opens replaces the one before, whose iterator ends.
        """


class Service(Protocol):
    """All sessions of one server."""

    def find(self, session_id: str) -> Session | None: ...

    def open(self, headers: Mapping[str, str], body: bytes) -> Session | RpcError:
        """The session that a message without session id begins, or why it begins none."""

    def close(self, session: Session) -> None:
        """The client has deleted its session."""


async def listen_unix(
    service: Service, admission: Admission, path: Path, max_body_bytes: int
) -> HttpServer:
    """Serve on a unix socket.

    Raises:
        ServeError: the path is too long, taken, or cannot be made.
    """
    strangers = Strangers()
    endpoint = _Endpoint(service, admission, strangers, max_body_bytes)
    return await http_server.on_unix(endpoint.handle, strangers, path)


async def listen_pipe(
    service: Service, admission: Admission, name: str, max_body_bytes: int
) -> HttpServer:
    """Serve on a Windows named pipe."""
    strangers = Strangers()
    endpoint = _Endpoint(service, admission, strangers, max_body_bytes)
    return await http_server.on_pipe(endpoint.handle, strangers, name)


async def listen_tcp(
    service: Service,
    admission: Callable[[int], Admission],
    max_body_bytes: int,
    port: int = 0,
) -> HttpServer:
    """Serve on loopback.

    Args:
        admission: made once the port is known, since Host names it.

    Raises:
        ServeError: the port is taken.
    """
    strangers = Strangers()

    def handler(bound: int) -> Handler:
        return _Endpoint(service, admission(bound), strangers, max_body_bytes).handle

    return await http_server.on_loopback(handler, strangers, port)


class _Endpoint:
    """Handles each request."""

    def __init__(
        self, service: Service, admission: Admission, strangers: Strangers, max_body_bytes: int
    ) -> None:
        self._service = service
        self._admission = admission
        self._strangers = strangers
        self._max_body_bytes = max_body_bytes

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = self._admission.refusal(request)
        if refusal is not None:
            return answers.refused(refusal)
        if request.transport is not None:
            self._strangers.forget(request.transport)
        if request.path not in PATHS:
            return answers.refused(404)
        unfit = _unfit(request)
        if unfit is not None:
            return answers.refused(unfit)
        match request.method:
            case "POST":
                return await self._post(request)
            case "GET":
                return await self._get(request)
            case "DELETE":
                return await self._delete(request)
        return answers.refused(405, {"Allow": "POST, GET, DELETE"})

    async def _post(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if request.content.is_eof():
                # most have come with their head, and a deadline has its price
                body = await self._read(request)
            else:
                async with asyncio.timeout(BODY_S):
                    body = await self._read(request)
        except TimeoutError:
            return answers.refused(408)
        except (HttpProcessingError, web.RequestPayloadError):
            return answers.refused(400)  # framing that makes no sense
        if body is None:
            return answers.refused(413)
        if request.headers.get(SESSION_HEADER):
            session = self._named(request)
            if isinstance(session, int):
                return answers.refused(session)
        else:
            opened = self._service.open(request.headers, body)
            if isinstance(opened, RpcError):
                request_id = jsonrpc.id_of(jsonrpc.parse(body))
                return answers.json_answer(jsonrpc.encode_error(request_id, opened), status=400)
            session = opened
        return await self._exchange(request, session, body)

    async def _exchange(
        self, request: web.BaseRequest, session: Session, body: bytes
    ) -> web.StreamResponse:
        exchange = session.receive(await read(session.read, body))
        headers = {SESSION_HEADER: session.id}
        reply = exchange.ready()
        if exchange.malformed:
            return answers.json_answer(reply or b"", status=400)
        if reply is None and not exchange.calls:
            return answers.accepted(headers)
        as_event = _takes_events(request)
        if not exchange.calls:
            return answers.whole_reply(reply, as_event, headers)
        answering = asyncio.ensure_future(session.answer(exchange))
        try:
            if not answering.done():
                await asyncio.wait({answering}, timeout=AT_ONCE_S if as_event else None)
            if answering.done():
                return answers.whole_reply(answering.result(), as_event, headers)
            response = await answers.event_stream(request, {**headers, **answers.EVENT_HEADERS})
            reply = await answering
        finally:
            # still running when the client's connection is lost
            answering.cancel()
        await response.write_eof(b"" if reply is None else answers.event(reply))
        return response

    async def _get(self, request: web.BaseRequest) -> web.StreamResponse:
        session = self._named(request)
        if isinstance(session, int):
            return answers.refused(session)
        response = await answers.event_stream(
            request,
            {
                SESSION_HEADER: session.id,
                "Cache-Control": "no-cache, no-transform",
                "Connection": "keep-alive",
            },
        )
        async with contextlib.aclosing(answers.with_heartbeat(session.pushes())) as chunks:
            async for chunk in chunks:
                await response.write(chunk)
        await response.write_eof()
        return response

    async def _delete(self, request: web.BaseRequest) -> web.StreamResponse:
        session = self._named(request)
        if isinstance(session, int):
            return answers.refused(session)
        self._service.close(session)
        return answers.refused(200)

    def _named(self, request: web.BaseRequest) -> Session | int:
        """The request's session, or the status to refuse with."""
        session_id = request.headers.get(SESSION_HEADER)
        if not session_id or request.headers.get(REVISION_HEADER, REVISIONS[0]) not in REVISIONS:
            return 400
        return self._service.find(session_id) or 404

    async def _read(self, request: web.BaseRequest) -> bytes | None:
        """The body; None when it is over the limit, whatever its framing says."""
        if (request.content_length or 0) > self._max_body_bytes:
            return None
        if request.headers.get("Expect"):
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # the answer has not begun
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > self._max_body_bytes:
                return None
        return bytes(body)


def _unfit(request: web.BaseRequest) -> int | None:
    """The status for what no client of ours does, and what we could only get wrong."""
    if request.version != HttpVersion11:
        return 505
    if request.headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
        return 501
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        return 415  # so there is no compression bomb either
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        return 417
    return None


def _takes_events(request: web.BaseRequest) -> bool:
    accept = request.headers.get("Accept", "*/*")
    return "text/event-stream" in accept or "*/*" in accept
