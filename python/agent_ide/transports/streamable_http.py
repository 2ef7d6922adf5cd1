"""MCP's Streamable HTTP: admission, POST, the push stream, DELETE; bodies in, bodies out.

Owns:     the listening socket, who is let in, framing of events, the limits of size and time.
Not here: methods and tools (protocols/*/session.py), the lock file (lockfile.py), how long
          somebody may stay who was not let in (strangers.py).
Above:    protocols/*/serve.py gives an `Admission` and a `Service` whose sessions answer.
Source:   MCP 2025-11-25, "Streamable HTTP"; HTTP/1.1 through aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from agent_ide.errors import RpcError, ServeError
from agent_ide.transports import lockfile
from agent_ide.transports.strangers import AT_ONCE, WAITING, Strangers, is_from_browser
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import REVISIONS, Exchange

__all__ = [
    "MAX_UNIX_PATH_BYTES",
    "Admission",
    "HttpServer",
    "Service",
    "Session",
    "listen_pipe",
    "listen_tcp",
    "listen_unix",
]

logger = logging.getLogger(__name__)

SESSION_HEADER = "mcp-session-id"
REVISION_HEADER = "mcp-protocol-version"
PATHS = frozenset({"/", "/mcp"})

HEARTBEAT_S = 15.0
"""A comment goes out on a silent push stream this often, so that a dead peer is found."""

BODY_S = 30.0
"""How long a body may take to come in."""

LINGER_S = 0.5
"""How long a refused body is still read: a close at once could take the answer away with it."""

AT_ONCE_S = 0.05
"""What is answered by then goes out in one write, head and all: three writes take twice as long
(doc/decisions/010). Later the head goes ahead, so that no client thinks that nothing comes."""

SERVED_BY = {"Server": "agent_ide"}
"""In place of aiohttp's own header, which tells every version."""

EVENT_HEADERS = {"Cache-Control": "no-cache"}

MAX_UNIX_PATH_BYTES = 103
"""sizeof(sun_path) - 1 of the strictest platform (macOS; Linux has 107)."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Who is let in: whose Authorization is one of `authorizations`, once and exactly.

    hosts: values of Host that are ours; any Origin is refused unless it is `http://` + one of them.
    """

    authorizations: tuple[str, ...]
    hosts: frozenset[str]

    def refusal(self, request: web.BaseRequest) -> int | None:
        """The status to refuse with; looked at before the body, the tokens in constant time."""
        given = request.headers.getall("Authorization", [])
        if len(given) != 1 or not self._admits(given[0]):
            return 401
        origins = {f"http://{host}" for host in self.hosts}
        if request.headers.getall("Host", []) not in [[host] for host in self.hosts]:
            return 403
        if any(origin not in origins for origin in request.headers.getall("Origin", [])):
            return 403
        if not request.raw_path.startswith(("/", *(f"{origin}/" for origin in origins))):
            return 403  # a whole URL as target counts more than Host does
        return 403 if is_from_browser(request.headers.items()) else None

    def _admits(self, given: str) -> bool:
        said = given.encode("utf-8", "replace")
        # compared with every one, whichever it is
        right = [hmac.compare_digest(said, wanted.encode()) for wanted in self.authorizations]
        return any(right)


class Session(Protocol):
    """One client's session, as the transport sees it."""

    @property
    def id(self) -> str: ...

    def receive(self, body: bytes) -> Exchange:
        """Take one message or batch."""

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


class HttpServer:
    """A listening server; `close` ends it and every connection."""

    def __init__(self, runner: web.ServerRunner, address: str, port: int, path: Path | None):
        self._runner = runner
        self.address = address
        self.port = port
        self.path = path

    async def close(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)
        await self._runner.cleanup()


