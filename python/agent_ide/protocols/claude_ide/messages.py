"""The words of Claude Code's IDE protocol; pure.

Owns:     how our values look on its wire, and how a verdict is answered.
Not here: tools' schemas (tools.py), the session (session.py).
Source:   doc/protocols/claude-ide.md, seen with Claude Code 2.1.332.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_ide.errors import RpcError, ToolError
from agent_ide.model import (
    Accepted,
    Cancelled,
    Diagnostic,
    Failed,
    OpenBuffer,
    Rejected,
    Selection,
    Severity,
    Verdict,
)
from agent_ide.wire import diagnosed, jsonrpc, values
from agent_ide.wire.kept import kept
from agent_ide.wire.mcp import ToolResult
from agent_ide.wire.uri import to_raw_uri, to_uri

__all__ = [
    "MAX_MESSAGE_BYTES",
    "answer_verdict",
    "at_mentioned",
    "diagnostics_text",
    "open_editors",
    "selection_changed",
    "selection_result",
    "workspace_folders",
]

MAX_MESSAGE_BYTES = 16 * 1024 * 1024 - 64 * 1024
"""The CLI drops the connection at 16 MiB; the rest is for the envelope."""

_SEVERITIES = {
    Severity.ERROR: "Error",
    Severity.WARNING: "Warning",
    Severity.INFORMATION: "Info",
    Severity.HINT: "Hint",
}


def selection_changed(selection: Selection | None) -> bytes:
    """The push; without a file an empty path clears what the CLI shows. No field is ever null."""
    shown = selection or Selection("", values.NOWHERE, "")
    return jsonrpc.encode_notification("selection_changed", values.selection(shown))


@kept
def selection_result(selection: Selection) -> ToolResult:
    return ToolResult.of_json({"success": True, **values.selection(selection)})


def at_mentioned(path: str, start_line: int | None, end_line: int | None) -> bytes:
    """The push; absent lines mean the whole file or folder."""
    params: dict[str, Any] = {"filePath": path}
    if start_line is not None and end_line is not None:
        params |= {"lineStart": start_line, "lineEnd": end_line}
    return jsonrpc.encode_notification("at_mentioned", params)


def open_editors(buffers: Iterable[OpenBuffer]) -> ToolResult:
    tabs = [
        {
            "uri": to_uri(buffer.path),
            "isActive": buffer.active,
            "label": os.path.basename(buffer.path),
            "languageId": buffer.language_id,
            "isDirty": buffer.dirty,
        }
        for buffer in buffers
    ]
    return ToolResult.of_json({"tabs": tabs})


def workspace_folders(folders: Sequence[str]) -> ToolResult:
    """Each folder once, as spelled; the current one is the root."""
    listed = [
        {"name": os.path.basename(folder) or folder, "uri": to_uri(folder), "path": folder}
        for folder in folders
    ]
    return ToolResult.of_json(
        {"success": True, "folders": listed, "rootPath": folders[0] if folders else ""}
    )


def diagnostics_text(
    files: Mapping[str, Sequence[Diagnostic]], first: Iterable[str], asked_uri: str | None = None
) -> ToolResult:
    """One text block with the JSON array that the CLI parses; at most 1 MiB (wire/diagnosed.py).

    Args:
        files: diagnostics by path.
        first: paths that come first, since not all may fit; clean ones are passed over.
        asked_uri: the URI as the client spelled it, when it asked for one file: it compares the
            text. Otherwise `file://` and the raw path.
    """
    order = dict.fromkeys([*(path for path in first if path in files), *files])
    # the CLI parses the first block only; the model reads both
    return diagnosed.listing(
        ((path, files[path]) for path in order),
        lambda path: {"uri": asked_uri or to_raw_uri(path)},
        _SEVERITIES,
    )


def answer_verdict(tab_name: str, verdict: Verdict) -> ToolResult:
    """openDiff's answer. Never TAB_CLOSED: the CLI takes that for a yes.

    Raises:
        ToolError: the view could not be opened; the CLI's own prompt stays.
        RpcError: the text is too large for the CLI.
    """
    rejected = ToolResult.of_text("DIFF_REJECTED", tab_name)
    match verdict:
        case Accepted(_, unchanged_file=True):
            # FILE_SAVED with the old content is a rejection for the CLI: say what it is
            return rejected
        case Accepted(text):
            if (len(text) if text.isascii() else len(text.encode())) > MAX_MESSAGE_BYTES:
                raise RpcError(
                    RpcError.SERVER_ERROR,
                    "the accepted text is over 16 MiB, which Claude cannot take",
                )
            return ToolResult.of_text("FILE_SAVED", text)
        case Rejected() | Cancelled():
            return rejected
        case Failed(reason):
            raise ToolError(f"The diff could not be opened in Neovim: {reason}")
