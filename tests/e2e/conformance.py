"""The MCP conformance suite, and the server that it tests: its tools on the product's transport.

Owns:     the server's sessions, finding and running the suite.
Not here: the tools (conformance_tools.py), which scenarios must pass (test_conformance.py), the
          transport and MCP (the product's).
Source:   @modelcontextprotocol/conformance 0.1.16.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from agent_ide.errors import RpcError
from agent_ide.protocols.calls import begin
from agent_ide.transports.pushes import Pushes
from agent_ide.transports.streamable_http import Admission, Session, listen_tcp
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import Answered, Exchange, McpSession, Message
from agent_ide.wire.toolspec import ToolSet
from tests.e2e.conformance_tools import TOOLS
from tests.e2e.node import find_node
from tests.support.neovim import LIMIT_S, REPO

__all__ = ["conformance_suite", "run_suite"]

OLDEST_NODE = 22
"""Older ones cannot run the suite."""

# -- the server ------------------------------------------------------------------------------------


class Client:
    """One session (transports.streamable_http.Session), and the client of its tools."""

    def __init__(self) -> None:
        self.id = str(uuid.uuid4())
        self.pushed = Pushes(0.0, lambda: None)
        self.tokens: dict[jsonrpc.RawId, object] = {}
        self._mcp = McpSession(
            ToolSet(spec for spec, _ in TOOLS.values()),
            server_info={"name": "agent-ide-conformance", "version": "1"},
            capabilities={"tools": {}},
        )
        self._ids = itertools.count(1)
        self._asked: dict[bytes, asyncio.Future[Any]] = {}

    def read(self, body: bytes) -> tuple[Message, bytes]:
        return self._mcp.read(body), body

    def receive(self, message: tuple[Message, bytes]) -> Exchange:
        said, body = message
        exchange = self._mcp.receive(said)
        for event in exchange.events:
            if isinstance(event, Answered):
                self._asked.pop(event.id).set_result(json.loads(event.result))
        for call in exchange.calls:
            meta = json.loads(body)["params"].get("_meta", {})
            self.tokens[call.id] = meta.get("progressToken")
        return exchange

    async def answer(self, exchange: Exchange) -> bytes | None:
        reply = None
        for call in exchange.calls:
            _, run = TOOLS[call.spec.name]
            begun = begin(call, partial(run, self))
            reply = await begun if isinstance(begun, Awaitable) else begun
        return reply

    def pushes(self) -> AsyncGenerator[bytes]:
        return self.pushed.stream()

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[jsonrpc.encode(number)] = answer
        self.pushed.post(jsonrpc.encode_request(number, method, params))
        return await answer


class Clients:
    """All sessions (transports.streamable_http.Service)."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    def find(self, session_id: str) -> Client | None:
        return self._clients.get(session_id)

    def open(self, headers: Mapping[str, str], body: bytes) -> Client | RpcError:
        match jsonrpc.parse(body):
            case jsonrpc.Request(_, "initialize"):
                client = Client()
                self._clients[client.id] = client
                return client
        return RpcError.invalid_request("initialize comes first")

    def close(self, session: Session) -> None:
        self._clients.pop(session.id).pushed.end()


AUTHORIZATION = "Nonce test"


class Unlocked(Admission):
    """The product's checks, for a suite that cannot send an Authorization: it is added first."""

    def refusal(self, request: web.BaseRequest) -> int | None:
        headers = request.headers.copy()
        headers["Authorization"] = AUTHORIZATION
        return super().refusal(request.clone(headers=headers))


# -- the suite -------------------------------------------------------------------------------------


@functools.cache
def conformance_suite() -> list[str] | None:
    """The command of the pinned suite, None when it or a Node that can run it is missing."""
    command = [sys.executable, str(REPO / "scripts/fetch_cli.py"), "--cached", "conformance"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    node = find_node(OLDEST_NODE)
    return [node, found] if node and found else None


async def run_suite(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Run every scenario for servers; the checks of each, by its name.

    Args:
        folder: an empty one, for the suite's results.
    """

    def admission(port: int) -> Admission:
        return Unlocked((AUTHORIZATION,), frozenset({f"127.0.0.1:{port}", f"localhost:{port}"}))

    suite = conformance_suite()
    assert suite is not None
    server = await listen_tcp(Clients(), admission, 1024 * 1024)
    try:
        url = f"http://{server.address}/mcp"
        command = [*suite, "server", "--url", url, "--suite", "all", "-o", str(folder)]
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
        process = await asyncio.create_subprocess_exec(
            *command,
            env=env,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.wait_for(process.wait(), 16 * LIMIT_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    finally:
        await server.close()
    found = folder.rglob("checks.json")
    return {_name(path.parent): json.loads(path.read_text()) for path in found}


def _name(folder: Path) -> str:
    """`server-ping-2026-11-30T05-00-00-000Z` holds the results of `ping`."""
    found = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", folder.name)
    assert found is not None, folder.name
    return found[1]
