"""An answer that lists diagnostics, at most 1 MiB of them: a model reads it.

Owns:     what is left out when not all fit, and how that is said.
Not here: which files come first (the protocol's tools), a file's members (its messages).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agent_ide.model import Diagnostic, Severity
from agent_ide.wire import jsonrpc, values
from agent_ide.wire.mcp import ToolResult

__all__ = ["MAX_BYTES", "listing"]

MAX_BYTES = 1024 * 1024


def listing(
    files: Iterable[tuple[str, Sequence[Diagnostic]]],
    head: Callable[[str], Mapping[str, Any]],
    severities: Mapping[Severity, str],
) -> ToolResult:
    """One text block with a JSON array of files; a second one says what was left out, if anything.

    Whole files as long as they fit, then as much of the next one as does. What is beyond it is not
    even encoded: all of 100,000 diagnostics would be 20 MB.

    Args:
        files: path and diagnostics, what matters most first.
        head: the members of a file beside `diagnostics`.
    """
    taken: list[bytes] = []
    room, left_out, more_files = MAX_BYTES - len("[]"), "", 0
    for path, items in files:
        if left_out or more_files:
            more_files += 1
            continue
        encoded, count = _fitting(head(path), items, severities, room - len(","))
        if count or not items:
            taken.append(encoded)
            room -= len(encoded) + len(",")
        else:
            more_files = 1
        if 0 < count < len(items):
            left_out = f"{len(items) - count} more diagnostics of {path} were left out. "
    text = jsonrpc.encode_batch(taken).decode()
    if more_files:
        left_out += f"{more_files} more files have diagnostics; ask for one by its uri."
    return ToolResult.of_text(text, left_out.strip()) if left_out else ToolResult.of_text(text)


def _fitting(
    head: Mapping[str, Any],
    items: Sequence[Diagnostic],
    severities: Mapping[Severity, str],
    room: int,
) -> tuple[bytes, int]:
    """A file's entry with as many of its items as fit; and how many those are."""
    wire = [values.diagnostic(item, severities) for item in items]
    while True:
        encoded = jsonrpc.encode({**head, "diagnostics": wire})
        if len(encoded) <= room or not wire:
            return encoded, len(wire)
        # as if all were of one length; one less, so that it ends
        del wire[min(len(wire) - 1, len(wire) * max(0, room) // len(encoded)) :]
