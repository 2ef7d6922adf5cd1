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

from agent_ide.model import Diagnostic, Position, Range, Severity

__all__ = ["Diagnosed"]


class _Item(msgspec.Struct, frozen=True, gc=False):
    message: str
    severity: Severity
    start_line: int
    start_character: int
    end_line: int
    end_character: int
    source: str | None = None
    code: str | None = None


_items = msgspec.json.Decoder(list[_Item])


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
        self._first = _diagnostic(items[0]) if items else None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Diagnostic]:
        return map(_diagnostic, _items.decode(self._text))

    @overload
    def __getitem__(self, index: int) -> Diagnostic: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Diagnostic]: ...
    def __getitem__(self, index: int | slice) -> Diagnostic | Sequence[Diagnostic]:
        if index == 0 and self._first is not None:
            return self._first
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Diagnosed) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def _diagnostic(item: _Item) -> Diagnostic:
    span = Range(
        Position(item.start_line, item.start_character), Position(item.end_line, item.end_character)
    )
    return Diagnostic(item.message, item.severity, span, item.source or None, item.code)
