"""A WebSocket server on loopback: admission, text in, text out.

Owns:     the listening socket, who is let in, the limits of size and time.
Not here: a connection's frames (door.py), messages (protocols/*/session.py), the lock file
          (lockfile.py), how long somebody may stay who was not let in (strangers.py).
Above:    protocols/*/serve.py gives an `Admission` and a handler for each connection.
Source:   RFC 6455 through the websockets library; its limits are set here and in door.py.
"""

from __future__ import annotations

import asyncio
import hmac
import http
import logging
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from agent_ide.errors import ServeError
from agent_ide.transports.door import Door
from agent_ide.transports.reading import read
from agent_ide.transports.strangers import AT_ONCE, WAITING, Strangers, is_from_browser
from agent_ide.wire.jsonrpc import is_utf8

__all__ = ["Admission", "Connection", "WebSocketServer", "listen"]

logger = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""What a client may send in one message: an edit of the largest file one would review."""

FRAGMENT_BYTES = 256 * 1024
"""The most that goes out in one frame."""

OPEN_TIMEOUT_S = 5.0
"""From the connection to the end of the handshake; strangers have less."""

CLOSE_TIMEOUT_S = 1.0

PORT_TRIES = 50

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Admission:
    """Who is let in: the one whose header `header` holds `token`, once and exactly."""

    header: str
    token: str
    subprotocol: str | None = None

    def admits(self, request: Request) -> bool:
        """Compared in constant time, before anything else of the request is looked at."""
        given = request.headers.get_all(self.header)
        token = self.token.encode()
        right = [hmac.compare_digest(value.encode("utf-8", "replace"), token) for value in given]
        return len(right) == 1 and right[0]


def _fragments(text: bytes) -> bytes | Iterator[memoryview]:
    """A large message goes out in pieces: each is framed and buffered by itself, and between two
    of them others have their turn (doc/decisions/008)."""
    if len(text) <= FRAGMENT_BYTES:
        return text
    whole = memoryview(text)
    return (whole[at : at + FRAGMENT_BYTES] for at in range(0, len(whole), FRAGMENT_BYTES))


class Connection:
    """One admitted peer."""

    def __init__(self, socket: Door) -> None:
        self._socket = socket
        self._sending = asyncio.Lock()

    async def send(self, text: bytes) -> None:
        """One text frame of UTF-8; waits while the peer does not read; a peer gone is no error."""
        try:
            # one at a time: the library would take in all that wait
            async with self._sending:
                await self._socket.send(_fragments(text), text=True)
        except ConnectionClosed:
            logger.debug("> the peer is gone, %d bytes dropped", len(text))

    async def receive(self) -> AsyncIterator[bytes]:
        """Messages until the peer goes, however it goes."""
        try:
            while True:
                yield await self._message()
        except ConnectionClosed as closed:
            logger.debug("= closed: %s", closed)

    async def _message(self) -> bytes:
        while True:
            kind, message = await self._any_message()
            if kind is Opcode.BINARY or await read(is_utf8, message):
                return message
            # the next turn hears that it is closed
            await self._socket.close(CloseCode.INVALID_DATA)

    async def _any_message(self) -> tuple[Opcode, bytes]:
        # not decoded there: that keeps the others waiting, and takes up to four times the memory
        message = await self._socket.recv(decode=False)
        return self._socket.kinds.popleft(), message

    async def close(self) -> None:
        await self._socket.close()


class WebSocketServer:
    """A listening server; `close` ends it and every connection."""

    def __init__(self, server: Server, strangers: Strangers) -> None:
        self._server = server
        self._strangers = strangers
        self.port: int = next(iter(server.sockets)).getsockname()[1]

    async def close(self) -> None:
        self._server.close(close_connections=True)
        self._strangers.close()
        await self._server.wait_closed()


async def listen(
    handler: Callable[[Connection], Awaitable[None]], admission: Admission, ports: range | int
) -> WebSocketServer:
    """Serve on one port, or on a free one of a range.

    Raises:
        ServeError: the port is taken, or no free one was found.
    """
    if isinstance(ports, int):
        candidates = [ports]
    else:
        candidates = random.SystemRandom().sample(ports, min(PORT_TRIES, len(ports)))
    refused: OSError | None = None
    strangers = Strangers()
    for port in candidates:
        try:
            server = await _serve(handler, admission, strangers, port)
            return WebSocketServer(server, strangers)
        except OSError as error:
            refused = error
    raise ServeError(f"no port can be listened on ({refused})")


async def _serve(
    handler: Callable[[Connection], Awaitable[None]],
    admission: Admission,
    strangers: Strangers,
    port: int,
) -> Server:
    async def admitted(socket: ServerConnection) -> None:
        assert isinstance(socket, Door), "create_connection says so"
        await handler(Connection(socket))

    def connection(protocol: ServerProtocol, server: Server, **options: Any) -> Door:
        return Door(strangers, protocol, server, **options)

    def admit(connection: ServerConnection, request: Request) -> Response | None:
        if not admission.admits(request):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "")
        if not _from_here(request, port):
            return connection.respond(http.HTTPStatus.FORBIDDEN, "")
        strangers.forget(connection.transport)
        return None

    def choose(_connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
        return next((item for item in offered if item == admission.subprotocol), None)

    # bound by hand: SO_REUSEADDR on Linux lets the port be taken again at once after a host's end
    # the protocol is named: asyncio sets TCP_NODELAY on such sockets only, and without it the
    # second of two messages waits 40 ms until the first is acknowledged
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        server = await serve(
            admitted,
            sock=listener,
            backlog=AT_ONCE,
            process_request=admit,
            select_subprotocol=choose,
            # loopback gains nothing from compression, and without it there is no compression bomb
            compression=None,
            open_timeout=OPEN_TIMEOUT_S,
            close_timeout=CLOSE_TIMEOUT_S,
            # a stopped CLI or a sleeping laptop is not a dead peer; loopback tells when one dies
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
            server_header=None,
            create_connection=connection,  # type: ignore[arg-type]  # any factory will do
            logger=logger.getChild("library"),
        )
        listener.listen(WAITING)
    except BaseException:
        listener.close()
        raise
    return server


def _from_here(request: Request, port: int) -> bool:
    """No web page: none sends our header, but a browser's marks or a rebound Host say so too."""
    hosts = request.headers.get_all("Host")
    foreign = request.headers.get_all("Origin") or is_from_browser(request.headers.raw_items())
    return hosts in ([f"{LOOPBACK}:{port}"], [f"localhost:{port}"]) and not foreign
