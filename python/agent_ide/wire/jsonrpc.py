"""JSON-RPC 2.0 grammar: bytes to messages and back; pure.

Owns:     what is a request, a notification, a response, a batch, and which error a bad one gets.
Not here: methods (mcp.py), transports, the size of a message (transports/).
Source:   https://www.jsonrpc.org/specification. Ids stay raw JSON: they are echoed exactly,
          whatever their type and size (1e400 and 30 digits included).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from agent_ide.errors import RpcError

__all__ = [
    "MAX_BATCH",
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
    "is_id",
    "is_utf8",
    "parse",
]

RawId = bytes
"""An id as it stood on the wire: a JSON string, number or null."""

NULL_ID: RawId = b"null"

MAX_BATCH = 100
"""Messages in a batch; what is none costs a peer one byte and the host a hundred."""


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
    """An answer of the peer, its parts raw JSON; `error` is None unless it said one."""

    id: RawId
    result: bytes
    error: bytes | None


@dataclass(frozen=True, slots=True)
class Malformed:
    """Not a message; `id` is the sender's where it could be told, else null."""

    id: RawId
    error: RpcError


_NO_JSON = Malformed(NULL_ID, RpcError.parse_error())

Incoming = Request | Notification | Response | Malformed


@dataclass(frozen=True, slots=True)
class Batch:
    messages: tuple[Incoming, ...]


MAX_MENDED_BYTES = 4 * 1024 * 1024
"""Of a message that is searched for half pairs: it takes half a second a megabyte at the worst."""

_Part = msgspec.Raw | msgspec.UnsetType


class _Envelope(msgspec.Struct):
    """Any object. Its parts are read one by one: what is wrong with one must not hide the id, and
    a tree of objects that nobody asked for would take many times its length.
    """

    jsonrpc: _Part = msgspec.UNSET
    id: _Part = msgspec.UNSET
    method: _Part = msgspec.UNSET
    params: _Part = msgspec.UNSET
    result: _Part = msgspec.UNSET
    error: _Part = msgspec.UNSET


class _Success(msgspec.Struct, kw_only=True):
    """An answer; encoded in one piece, since each piece of a large one costs as much memory."""

    jsonrpc: str = "2.0"
    id: msgspec.Raw
    result: Any


_envelope = msgspec.json.Decoder(_Envelope)
# an array whose members beyond the last field are passed over, so that they cost nothing
_batch = msgspec.json.Decoder(
    msgspec.defstruct(
        "_Members",
        [(f"member_{n}", _Part, msgspec.UNSET) for n in range(MAX_BATCH + 1)],
        array_like=True,
    )
)
_anything = msgspec.json.Decoder(msgspec.Raw)
_string = msgspec.json.Decoder(str)
_encoder = msgspec.json.Encoder()

_PIECE_BYTES = 64 * 1024

_SURROGATE = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_UP_TO_HALF_PAIR = re.compile(
    rb"((?:[^\\]|\\[^u]|\\u(?![dD][89a-fA-F][0-9a-fA-F]{2})|\\\Z|" + _PAIR + rb")*+)"
    rb"(" + _SURROGATE + rb"|\Z)",
    re.DOTALL,
)
"""As much as holds no half of a surrogate pair, and the escape of one. It always matches, so a text
is gone through once."""


