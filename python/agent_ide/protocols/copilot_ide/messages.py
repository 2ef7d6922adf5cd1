"""The words of Copilot CLI's IDE protocol; pure.

Owns:     how our values look on its wire, and how a verdict is answered.
Not here: tools' schemas (tools.py), the session (session.py).
Source:   doc/protocols/copilot-ide.md, seen with Copilot CLI 1.0.102.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from agent_ide.errors import ToolError
from agent_ide.model import (
    Accepted,
    Cancelled,
    CancelledBy,
    Diagnostic,
    Failed,
    Range,
    Rejected,
    RejectedBy,
    Selection,
    Severity,
    Verdict,
)
from agent_ide.wire import diagnosed, jsonrpc, values
from agent_ide.wire.kept import kept
from agent_ide.wire.mcp import ToolResult
from agent_ide.wire.uri import to_uri

__all__ = [
    "answer_close",
    "answer_verdict",
    "diagnostics_changed",
    "diagnostics_result",
    "harmless",
    "reference",
    "selection_changed",
    "selection_result",
]

_SEVERITIES = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "information",
    Severity.HINT: "hint",
}

_CANCELLED_TRIGGERS = {
    CancelledBy.CLIENT: "closed_via_tool",
    CancelledBy.REPLACED: "closed_via_tool",
    CancelledBy.REQUEST: "client_disconnected",
    CancelledBy.CLIENT_GONE: "client_disconnected",
    CancelledBy.TIMEOUT: "timeout",
}

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")

MAX_NAME_CHARS = 80


def selection_changed(selection: Selection | None, last_path: str) -> bytes:
    """The push. There is no message for "no file": an empty selection in the last one clears."""
    shown = selection or Selection(last_path, values.NOWHERE, "")
    return jsonrpc.encode_notification("selection_changed", values.selection(shown))


@kept
def selection_result(selection: Selection | None, current: bool) -> ToolResult:
    """`current`: from the active editor, not only remembered. Without any: the text is `null`."""
    if selection is None:
        return ToolResult.of_json(None)
    return ToolResult.of_json({"current": current, **values.selection(selection)})


def reference(path: str, span: Range | None, text: str | None) -> bytes:
    """The push that types `@path` or `@path:1-2` into the prompt; all four keys are required.

    Args:
        span: lines of the file; None for all of it.
        text: what is selected there, which makes it a selection; the CLI reads the file either way.
    """
    params = {
        "filePath": path,
        "fileUrl": to_uri(path),
        "selection": None if span is None else values.span(span),
        "selectedText": text,
    }
    method = "add_file_reference" if text is None else "add_selection"
    return jsonrpc.encode_notification(method, params)


def diagnostics_result(files: Iterable[tuple[str, Sequence[Diagnostic]]]) -> ToolResult:
    """One JSON array of files, at most 1 MiB (wire/diagnosed.py)."""
    return diagnosed.listing(
        files, lambda path: {"uri": to_uri(path), "filePath": path}, _SEVERITIES
    )


def diagnostics_changed(files: Iterable[tuple[str, Sequence[Diagnostic]]]) -> bytes:
    """The push: only the files that changed, an empty list for one that became clean."""
    uris = [
        {
            "uri": to_uri(path),
            "diagnostics": [values.diagnostic(item, _SEVERITIES) for item in items],
        }
        for path, items in files
    ]
    return jsonrpc.encode_notification("diagnostics_changed", {"uris": uris})


def answer_verdict(path: str, tab_name: str, verdict: Verdict) -> ToolResult:
    """open_diff's answer.

    Raises:
        ToolError: the view could not be opened; the CLI's own prompt stays.
    """
    name = os.path.basename(path)
    match verdict:
        case Accepted():
            result, trigger = "SAVED", "accepted_via_button"
            message = f"User accepted changes for {name}"
        case Rejected(RejectedBy.VIEW_CLOSED):
            result, trigger = "REJECTED", "closed_via_tab"
            message = f"User rejected changes for {name}"
        case Rejected():
            result, trigger = "REJECTED", "rejected_via_button"
            message = f"User rejected changes for {name}"
        case Cancelled(by):
            result, trigger = "REJECTED", _CANCELLED_TRIGGERS[by]
            message = f"The diff of {name} was closed: {by.value}"
        case Failed(reason):
            raise ToolError(f"The diff could not be opened in Neovim: {reason}")
    return ToolResult.of_json(
        {
            "success": True,
            "result": result,
            "trigger": trigger,
            "tab_name": tab_name,
            "message": message,
        }
    )


def answer_close(tab_name: str, was_open: bool) -> ToolResult:
    how = "closed and changes rejected" if was_open else "was closed already"
    return ToolResult.of_json(
        {
            "success": True,
            "already_closed": not was_open,
            "tab_name": tab_name,
            "message": f'Diff "{tab_name}" {how}',
        }
    )


def harmless(name: str) -> str:
    """A session's name for the user's screen: one line, no terminal escapes, not endless."""
    shown = " ".join(_CONTROL.sub(" ", _ESCAPES.sub("", name)).split())
    return shown if len(shown) <= MAX_NAME_CHARS else shown[: MAX_NAME_CHARS - 1] + "…"
