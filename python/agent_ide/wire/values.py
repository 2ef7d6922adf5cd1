"""Our values as the agents' protocols write them: positions, selections, diagnostics; pure.

Owns:     the JSON members that both first protocols share, as LSP and VS Code spell them.
Not here: messages around them (protocols/*/messages.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ide.model import Diagnostic, Position, Range, Selection, Severity
from agent_ide.wire.uri import to_uri

__all__ = ["NOWHERE", "diagnostic", "selection", "span"]

NOWHERE = Range(Position(0, 0), Position(0, 0))
"""The range of a selection that there is not."""


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


def span(range: Range) -> dict[str, Any]:
    """`{start, end}`; lines 0-based, characters as UTF-8 byte offsets, the end exclusive."""
    return {"start": _position(range.start), "end": _position(range.end)}


def selection(selected: Selection) -> dict[str, Any]:
    """`{text, filePath, fileUrl, selection}`."""
    return {
        "text": selected.text,
        "filePath": selected.path,
        "fileUrl": to_uri(selected.path) if selected.path else "",
        "selection": {**span(selected.range), "isEmpty": selected.range.empty},
    }


def diagnostic(item: Diagnostic, severities: Mapping[Severity, str]) -> dict[str, Any]:
    """`{message, severity, range, source?, code?}` with the protocol's words for severities."""
    entry: dict[str, Any] = {
        "message": item.message,
        "severity": severities[item.severity],
        # as it is: msgspec writes its members, twice as fast as we could build `span` of it
        "range": item.range,
    }
    if item.source is not None:
        entry["source"] = item.source
    if item.code is not None:
        entry["code"] = item.code
    return entry
