"""The words of the companion protocol; pure.

Owns:     how our values look on its wire, and how a verdict is said.
Not here: tools' schemas (tools.py), the session (session.py).
Source:   doc/protocols/gemini-ide.md, seen with Gemini CLI 0.61.0 and Qwen Code 0.24.4. One field
          that does not fit its schema disconnects Gemini CLI.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agent_ide.model import (
    Accepted,
    Cancelled,
    CancelledBy,
    Failed,
    OpenBuffer,
    Position,
    Selection,
    Verdict,
)
from agent_ide.wire import jsonrpc

__all__ = ["context_update", "diff_rejected", "reference", "verdict_message"]

MAX_FILES = 10
"""The CLIs keep no more."""

MAX_SELECTED_CHARS = 20_000
"""Above their own 16,384, so that they still add their mark of a cut text."""

_SPECIAL = re.compile(r"""[ \t()\[\]{};|*?$`'"#&<>!~\\]""")
"""What both CLIs want escaped in a path after an @."""


def context_update(
    buffers: Sequence[OpenBuffer], selection: Selection | None, trusted: bool | None
) -> bytes:
    """What is open, the newest first; trusted: None says nothing of trust."""
    files = [buffer for buffer in buffers if not buffer.untitled]
    files.sort(key=lambda buffer: (buffer.active, buffer.last_used_s), reverse=True)
    newest_s = max((buffer.last_used_s for buffer in files), default=0)
    state: dict[str, Any] = {
        "openFiles": [_open_file(buffer, selection, newest_s) for buffer in files[:MAX_FILES]]
    }
    if trusted is not None:
        state["isTrusted"] = trusted
    return jsonrpc.encode_notification("ide/contextUpdate", {"workspaceState": state})


def _open_file(buffer: OpenBuffer, selection: Selection | None, newest_s: int) -> dict[str, Any]:
    if not buffer.active:
        return {"path": buffer.path, "timestamp": buffer.last_used_s * 1000}
    # an active file that is not the newest counts as none
    entry = {"path": buffer.path, "timestamp": newest_s * 1000 + 1, "isActive": True}
    if selection is not None and selection.path == buffer.path:
        entry["cursor"] = _cursor(selection.range.end)
        if selection.text:
            entry["selectedText"] = selection.text[:MAX_SELECTED_CHARS]
    return entry


def _cursor(position: Position) -> dict[str, int]:
    return {"line": position.line + 1, "character": position.character + 1}


def verdict_message(path: str, verdict: Verdict) -> bytes | None:
    """What the client is told of the end of a diff, under the path as it spelled it.

    Returns:
        None where it knows already, or where the question in its terminal stays.
    """
    match verdict:
        case Accepted(text):
            params = {"filePath": path, "content": text}
            return jsonrpc.encode_notification("ide/diffAccepted", params)
        case Cancelled(CancelledBy.CLIENT | CancelledBy.REPLACED) | Failed():
            return None
    return diff_rejected(path)


def diff_rejected(path: str) -> bytes:
    return jsonrpc.encode_notification("ide/diffRejected", {"filePath": path})


def reference(path: str, lines: tuple[int, int] | None) -> str:
    """What to type into the prompt; lines are 0-based, the last one included.

    Only the file is looked up by the CLIs; the lines are words for the model.
    """
    escaped = _SPECIAL.sub(r"\\\g<0>", path)
    if lines is None:
        return f"@{escaped} "
    first, last = lines[0] + 1, lines[1] + 1
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"@{escaped} ({where}) "
