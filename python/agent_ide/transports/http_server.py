"""An HTTP server on a unix socket, a named pipe or loopback: connections in, requests out.

Owns:     the listening socket and its connections, what aiohttp would say by itself.
Not here: requests (streamable_http.py), how long somebody may stay who was not let in
          (strangers.py).
Source:   HTTP/1.1 through aiohttp.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from aiohttp import web

from agent_ide.errors import ServeError
from agent_ide.transports import lockfile
from agent_ide.transports.http_answers import refused
from agent_ide.transports.strangers import AT_ONCE, WAITING, Strangers

__all__ = ["MAX_UNIX_PATH_BYTES", "Handler", "HttpServer", "on_loopback", "on_pipe", "on_unix"]

logger = logging.getLogger(__name__)

LINGER_S = 0.5
"""How long a refused body is still read: a close at once could take the answer away with it."""

MAX_UNIX_PATH_BYTES = 103
"""sizeof(sun_path) - 1 of the strictest platform (macOS; Linux has 107)."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


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


async def on_unix(handle: Handler, strangers: Strangers, path: Path) -> HttpServer:
    """Serve on a unix socket that nobody else can open from its first moment.

    Raises:
        ServeError: the path is too long, taken, or cannot be made.
    """
    if len(os.fsencode(path)) > MAX_UNIX_PATH_BYTES:
        raise ServeError(f"{path} is too long for a socket ({MAX_UNIX_PATH_BYTES} bytes at most)")
    # first: a host that is killed has hardly a moment in which its socket would stay for ever
    runner = await _run(handle, strangers)
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


async def on_pipe(handle: Handler, strangers: Strangers, name: str) -> HttpServer:
    """Serve on a Windows named pipe. Untried: it needs Windows' proactor loop."""
    runner = await _run(handle, strangers)
    await web.NamedPipeSite(runner, name).start()
    return HttpServer(runner, name, 0, None)


async def on_loopback(
    handler: Callable[[int], Handler], strangers: Strangers, port: int = 0
) -> HttpServer:
    """Serve on loopback, on a free port unless one is named.

    Args:
        handler: made once the port is known, since Host names it.

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
    runner = await _run(handler(bound), strangers)
    await _accept(runner, listener)
    return HttpServer(runner, f"127.0.0.1:{bound}", bound, None)


async def _accept(runner: web.ServerRunner, listener: socket.socket) -> None:
    await web.SockSite(runner, listener, backlog=AT_ONCE).start()
    listener.listen(WAITING)


async def _run(handle: Handler, strangers: Strangers) -> web.ServerRunner:
    server = _Server(handle, strangers)
    # without a runner's signal handlers: they are Neovim's business
    runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.5)
    await runner.setup()
    return runner


class _Server(web.Server):
    """aiohttp's server with our connections."""

    def __init__(
        self,
        handle: Handler,
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
        return refused(status)
