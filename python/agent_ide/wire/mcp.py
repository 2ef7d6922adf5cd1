"""The server's side of the Model Context Protocol, sans I/O.

Owns:     one session's revision, its tool calls in flight, its batches half answered.
Not here: bytes' way (transports/), tools (protocols/*/tools.py), notifications outside MCP: those
          come out as `Notified`.
Above:    a protocol's session feeds each message to `receive`, runs the calls of the Exchange it
          gets, and sends what `answer`, `fail` and `drop` return.
Source:   MCP revisions 2024-11-05 to 2025-11-25; batches exist in 2025-03-26 only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from agent_ide.errors import RpcError
from agent_ide.wire import jsonrpc
from agent_ide.wire.toolspec import ToolSet, ToolSpec

__all__ = [
    "LATEST_REVISION",
    "REVISIONS",
    "Answered",
    "ClientInfo",
    "Content",
    "Exchange",
    "ImageContent",
    "McpSession",
    "Message",
    "Notified",
    "TextContent",
    "ToolAnswer",
    "ToolCall",
    "ToolResult",
    "refuse_opening",
]

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_REVISION = REVISIONS[-1]
BATCH_REVISION = "2025-03-26"

MAX_BATCH_REPLY_BYTES = 16 * 1024 * 1024
"""Of a batch's answers until one more is told to be too much; they wait for the last of them."""

T = TypeVar("T", bound=msgspec.Struct)


class TextContent(msgspec.Struct, frozen=True):
    text: str
    type: Literal["text"] = "text"


class ImageContent(msgspec.Struct, frozen=True, rename="camel"):
    """data: base64."""

    data: str
    mime_type: str
    type: Literal["image"] = "image"


Content = TextContent | ImageContent


@dataclass(frozen=True, slots=True)
class ToolResult:
    content: tuple[Content, ...]
    is_error: bool = False

    @classmethod
    def of_text(cls, *texts: str) -> ToolResult:
        return cls(tuple(TextContent(text) for text in texts))

    @classmethod
    def of_json(cls, value: Any) -> ToolResult:
        """One text block that holds the value as JSON."""
        return cls((TextContent(jsonrpc.encode(value).decode()),))

    @classmethod
    def of_error(cls, message: str) -> ToolResult:
        return cls((TextContent(message),), is_error=True)

    def wire(self) -> dict[str, Any]:
        return {"content": self.content, **({"isError": True} if self.is_error else {})}


ToolAnswer = ToolResult | Awaitable[ToolResult]
"""What running a tool gives: its result when nothing has to be waited for, else the way to it."""


@dataclass(frozen=True, slots=True)
class ClientInfo:
    name: str = ""
    version: str = ""


class _Implementation(msgspec.Struct):
    name: str = ""
    version: str = ""


class _InitializeParams(msgspec.Struct, rename="camel"):
    protocol_version: str
    client_info: _Implementation = msgspec.field(default_factory=_Implementation)


class _CallParams(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"{}"))


class _ToolsCall(msgspec.Struct):
    """The message that nearly all are, as a client should write it."""

    jsonrpc: Literal["2.0"]
    id: msgspec.Raw
    method: Literal["tools/call"]
    params: _CallParams


_tools_call = msgspec.json.Decoder(_ToolsCall)


class _CancelledParams(msgspec.Struct, rename="camel"):
    request_id: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Notified:
    """A notification that is not MCP's own business; params are raw JSON."""

    method: str
    params: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """The peer's answer to a request of ours, raw JSON; `error` is None unless it refused."""

    id: bytes
    result: bytes
    error: bytes | None


@dataclass(eq=False, slots=True)
class ToolCall:
    """A tool call to run; then tell its exchange the outcome, once."""

    id: jsonrpc.RawId
    spec: ToolSpec
    arguments: msgspec.Struct
    exchange: Exchange


