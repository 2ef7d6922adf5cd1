"""A large JSON object, decoded without holding up the interpreter's other threads; pure.

Owns:     where a string may be cut.
Not here: which thread reads it (transports/reading.py).
Why:      decoding is one step for the interpreter, 20 ms for a text of 10 MB: as long as it takes
          nobody else is served (doc/decisions/008).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeVar

import msgspec

__all__ = ["LARGE_BYTES", "decode"]

LARGE_BYTES = 1024 * 1024
"""From here on it is worth two passes: 1 MB takes 2 ms in one."""

PIECE_BYTES = 256 * 1024

T = TypeVar("T", bound=msgspec.Struct)

_Part = msgspec.Raw | msgspec.UnsetType

_string = msgspec.json.Decoder(str)

_CUT = re.compile(rb"[^\\]{12}(?=[\x00-\x7f\xc0-\xff])")
"""Where no escape goes on, a surrogate pair of twelve bytes included, and no character of UTF-8."""


def decode(data: bytes | memoryview, shape: type[T]) -> T:
    """What `msgspec.json.decode` gives, and its errors."""
    try:
        return msgspec.convert(_values(data, shape), shape)
    except msgspec.DecodeError:
        # the error of the whole names the place
        return msgspec.json.decode(data, type=shape)


def _values(data: bytes | memoryview, shape: type[msgspec.Struct]) -> dict[str, object]:
    parts = msgspec.json.decode(data, type=_parts_of(shape))
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(parts):
        part: _Part = getattr(parts, field.name)
        if isinstance(part, msgspec.UnsetType):
            continue
        text = memoryview(part)
        if len(text) < PIECE_BYTES:
            values[field.encode_name] = msgspec.json.decode(text)
        elif text[0] == ord('"'):
            values[field.encode_name] = _decode_string(text)
        else:
            raise msgspec.DecodeError("no string; as a tree of objects it would be far larger")
    return values


@cache
def _parts_of(shape: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The same fields, none of them decoded."""
    return msgspec.defstruct(
        f"_{shape.__name__}Parts",
        [(field.name, _Part, msgspec.UNSET) for field in msgspec.structs.fields(shape)],
        rename={field.name: field.encode_name for field in msgspec.structs.fields(shape)},
    )


def _decode_string(text: memoryview) -> str:
    pieces: list[str] = []
    begin, end = 1, len(text) - 1
    while end - begin > PIECE_BYTES and (cut := _CUT.search(text, begin + PIECE_BYTES, end)):
        pieces.append(_string.decode(b'"' + text[begin : cut.end()] + b'"'))
        begin = cut.end()
    pieces.append(_string.decode(b'"' + text[begin:end] + b'"'))
    return "".join(pieces)
