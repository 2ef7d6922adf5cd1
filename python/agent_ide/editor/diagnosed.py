"""One file's diagnostics as the editor tells them: the text is kept, the items are read when asked.

Owns:     the reading of that text.
Not here: which files have any (state.py), how they come (nvim.py), words (protocols/*/messages.py).
Source:   doc/channel.md, event `diagnostics`.

100,000 diagnostics take 20 MB as the texts of 1,000 files and 48 MB as objects, and most are never
asked for: an answer has room for 7,000 (doc/decisions/006).
"""

from __future__ import annotations

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
        self._text = text.encode()
        items = _items.decode(self._text)
        self._count = len(items)
        # asked for again and again: a file counts as much as the worst that it has
        self._first = items[0] if items else None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(_items.decode(self._text))

    @overload
    def __getitem__(self, index: int) -> Diagnostic: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Diagnostic]: ...
    def __getitem__(self, index: int | slice) -> Diagnostic | Sequence[Diagnostic]:
        if index == 0 and self._first is not None:
            return self._first
        return _items.decode(self._text)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Diagnosed) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
