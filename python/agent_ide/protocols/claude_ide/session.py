"""Claude Code's session, sans I/O: MCP plus `ide_connected` and the question for its folders.

Owns:     what one client has told of itself.
Not here: sockets (transports/websocket.py), tools (tools.py), pushes' timing (serve.py).
Above:    serve.py feeds each message to `receive` and sends what comes out.
Source:   doc/protocols/claude-ide.md, seen with Claude Code 2.1.332 and 2.1.197.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from agent_ide.model import ClientId
from agent_ide.wire import jsonrpc
from agent_ide.wire.mcp import Answered, Exchange, McpSession, Message, Notified
from agent_ide.wire.toolspec import ToolSet
from agent_ide.wire.uri import from_uri

__all__ = ["ClaudeSession", "Identity", "Received"]

ROOTS_REQUEST_ID = "agent_ide-roots"


class _IdeConnected(msgspec.Struct):
    pid: int


class _Root(msgspec.Struct):
    uri: str


class _Roots(msgspec.Struct):
    roots: list[_Root]


@dataclass(frozen=True, slots=True)
class Received:
    """What a message of the CLI asks for.

    exchange:  MCP's part: calls to run, a reply to send once ready.
    requests:  messages to send besides.
    connected: the CLI has just said `ide_connected`: it wants pushes from now on.
    """

    exchange: Exchange
    requests: list[bytes] = field(default_factory=list)
    connected: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """What a CLI has told of itself.

    pid: its process, as it says; None before `ide_connected`.
    cwd: its working directory, once it has answered.
    """

    name: str
    version: str
    pid: int | None
    cwd: str | None


class ClaudeSession:
    """One CLI."""

    def __init__(self, client: ClientId, tools: ToolSet, version: str) -> None:
        self.client = client
        self._pid: int | None = None
        self._cwd: str | None = None
        self._mcp = McpSession(
            tools,
            server_info={"name": "agent_ide.nvim", "version": version},
            capabilities={"tools": {"listChanged": True}},
        )

    @property
    def identity(self) -> Identity:
        return Identity(self._mcp.client.name, self._mcp.client.version, self._pid, self._cwd)

    def read(self, data: bytes) -> Message:
        """What a message says; changes nothing."""
        return self._mcp.read(data)

    def receive(self, message: Message) -> Received:
        exchange = self._mcp.receive(message)
        requests: list[bytes] = []
        connected = False
        for event in exchange.events:
            match event:
                case Notified("ide_connected", params):
                    self._ide_connected(params)
                    connected = True
                    requests.append(jsonrpc.encode_request(ROOTS_REQUEST_ID, "roots/list"))
                case Answered(id, result, None) if id == jsonrpc.encode(ROOTS_REQUEST_ID):
                    self._roots(result)
                case _:
                    pass  # what is not for us is ignored, as the CLI does with what is not for it
        return Received(exchange, requests, connected)

    def _ide_connected(self, params: bytes) -> None:
        try:
            self._pid = msgspec.json.decode(params, type=_IdeConnected).pid
        except msgspec.DecodeError:
            self._pid = None

    def _roots(self, result: bytes) -> None:
        try:
            roots = msgspec.json.decode(result, type=_Roots).roots
        except msgspec.DecodeError:
            return
        self._cwd = from_uri(roots[0].uri) if roots else None