@dataclass(eq=False, slots=True)
class Exchange:
    """One message or batch of the peer and what it still needs.

    Attributes:
        calls:     tool calls to run.
        cancelled: calls (of this or an earlier exchange) whose answer is not wanted any more.
        events:    what is for the protocol's session.
        batch:     whether the replies go out as one array.
        malformed: the whole of it was no message; its reply says why.
    """

    session: McpSession
    batch: bool = False
    malformed: bool = False
    calls: list[ToolCall] = field(default_factory=list)
    cancelled: list[ToolCall] = field(default_factory=list)
    events: list[Notified | Answered] = field(default_factory=list)
    _replies: list[bytes] = field(default_factory=list)
    _waiting: set[ToolCall] = field(default_factory=set)
    _size: int = 0

    def ready(self) -> bytes | None:
        """The reply, once nothing of it is missing; None before that and where none is due."""
        if self._waiting or not self._replies:
            return None
        replies, self._replies = self._replies, []
        return jsonrpc.encode_batch(replies) if self.batch else replies[0]

    def answer(self, call: ToolCall, result: ToolResult) -> bytes | None:
        """The call ended well; returns the reply once it is complete."""
        return self._settle(call, jsonrpc.encode_result(call.id, result.wire()))

    def fail(self, call: ToolCall, error: RpcError) -> bytes | None:
        """The call ended with a JSON-RPC error; returns the reply once it is complete."""
        return self._settle(call, jsonrpc.encode_error(call.id, error))

    def drop(self, call: ToolCall) -> bytes | None:
        """Nobody wants the call's answer any more; returns what else was to be said."""
        return self._settle(call, None)

    def _settle(self, call: ToolCall, reply: bytes | None) -> bytes | None:
        if call not in self._waiting:
            return None
        self._waiting.discard(call)
        self.session.forget(call)
        if reply is not None:
            self._size += len(reply)
            if self.batch and self._size > MAX_BATCH_REPLY_BYTES:
                self._size -= len(reply)
                error = RpcError(RpcError.SERVER_ERROR, "the batch's answers are too large")
                reply = jsonrpc.encode_error(call.id, error)
            self._replies.append(reply)
        return self.ready()

    def await_outcome(self, call: ToolCall) -> None:
        """The session's: a call of this exchange is to be run."""
        self.calls.append(call)
        self._waiting.add(call)

    def add_reply(self, reply: bytes) -> None:
        """The session's: an answer that needed no tool."""
        self._replies.append(reply)


@dataclass(frozen=True, slots=True)
class _Called:
    """A tools/call whose arguments have been read."""

    id: jsonrpc.RawId
    spec: ToolSpec
    arguments: msgspec.Struct


@dataclass(frozen=True, slots=True)
class _Refused:
    """One whose arguments make no sense."""

    id: jsonrpc.RawId
    error: RpcError


Message = jsonrpc.Incoming | jsonrpc.Batch | _Called | _Refused
"""What `McpSession.read` makes of a message's bytes."""