def parse(data: str | bytes) -> Incoming | Batch:
    """One message or batch of the peer. Never raises: what is wrong comes as `Malformed`.

    Half of a surrogate pair, which JavaScript writes where it has cut a text, is read as U+FFFD.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if not is_utf8(data):
        return _NO_JSON
    message = _parse(data)
    if message is _NO_JSON and len(data) <= MAX_MENDED_BYTES:
        mended = _UP_TO_HALF_PAIR.sub(_mend, data)
        if mended != data:
            return _parse(mended)
    return message


def is_utf8(data: bytes) -> bool:
    """Looked at first: an id goes back as it came, and what is skipped is not looked at."""
    if data.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        # piece by piece: a string of it all takes up to four times as much
        for start in range(0, len(data), _PIECE_BYTES):
            decoder.decode(data[start : start + _PIECE_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _mend(found: re.Match[bytes]) -> bytes:
    return found[1] + (rb"\ufffd" if found[2] else b"")


def _parse(data: bytes) -> Incoming | Batch:
    if data.lstrip(b" \t\r\n")[:1] != b"[":
        return _parse_one(data)
    try:
        decoded = msgspec.structs.astuple(_batch.decode(data))
    except (msgspec.DecodeError, RecursionError):
        return _NO_JSON
    members = [bytes(member) for member in decoded if isinstance(member, msgspec.Raw)]
    if not members:
        return Malformed(NULL_ID, RpcError.invalid_request("an empty batch"))
    if len(members) > MAX_BATCH:
        error = RpcError.invalid_request(f"over {MAX_BATCH} messages in a batch")
        return Malformed(NULL_ID, error)
    return Batch(tuple(map(_parse_one, members)))


def _parse_one(data: bytes) -> Incoming:
    try:
        envelope = _envelope.decode(data)
    except msgspec.ValidationError:
        # no object, which is told before the rest is looked at
        if _is_json(data):
            return Malformed(NULL_ID, RpcError.invalid_request("not an object"))
        return _NO_JSON
    except (msgspec.DecodeError, RecursionError):
        return _NO_JSON
    raw_id = _raw(envelope.id)
    if raw_id is not None and not is_id(raw_id):
        return Malformed(NULL_ID, RpcError.invalid_request("id must be a string or a number"))
    if _text(envelope.jsonrpc) != "2.0":
        return Malformed(raw_id or NULL_ID, RpcError.invalid_request('jsonrpc must be "2.0"'))
    method = _text(envelope.method)
    if method is not None:
        return _call(raw_id, method, _raw(envelope.params))
    if envelope.method is not msgspec.UNSET:
        return Malformed(raw_id or NULL_ID, RpcError.invalid_request("method must be a string"))
    result, error = _raw(envelope.result), _raw(envelope.error)
    if raw_id is not None and (result is None) != (error is None):
        return Response(raw_id, result or b"null", error)
    return Malformed(raw_id or NULL_ID, RpcError.invalid_request("no method"))


def is_id(raw: bytes) -> bool:
    """Whether a JSON value may be the id of a request."""
    return raw[:1] not in (b"{", b"[", b"t", b"f")


def _is_json(data: bytes) -> bool:
    try:
        _anything.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _raw(part: msgspec.Raw | msgspec.UnsetType) -> bytes | None:
    return None if isinstance(part, msgspec.UnsetType) else bytes(part).strip()


def _text(part: msgspec.Raw | msgspec.UnsetType) -> str | None:
    """The string that a part is; None where it is none."""
    try:
        return None if isinstance(part, msgspec.UnsetType) else _string.decode(part)
    except msgspec.DecodeError:
        return None


def _call(raw_id: RawId | None, method: str, params: bytes | None) -> Incoming:
    if params is None or params == b"null":
        params = b"{}"
    elif params[:1] not in (b"{", b"["):
        error = RpcError.invalid_request("params must be an object or an array")
        return Malformed(raw_id or NULL_ID, error)
    if raw_id is None:
        return Notification(method, params)
    return Request(raw_id, method, params)


def id_of(message: Incoming | Batch) -> RawId:
    """The id that an answer to it carries; null where it has none."""
    return message.id if isinstance(message, Request | Malformed) else NULL_ID


def encode(value: Any) -> bytes:
    """JSON of a value that holds no lone surrogates (the editor's side has cleaned its text)."""
    return _encoder.encode(value)


def encode_result(id: RawId, result: Any) -> bytes:
    return encode(_Success(id=msgspec.Raw(id), result=result))


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
