"""The six tools of Copilot CLI's IDE protocol.

Owns:     their schemas, and what each asks of editor, state and reviews.
Not here: words of the answers (messages.py), transport (serve.py).
Source:   doc/protocols/copilot-ide.md#tools. The CLI itself calls open_diff, close_diff and
          update_session_name; its model sees get_selection and get_diagnostics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from agent_ide.editor.port import Editor
from agent_ide.editor.selected import Selected
from agent_ide.editor.state import EditorState
from agent_ide.errors import ToolError
from agent_ide.model import CancelledBy, Proposal
from agent_ide.protocols.copilot_ide import messages
from agent_ide.protocols.copilot_ide.session import CopilotSession
from agent_ide.review.reviews import Review, Reviews
from agent_ide.wire.mcp import ToolAnswer, ToolCall, ToolResult
from agent_ide.wire.toolspec import NoArguments, ToolSet, ToolSpec
from agent_ide.wire.uri import require_path

__all__ = ["AGENT", "TITLE", "TOOLS", "CopilotTools", "DiffPolicy"]

AGENT = "copilot"
TITLE = "Copilot CLI"

_VIRTUAL = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")
"""A URI of what is no file: `untitled:`, `git:`, `output:`; a drive letter is none."""


class Nothing(NoArguments, frozen=True, forbid_unknown_fields=True):
    """No parameters, and none are taken."""


class UriArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    uri: str | None = None


class OpenDiffArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    original_file_path: str
    new_file_contents: str
    tab_name: str


class TabArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tab_name: str


class NameArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


def _spec(
    name: str,
    description: str,
    arguments: type[msgspec.Struct] = Nothing,
    parameters: Mapping[str, str] | None = None,
) -> ToolSpec:
    schema: dict[str, Any] = {"additionalProperties": False}
    if parameters:
        schema["$schema"] = "http://json-schema.org/draft-07/schema#"
    return ToolSpec(
        name,
        description,
        arguments,
        properties={
            parameter: {"type": "string", "description": text}
            for parameter, text in (parameters or {}).items()
        },
        extras={"execution": {"taskSupport": "forbidden"}},
        schema_extras=schema,
    )


TOOLS = ToolSet(
    [
        _spec("get_vscode_info", "Get information about the editor (Neovim)"),
        _spec(
            "get_selection",
            "Get the text that the user has selected in the editor, or the cursor's position",
        ),
        _spec(
            "get_diagnostics",
            "Get language diagnostics (errors, warnings, hints) from the editor",
            UriArguments,
            {"uri": "File URI to get diagnostics for. Without it, diagnostics for all files."},
        ),
        _spec(
            "open_diff",
            "Open a diff of a file and wait until the user accepts or rejects it",
            OpenDiffArguments,
            {
                "original_file_path": "Path to the original file",
                "new_file_contents": "The contents that are proposed for the file",
                "tab_name": "Name of the diff's tab",
            },
        ),
        _spec(
            "close_diff",
            "Close a diff by the name of its tab",
            TabArguments,
            {"tab_name": "Name of the diff's tab"},
        ),
        _spec(
            "update_session_name",
            "Set the name under which the editor shows this session",
            NameArguments,
            {"name": "The name"},
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class DiffPolicy:
    """Options of reviews for this agent.

    timeout_s: an open_diff without a verdict is rejected after this; None waits for ever.
    closing:   what the user's closing of the view means.
    """

    timeout_s: float | None
    closing: Literal["rejects", "hides"]


class CopilotTools:
    """Runs tool calls of every client."""

    def __init__(
        self,
        editor: Editor,
        state: EditorState,
        reviews: Reviews,
        policy: DiffPolicy,
        info: Mapping[str, str],
        track_selection: bool,
    ) -> None:
        self._editor = editor
        self._state = state
        self._reviews = reviews
        self._policy = policy
        self._info = info
        self._selected = Selected(editor, state, track_selection)
        handlers: list[tuple[str, Callable[[CopilotSession, Any], ToolAnswer]]] = [
            ("get_vscode_info", self._vscode_info),
            ("get_selection", self._selection),
            ("get_diagnostics", self._diagnostics),
            ("open_diff", self._open_diff),
            ("close_diff", self._close_diff),
            ("update_session_name", self._session_name),
        ]
        self._handlers = dict(handlers)

    def run(self, session: CopilotSession, call: ToolCall) -> ToolAnswer:
        """A tool's result, at once where it is in what the editor has pushed.

        Raises:
            EditorError, ToolError: it failed, for the agent to know why.
            RpcError: the call itself is wrong.
        """
        return self._handlers[call.spec.name](session, call.arguments)

    def _vscode_info(self, _session: CopilotSession, _: Nothing) -> ToolResult:
        return ToolResult.of_json(self._info)

    def _selection(self, _session: CopilotSession, _: Nothing) -> ToolAnswer:
        if self._selected.needs_editor:
            return self._read_selection()
        current, latest = self._state.selection, self._state.latest
        return messages.selection_result(current or latest, current=current is not None)

    async def _read_selection(self) -> ToolResult:
        current = await self._selected.current()
        if current is not None:
            return messages.selection_result(current, current=True)
        return messages.selection_result(await self._selected.latest(), current=False)

    def _diagnostics(self, _session: CopilotSession, arguments: UriArguments) -> ToolResult:
        if not arguments.uri:
            known = self._state.diagnostics
            return messages.diagnostics_result((it, known[it]) for it in self._state.worst_files())
        if _VIRTUAL.match(arguments.uri):
            # a buffer without a file, which has none
            return messages.diagnostics_result([])
        path = require_path(arguments.uri)
        return messages.diagnostics_result([(path, self._state.diagnostics_of(path))])

    async def _open_diff(self, session: CopilotSession, arguments: OpenDiffArguments) -> ToolResult:
        path, tab_name = require_path(arguments.original_file_path), arguments.tab_name
        namesake = self._reviews.find(AGENT, tab_name)
        if namesake is not None and _waits_for_another(namesake, session):
            raise ToolError("a diff of that name was accepted for another client")
        if namesake is not None:
            await self._reviews.close(namesake, CancelledBy.REPLACED)
        proposal = Proposal(
            AGENT,
            TITLE,
            session.client,
            path,
            tab_name,
            arguments.new_file_contents.replace("\r\n", "\n"),
            # the CLI writes its own text, whatever the user made of it
            writes="proposed",
            closing=self._policy.closing,
            when_stale="Copilot overwrites it with its own text.",
        )
        verdict = await self._reviews.propose(proposal, self._policy.timeout_s)
        return messages.answer_verdict(path, tab_name, verdict)

    async def _close_diff(self, session: CopilotSession, arguments: TabArguments) -> ToolResult:
        review = self._reviews.find(AGENT, arguments.tab_name)
        if review is not None and _waits_for_another(review, session):
            review = None
        if review is not None:
            await self._reviews.close(review)
        return messages.answer_close(arguments.tab_name, was_open=review is not None)

    def _session_name(self, session: CopilotSession, arguments: NameArguments) -> ToolResult:
        session.name = messages.harmless(arguments.name) or None
        return ToolResult.of_json({"success": True})


def _waits_for_another(review: Review, session: CopilotSession) -> bool:
    """An accepted review belongs to its client until that one has written, or is gone."""
    another = review.proposal.client != session.client and not review.client_gone
    return review.accepted and another