async def listen_unix(
    service: Service, admission: Admission, path: Path, max_body_bytes: int
) -> HttpServer:
    """Serve on a unix socket that nobody else can open from its first moment.

    Raises:
        ServeError: the path is too long, taken, or cannot be made.
    """
    if len(os.fsencode(path)) > MAX_UNIX_PATH_BYTES:
        raise ServeError(f"{path} is too long for a socket ({MAX_UNIX_PATH_BYTES} bytes at most)")
    # first: a host that is killed has hardly a moment in which its socket would stay for ever
    runner = await _run(service, admission, max_body_bytes)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old_umask = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    except OSError as error:
        listener.close()
        await runner.cleanup()
        raise ServeError(f"{path} cannot be listened on: {error.strerror}") from error
    finally:
        os.umask(old_umask)
    try:
        await _accept(runner, listener)
    except BaseException:
        lockfile.remove(path)  # Neovim ends meanwhile: nobody else knows of it
        raise
    return HttpServer(runner, str(path), 0, path)


async def listen_pipe(
    service: Service, admission: Admission, name: str, max_body_bytes: int
) -> HttpServer:
    """Serve on a Windows named pipe. Untried: it needs Windows' proactor loop."""
    runner = await _run(service, admission, max_body_bytes)
    await web.NamedPipeSite(runner, name).start()
    return HttpServer(runner, name, 0, None)


async def listen_tcp(
    service: Service,
    admission: Callable[[int], Admission],
    max_body_bytes: int,
    port: int = 0,
) -> HttpServer:
    """Serve on loopback, on a free port unless one is named.

    Args:
        admission: made once the port is known, since Host names it.

    Raises:
        ServeError: the port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise ServeError(f"port {port} cannot be listened on: {error.strerror}") from error
    bound = listener.getsockname()[1]
    runner = await _run(service, admission(bound), max_body_bytes)
    await _accept(runner, listener)
    return HttpServer(runner, f"127.0.0.1:{bound}", bound, None)


async def _accept(runner: web.ServerRunner, listener: socket.socket) -> None:
    await web.SockSite(runner, listener, backlog=AT_ONCE).start()
    listener.listen(WAITING)


async def _run(service: Service, admission: Admission, max_body_bytes: int) -> web.ServerRunner:
    strangers = Strangers()
    server = _Server(_Endpoint(service, admission, strangers, max_body_bytes).handle, strangers)
    # without a runner's signal handlers: they are Neovim's business
    runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.5)
    await runner.setup()
    return runner


class _Server(web.Server):
    """aiohttp's server with our connections."""

    def __init__(
        self,
        handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        strangers: Strangers,
    ) -> None:
        super().__init__(handle, handler_cancellation=True)
        self._strangers = strangers

    async def shutdown(self, timeout: float | None = None) -> None:
        self._strangers.close()
        await super().shutdown(timeout)

    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self._strangers,
            self,
            loop=asyncio.get_running_loop(),
            access_log=None,
            logger=logger.getChild("library"),
            keepalive_timeout=3600.0,
            auto_decompress=False,
            lingering_time=LINGER_S,
        )


