"""One file's diagnostics as the editor tells them: kept packed, read when somebody asks.

Owns:     the reading of that text.
Not here: which files have any (state.py), how they come (nvim.py), words (protocols/*/messages.py).
Source:   doc/channel.md, event `diagnostics`.

Of 100,000 diagnostics most are never asked for, an answer has room for 5,000. As objects they took
48 MB, as text 20, packed 3, for 0.1 ms a file (doc/decisions/006).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from agent_ide.model import Diagnostic

__all__ = ["Diagnosed"]


_items = msgspec.json.Decoder(list[Diagnostic])


class Diagnosed(Sequence[Diagnostic]):
    """Equal to another one of the same text."""

    def __init__(self, text: str) -> None:
        """Look once whether it can be read.

        Raises:
            msgspec.ValidationError: it has another shape than agreed.
        """
        data = text.encode()
        items = _items.decode(data)
        self._packed = zlib.compress(data, 1)
        self._count = len(items)
        # asked for again and again: a file counts as much as the worst that it has
        self._first = items[0] if items else None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._read())

    @overload
    def __getitem__(self, index: int) -> Diagnostic: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Diagnostic]: ...
    def __getitem__(self, index: int | slice) -> Diagnostic | Sequence[Diagnostic]:
        if index == 0 and self._first is not None:
            return self._first
        return self._read()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Diagnosed) and self._packed == other._packed

    def __hash__(self) -> int:
        return hash(self._packed)

    def _read(self) -> list[Diagnostic]:
        return _items.decode(zlib.decompress(self._packed))