class McpSession:
    """One client's session.

    Attributes:
        client:   who it is, once it has said so.
        revision: the MCP revision agreed upon; None before `initialize`.
    """

    def __init__(
        self, tools: ToolSet, server_info: Mapping[str, str], capabilities: Mapping[str, Any]
    ) -> None:
        self.client = ClientInfo()
        self.revision: str | None = None
        self._tools = tools
        self._server_info = server_info
        self._capabilities = capabilities
        self._calls: dict[jsonrpc.RawId, ToolCall] = {}

    def read(self, data: bytes) -> Message:
        """What a message or batch says. Never raises, and changes nothing: for another thread."""
        if jsonrpc.is_utf8(data):
            # in one pass: a text of 10 MB, and a thousand small calls, feel each
            try:
                call = _tools_call.decode(data)
            except (msgspec.DecodeError, RecursionError):
                pass  # another message, or one that has to be told what is wrong
            else:
                id = bytes(call.id).strip()
                if jsonrpc.is_id(id):
                    return self._read_arguments(id, call.params)
        message = jsonrpc.parse(data)
        if isinstance(message, jsonrpc.Request) and message.method == "tools/call":
            return self._read_call(message)
        return message

    def receive(self, message: Message) -> Exchange:
        """Take what the peer has said. Never raises: errors are in the reply."""
        if not isinstance(message, jsonrpc.Batch):
            malformed = isinstance(message, jsonrpc.Malformed)
            exchange = Exchange(self, malformed=malformed)
            self._take(exchange, message)
            return exchange
        exchange = Exchange(self, batch=self.revision == BATCH_REVISION)
        if not exchange.batch:
            error = RpcError.invalid_request("batches are of revision 2025-03-26 only")
            exchange.add_reply(jsonrpc.encode_error(jsonrpc.NULL_ID, error))
            return exchange
        for member in message.messages:
            self._take(exchange, member)
        return exchange

    def forget(self, call: ToolCall) -> None:
        if self._calls.get(call.id) is call:
            del self._calls[call.id]

    def _take(self, exchange: Exchange, message: jsonrpc.Incoming | _Called | _Refused) -> None:
        match message:
            case _Called(id, spec, arguments):
                call = ToolCall(id, spec, arguments, exchange)
                self._calls[id] = call
                exchange.await_outcome(call)
            case _Refused(id, error):
                exchange.add_reply(jsonrpc.encode_error(id, error))
            case jsonrpc.Request(_, "tools/call"):
                self._take(exchange, self._read_call(message))
            case jsonrpc.Malformed(id, error):
                exchange.add_reply(jsonrpc.encode_error(id, error))
            case jsonrpc.Response(id, result, refused):
                exchange.events.append(Answered(id, result, refused))
            case jsonrpc.Notification("notifications/cancelled", params):
                self._cancel(exchange, params)
            case jsonrpc.Notification(method, params):
                exchange.events.append(Notified(method, params))
            case jsonrpc.Request():
                self._serve(exchange, message)

    def _serve(self, exchange: Exchange, request: jsonrpc.Request) -> None:
        try:
            result = self._result(request)
        except RpcError as error:
            exchange.add_reply(jsonrpc.encode_error(request.id, error))
        else:
            exchange.add_reply(jsonrpc.encode_result(request.id, result))

    def _result(self, request: jsonrpc.Request) -> Any:
        match request.method:
            case "initialize":
                return self._initialize(_read(request.params, _InitializeParams))
            case "ping":
                return {}
            case "tools/list":
                return {"tools": self._tools.entries()}
            case method:
                raise RpcError.method_not_found(method)

    def _initialize(self, params: _InitializeParams) -> dict[str, Any]:
        asked = params.protocol_version
        self.revision = asked if asked in REVISIONS else LATEST_REVISION
        self.client = ClientInfo(params.client_info.name, params.client_info.version)
        return {
            "protocolVersion": self.revision,
            "capabilities": self._capabilities,
            "serverInfo": self._server_info,
        }

    def _read_call(self, request: jsonrpc.Request) -> _Called | _Refused:
        try:
            params = _read(request.params, _CallParams)
        except RpcError as error:
            return _Refused(request.id, error)
        return self._read_arguments(request.id, params)

    def _read_arguments(self, id: jsonrpc.RawId, params: _CallParams) -> _Called | _Refused:
        try:
            spec = self._tools.get(params.name)
            if spec is None:
                raise RpcError.invalid_params(f"unknown tool: {params.name[:200]}")
            # read where they stand: large ones are not copied
            raw = memoryview(params.arguments)
            arguments = spec.read(b"{}" if bytes(raw[:8]).strip() == b"null" else raw)
        except RpcError as error:
            return _Refused(id, error)
        return _Called(id, spec, arguments)

    def _cancel(self, exchange: Exchange, params: bytes) -> None:
        try:
            wanted = bytes(_read(params, _CancelledParams).request_id).strip()
        except RpcError:
            return  # a notification gets no answer, not even an error
        call = self._calls.get(wanted)
        if call is not None:
            exchange.cancelled.append(call)


def refuse_opening(body: bytes) -> RpcError | None:
    """Why a message outside any session begins none; None: it is `initialize`."""
    match jsonrpc.parse(body):
        case jsonrpc.Malformed(_, error):
            return error
        case jsonrpc.Request(_, "initialize"):
            return None
        case jsonrpc.Request(_, method) if method not in ("tools/list", "tools/call", "ping"):
            # some clients probe with server/discover and take this for "an older server"
            return RpcError.method_not_found(method)
    return RpcError.invalid_request("there is no session yet: initialize comes first")


def _read(params: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(params, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RpcError.invalid_params(str(error)) from None
