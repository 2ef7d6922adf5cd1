"""Raw HTTP/1.1 requests to a real server of ours, right in everything but what a test bends.

Owns:     the two sites (Copilot's unix socket, Gemini's port), an admitted session at each.
Not here: one connection (tests/transports/http.py), what a test bends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ide.protocols.base import ClientStatus
from tests.servers import copilot, gemini
from tests.torture.witness import undisturbed
from tests.transports.http import Answer, Wire, dial

__all__ = ["SITES", "Site", "at", "site"]

SITES = ("copilot", "gemini")

QUIET_S = 0.3
"""So long a server says nothing that has said all: it answers within some milliseconds."""


class Site:
    """A server that speaks HTTP, and one session at it that a test may not lose.

    desk: the server and everything around it.
    """

    def __init__(
        self, desk: copilot.Desk | gemini.Desk, address: str, host: str, authorization: str
    ) -> None:
        self.desk, self.address = desk, address
        self._admission = [f"Host: {host}", f"Authorization: {authorization}"]
        self.session = ""

    def head(
        self, method: str, *headers: str, target: str = "/mcp", version: str = "HTTP/1.1"
    ) -> bytes:
        """The head of a request of our session; `headers` come last."""
        named = [f"Mcp-Session-Id: {self.session}"] if self.session else []
        lines = [f"{method} {target} {version}", *self._admission, *named, *headers, "", ""]
        return "\r\n".join(lines).encode("latin-1")

    def post(self, message: Any, *headers: str, **how: str) -> bytes:
        """A whole request, with a length."""
        body = message if isinstance(message, bytes) else encode(message)
        return self.head("POST", f"Content-Length: {len(body)}", *headers, **how) + body

    def ping(self, request: int = 1) -> bytes:
        return self.post({"id": request, "method": "ping"})

    async def dial(self) -> Wire:
        return await dial(self.address)

    async def answers(self, data: bytes, *, eof: bool = False) -> tuple[list[Answer], bool]:
        """All answers to some bytes, and whether the server has ended the connection."""
        wire = await self.dial()
        wire.write(data)
        if eof:
            wire.writer.write_eof()
        try:
            return await everything(wire)
        finally:
            await wire.close()

    async def status(self, data: bytes) -> int:
        """Of the one answer to some bytes."""
        wire = await self.dial()
        try:
            wire.write(data)
            return (await wire.answer()).status
        finally:
            await wire.close()

    async def serves(self) -> bool:
        """The session is there, and is answered."""
        return await self.status(self.ping()) == 200

    def clients(self) -> list[ClientStatus]:
        if isinstance(self.desk, copilot.Desk):
            return self.desk.server.clients()
        return [client for side in self.desk.sides.values() for client in _of(side)]


def _of(side: Any) -> list[ClientStatus]:
    clients: list[ClientStatus] = side.clients()
    return clients


def encode(message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


async def everything(wire: Wire) -> tuple[list[Answer], bool]:
    """All answers that come, and whether the connection ends after them."""
    found: list[Answer] = []
    while True:
        try:
            async with asyncio.timeout(QUIET_S if found else 5.0):
                # an interim answer (100 Continue) has a head only
                found.append(await wire.answer())
        except TimeoutError:
            return found, False
        except (asyncio.IncompleteReadError, ConnectionError):
            return found, True


@asynccontextmanager
async def site(name: str, folder: Path) -> AsyncIterator[Site]:
    """One of `SITES`, with its session begun; `folder` has a short path."""
    it: Site
    if name == "copilot":
        desk = copilot.Desk(folder)
        await desk.server.start()
        lock = desk.lock()
        it = Site(desk, lock["socketPath"], "localhost", lock["headers"]["Authorization"])
        closing = desk.close
    else:
        companions = gemini.Desk(folder)
        await companions.start()
        said = companions.said("gemini")
        address = f"127.0.0.1:{said['port']}"
        it = Site(companions, address, address, f"Bearer {said['authToken']}")
        closing = companions.close
    try:
        wire = await it.dial()
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
        wire.write(it.post({"id": 0, "method": "initialize", "params": params}))
        it.session = (await wire.answer()).headers["mcp-session-id"]
        await wire.close()
        yield it
    finally:
        with contextlib.suppress(ConnectionError):
            await closing()


@pytest.fixture(params=SITES)
async def at(
    request: pytest.FixtureRequest, short_folder: Path, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Site]:
    async with site(request.param, short_folder) as it:
        async with undisturbed(caplog):
            yield it
            assert await it.serves(), "its session is lost, or another client waits"
        # a refusal is none of the user's business
        assert [item for item in caplog.records if item.levelno >= logging.WARNING] == []
