"""JSON-RPC 2.0 grammar: bytes to messages and back; pure.

Owns:     what is a request, a notification, a response, a batch, and which error a bad one gets.
Not here: methods (mcp.py), transports.
Source:   https://www.jsonrpc.org/specification. Ids stay raw JSON: they are echoed exactly,
          whatever their type and size (1e400 and 30 digits included).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from agent_ide.errors import RpcError

__all__ = [
    "Batch",
    "Incoming",
    "Malformed",
    "Notification",
    "RawId",
    "Request",
    "Response",
    "encode",
    "encode_batch",
    "encode_error",
    "encode_notification",
    "encode_request",
    "encode_result",
    "id_of",
    "parse",
]

RawId = bytes
"""An id as it stood on the wire: a JSON string, number or null."""

NULL_ID: RawId = b"null"


@dataclass(frozen=True, slots=True)
class Request:
    id: RawId
    method: str
    params: bytes
    """Raw JSON; b"{}" where there were none."""


@dataclass(frozen=True, slots=True)
class Notification:
    method: str
    params: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of the peer; `error` is None unless it was an error object."""

    id: RawId
    result: bytes
    error: Any


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not a message; `id` is the sender's where it could be told, else null."""

    id: RawId
    error: RpcError


Incoming = Request | Notification | Response | Malformed


@dataclass(frozen=True, slots=True)
class Batch:
    messages: tuple[Incoming, ...]


class _Envelope(msgspec.Struct):
    """Any object; types are looked at afterwards, so that a wrong one is not a parse error."""

    jsonrpc: Any = msgspec.UNSET
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: Any = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = msgspec.UNSET


_envelope = msgspec.json.Decoder(_Envelope)
_batch = msgspec.json.Decoder(list[msgspec.Raw])
_encoder = msgspec.json.Encoder()


def parse(data: str | bytes) -> Incoming | Batch:
    """One message or batch of the peer. Never raises: what is wrong comes as `Malformed`."""
    if isinstance(data, str):
        # a lone surrogate becomes bytes that the decoder refuses: a parse error, as it should be
        data = data.encode("utf-8", "surrogatepass")
    if data.lstrip(b" \t\r\n")[:1] != b"[":
        return _parse_one(data)
    try:
        members = _batch.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return Malformed(NULL_ID, RpcError.parse_error())
    if not members:
        return Malformed(NULL_ID, RpcError.invalid_request("an empty batch"))
    return Batch(tuple(_parse_one(bytes(member)) for member in members))


def _parse_one(data: bytes) -> Incoming:
    try:
        envelope = _envelope.decode(data)
    except msgspec.ValidationError:
        # JSON, but no object
        return Malformed(NULL_ID, RpcError.invalid_request("not an object"))
    except (msgspec.DecodeError, RecursionError):
        return Malformed(NULL_ID, RpcError.parse_error())
    raw_id = None if isinstance(envelope.id, msgspec.UnsetType) else bytes(envelope.id).strip()
    if raw_id is not None and raw_id[:1] in (b"{", b"[", b"t", b"f"):
        return Malformed(NULL_ID, RpcError.invalid_request("id must be a string or a number"))
    if envelope.jsonrpc != "2.0":
        return Malformed(raw_id or NULL_ID, RpcError.invalid_request('jsonrpc must be "2.0"'))
    if isinstance(envelope.method, str):
        return _call(raw_id, envelope)
    if envelope.method is not msgspec.UNSET:
        return Malformed(raw_id or NULL_ID, RpcError.invalid_request("method must be a string"))
    has_result = not isinstance(envelope.result, msgspec.UnsetType)
    if raw_id is not None and has_result != (envelope.error is not msgspec.UNSET):
        result = b"null" if isinstance(envelope.result, msgspec.UnsetType) else envelope.result
        return Response(raw_id, bytes(result), None if has_result else envelope.error)
    return Malformed(raw_id or NULL_ID, RpcError.invalid_request("no method"))


def _call(raw_id: RawId | None, envelope: _Envelope) -> Incoming:
    params = b"{}" if isinstance(envelope.params, msgspec.UnsetType) else bytes(envelope.params)
    params = params.strip()
    if params[:1] not in (b"{", b"["):
        if params == b"null":
            params = b"{}"
        else:
            error = RpcError.invalid_request("params must be an object or an array")
            return Malformed(raw_id or NULL_ID, error)
    if raw_id is None:
        return Notification(envelope.method, params)
    return Request(raw_id, envelope.method, params)


def id_of(message: Incoming | Batch) -> RawId:
    """The id that an answer to it carries; null where it has none."""
    return message.id if isinstance(message, Request | Malformed) else NULL_ID


def encode(value: Any) -> bytes:
    """JSON of a value that holds no lone surrogates (the editor's side has cleaned its text)."""
    return _encoder.encode(value)


def encode_result(id: RawId, result: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id + b',"result":' + encode(result) + b"}"


def encode_error(id: RawId, error: RpcError) -> bytes:
    body = encode({"code": error.code, "message": str(error)})
    return b'{"jsonrpc":"2.0","id":' + id + b',"error":' + body + b"}"


def encode_notification(method: str, params: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_request(id: int | str, method: str, params: Any = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return encode(message)


def encode_batch(replies: list[bytes]) -> bytes:
    return b"[" + b",".join(replies) + b"]"