class _Connection(web.RequestHandler):
    """aiohttp's connection; its own answers tell a peer neither versions nor reasons."""

    __slots__ = ("_peer", "_strangers")

    def __init__(self, strangers: Strangers, manager: _Server, **options: Any) -> None:
        super().__init__(manager, **options)
        self._strangers = strangers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # aiohttp's own `transport` is None as soon as it closes, before the peer is gone
        self._peer = cast(asyncio.Transport, transport)
        self._strangers.arrived(self._peer)

    def data_received(self, data: bytes) -> None:
        self._strangers.heard(self._peer)
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._strangers.forget(self._peer)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if isinstance(exc, ConnectionError):
            raise exc  # the peer has gone: aiohttp ends the connection without a word
        if status == 500:
            logger.error("! a request failed", exc_info=exc)
        else:
            logger.debug("! refused with %d: %s", status, type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; only the connection's end can tell more")
        return _refused(status)


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
            return _refused(refusal)
        if request.transport is not None:
            self._strangers.forget(request.transport)
        if request.path not in PATHS:
            return _refused(404)
        unfit = _unfit(request)
        if unfit is not None:
            return _refused(unfit)
        match request.method:
            case "POST":
                return await self._post(request)
            case "GET":
                return await self._get(request)
            case "DELETE":
                return await self._delete(request)
        return _refused(405, {"Allow": "POST, GET, DELETE"})

    async def _post(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            # most have come with their head; a deadline has its price
            async with asyncio.timeout(None if request.content.is_eof() else BODY_S):
                body = await self._read(request)
        except TimeoutError:
            return _refused(408)
        except (HttpProcessingError, web.RequestPayloadError):
            return _refused(400)  # framing that makes no sense
        if body is None:
            return _refused(413)
        if request.headers.get(SESSION_HEADER):
            session = self._named(request)
            if isinstance(session, int):
                return _refused(session)
        else:
            opened = self._service.open(request.headers, body)
            if isinstance(opened, RpcError):
                request_id = jsonrpc.id_of(jsonrpc.parse(body))
                return _json(jsonrpc.encode_error(request_id, opened), status=400)
            session = opened
        return await self._exchange(request, session, body)

    async def _exchange(
        self, request: web.BaseRequest, session: Session, body: bytes
    ) -> web.StreamResponse:
        exchange = session.receive(body)
        headers = {SESSION_HEADER: session.id}
        reply = exchange.ready()
        if exchange.malformed:
            return _json(reply or b"", status=400)
        if reply is None and not exchange.calls:
            return _accepted(headers)
        as_event = _takes_events(request)
        if not exchange.calls:
            return _reply(reply, as_event, headers)
        answering = asyncio.ensure_future(session.answer(exchange))
        try:
            if not answering.done():
                await asyncio.wait({answering}, timeout=AT_ONCE_S if as_event else None)
            if answering.done():
                return _reply(answering.result(), as_event, headers)
            response = await _event_stream(request, {**headers, **EVENT_HEADERS})
            reply = await answering
        finally:
            # still running when the client's connection is lost
            answering.cancel()
        await response.write_eof(b"" if reply is None else _event(reply))
        return response

    async def _get(self, request: web.BaseRequest) -> web.StreamResponse:
        session = self._named(request)
        if isinstance(session, int):
            return _refused(session)
        response = await _event_stream(
            request,
            {
                SESSION_HEADER: session.id,
                "Cache-Control": "no-cache, no-transform",
                "Connection": "keep-alive",
            },
        )
        async with contextlib.aclosing(_with_heartbeat(session.pushes())) as chunks:
            async for chunk in chunks:
                await response.write(chunk)
        await response.write_eof()
        return response

    async def _delete(self, request: web.BaseRequest) -> web.StreamResponse:
        session = self._named(request)
        if isinstance(session, int):
            return _refused(session)
        self._service.close(session)
        return _refused(200)

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


def _refused(status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer without a body, which tells a scan nothing; the connection ends with it."""
    response = web.Response(status=status, headers={**SERVED_BY, **(headers or {})})
    response.force_close()
    return response


def _accepted(headers: Mapping[str, str]) -> web.Response:
    return web.Response(status=202, text="Accepted", headers={**SERVED_BY, **headers})


def _reply(reply: bytes | None, as_event: bool, headers: Mapping[str, str]) -> web.Response:
    """A whole answer; None: the client has said that it wants none any more."""
    if not as_event:
        return _json(reply, headers=headers) if reply is not None else _accepted(headers)
    response = web.Response(
        body=_event(reply) if reply is not None else b"",
        headers={**SERVED_BY, **headers, **EVENT_HEADERS, "Content-Type": "text/event-stream"},
    )
    # as a stream that takes its time
    response.enable_chunked_encoding()
    return response


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        body=body,
        status=status,
        content_type="application/json",
        headers={**SERVED_BY, **(headers or {})},
    )


async def _event_stream(request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={**SERVED_BY, **headers, "Content-Type": "text/event-stream"}
    )
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


def _event(message: bytes) -> bytes:
    # JSON has no raw line break: one data line is the whole message
    return b"event: message\ndata: " + message + b"\n\n"


async def _with_heartbeat(messages: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Events, and a comment whenever nothing was said for a while."""
    upcoming = asyncio.ensure_future(anext(messages, None))
    try:
        while True:
            done, _ = await asyncio.wait({upcoming}, timeout=HEARTBEAT_S)
            if not done:
                yield b": \n\n"
                continue
            message = upcoming.result()
            if message is None:
                return
            yield _event(message)
            upcoming = asyncio.ensure_future(anext(messages, None))
    finally:
        upcoming.cancel()
        await asyncio.gather(upcoming, return_exceptions=True)
        await messages.aclose()
