"""The twelve tools that Claude Code's IDE protocol promises.

Owns:     their schemas, and what each asks of editor, state and reviews.
Not here: words of the answers (messages.py), transport (serve.py).
Source:   doc/protocols/claude-ide.md#tools. The CLI itself calls openDiff, close_tab,
          closeAllDiffTabs and getDiagnostics; its model sees getDiagnostics and executeCode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agent_ide.editor.port import Editor
from agent_ide.editor.selected import Selected
from agent_ide.editor.state import EditorState
from agent_ide.errors import RpcError, ToolError
from agent_ide.model import Accepted, CancelledBy, ClientId, OpenFile, Proposal, Selection
from agent_ide.notebook.kernel import Image, Kernels
from agent_ide.protocols.claude_ide import messages
from agent_ide.review.reviews import Reviews
from agent_ide.wire.mcp import Content, ImageContent, TextContent, ToolAnswer, ToolCall, ToolResult
from agent_ide.wire.toolspec import NoArguments, ToolSet, ToolSpec
from agent_ide.wire.uri import require_path

__all__ = ["TOOLS", "ClaudeTools"]

AGENT = "claude"
TITLE = "Claude Code"


class OpenFileArguments(msgspec.Struct, frozen=True, rename="camel"):
    file_path: str
    preview: bool = False
    start_text: str | None = None
    end_text: str | None = None
    select_to_end_of_line: bool = False
    make_frontmost: bool = True


class OpenDiffArguments(msgspec.Struct, frozen=True):
    old_file_path: str
    new_file_path: str
    new_file_contents: str
    tab_name: str


class UriArguments(msgspec.Struct, frozen=True):
    uri: str | None = None


class FileArguments(msgspec.Struct, frozen=True, rename="camel"):
    file_path: str


class TabArguments(msgspec.Struct, frozen=True):
    tab_name: str


class CodeArguments(msgspec.Struct, frozen=True):
    code: str


def _string(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _boolean(description: str, default: bool) -> dict[str, Any]:
    return {"type": "boolean", "description": description, "default": default}


TOOLS = ToolSet(
    [
        ToolSpec(
            "openFile",
            "Open a file in the editor and optionally select a range of text",
            OpenFileArguments,
            {
                "filePath": _string("Path to the file to open"),
                "preview": _boolean("Whether to open the file in preview mode", False),
                "startText": _string("Text pattern to find the start of the selection range"),
                "endText": _string("Text pattern to find the end of the selection range"),
                "selectToEndOfLine": _boolean("Extend the selection to the end of the line", False),
                "makeFrontmost": _boolean("Make the file the active editor tab", True),
            },
        ),
        ToolSpec(
            "openDiff",
            "Open a diff of a file and wait until the user accepts, changes or rejects it",
            OpenDiffArguments,
            {
                "old_file_path": _string("Path to the original file"),
                "new_file_path": _string("Path to the new file"),
                "new_file_contents": _string("Contents of the new file"),
                "tab_name": _string("Name of the diff's tab"),
            },
        ),
        ToolSpec("getCurrentSelection", "Get the current text selection in the active editor"),
        ToolSpec(
            "getLatestSelection",
            "Get the most recent text selection (even if not in the active editor)",
        ),
        ToolSpec("getOpenEditors", "Get information about currently open editors"),
        ToolSpec("getWorkspaceFolders", "Get all workspace folders currently open in the IDE"),
        ToolSpec(
            "getDiagnostics",
            "Get language diagnostics from Neovim",
            UriArguments,
            {
                "uri": _string(
                    "File URI to get diagnostics for. Without it, diagnostics for all files."
                )
            },
        ),
        ToolSpec(
            "checkDocumentDirty",
            "Check if a document has unsaved changes (is dirty)",
            FileArguments,
            {"filePath": _string("Path to the file to check")},
        ),
        ToolSpec(
            "saveDocument",
            "Save a document with unsaved changes",
            FileArguments,
            {"filePath": _string("Path to the file to save")},
        ),
        ToolSpec(
            "close_tab",
            "Close a diff tab by name",
            TabArguments,
            {"tab_name": _string("Name of the diff tab to close")},
        ),
        ToolSpec("closeAllDiffTabs", "Close all diff tabs in the editor"),
        ToolSpec(
            "executeCode",
            "Execute Python code in the Jupyter kernel for the current notebook file.\n\n"
            "All code will be executed in the current Jupyter kernel. State persists across calls "
            "unless the user restarts the kernel. Avoid declaring variables or modifying the state "
            "of the kernel unless the user explicitly asks for it.",
            CodeArguments,
            {"code": _string("The code to be executed on the kernel.")},
        ),
    ]
)


class ClaudeTools:
    """Runs tool calls of every client."""

    def __init__(
        self,
        editor: Editor,
        state: EditorState,
        reviews: Reviews,
        kernels: Kernels,
        track_selection: bool,
    ) -> None:
        self._editor = editor
        self._state = state
        self._reviews = reviews
        self._kernels = kernels
        self._selected = Selected(editor, state, track_selection)
        self._edited: dict[ClientId, dict[str, None]] = {}
        handlers: list[tuple[str, Callable[[ClientId, Any], ToolAnswer]]] = [
            ("openFile", self._open_file),
            ("openDiff", self._open_diff),
            ("getCurrentSelection", self._current_selection),
            ("getLatestSelection", self._latest_selection),
            ("getOpenEditors", self._open_editors),
            ("getWorkspaceFolders", self._workspace_folders),
            ("getDiagnostics", self._diagnostics),
            ("checkDocumentDirty", self._document_dirty),
            ("saveDocument", self._save_document),
            ("close_tab", self._close_tab),
            ("closeAllDiffTabs", self._close_all),
            ("executeCode", self._execute_code),
        ]
        self._handlers = dict(handlers)

    def run(self, client: ClientId, call: ToolCall) -> ToolAnswer:
        """A tool's result, at once where it is in what the editor has pushed.

        Raises:
            ToolError, EditorError: it failed, for the agent to know why.
            RpcError: the call itself is wrong.
        """
        return self._handlers[call.spec.name](client, call.arguments)

    def forget(self, client: ClientId) -> None:
        self._edited.pop(client, None)

    # -- files --------------------------------------------------------------------------------

    async def _open_file(self, _client: ClientId, arguments: OpenFileArguments) -> ToolResult:
        path = require_path(arguments.file_path)
        opened = await self._editor.open_file(
            OpenFile(
                path,
                arguments.preview,
                arguments.start_text,
                arguments.end_text,
                arguments.select_to_end_of_line,
                arguments.make_frontmost,
            )
        )
        if arguments.make_frontmost:
            return ToolResult.of_text(f"Opened file: {path}")
        return ToolResult.of_json(
            {
                "success": True,
                "filePath": path,
                "languageId": opened.language_id,
                "lineCount": opened.line_count,
            }
        )

    def _document_dirty(self, _client: ClientId, arguments: FileArguments) -> ToolResult:
        path = require_path(arguments.file_path)
        buffer = self._state.buffer(path)
        if buffer is None:
            return _not_open(path)
        return ToolResult.of_json(
            {
                "success": True,
                "filePath": path,
                "isDirty": buffer.dirty,
                "isUntitled": buffer.untitled,
            }
        )

    async def _save_document(self, _client: ClientId, arguments: FileArguments) -> ToolResult:
        path = require_path(arguments.file_path)
        saved = await self._editor.save_file(path)
        if not saved.found:
            return _not_open(path)
        return ToolResult.of_json(
            {
                "success": saved.saved,
                "filePath": path,
                "saved": saved.saved,
                "message": "Document saved successfully" if saved.saved else saved.message,
            }
        )

    # -- what the editor has pushed -----------------------------------------------------------

    def _current_selection(self, _client: ClientId, _: NoArguments) -> ToolAnswer:
        async def read() -> ToolResult:
            return _selection_or(await self._selected.current(), "No active editor found")

        if self._selected.needs_editor:
            return read()
        return _selection_or(self._state.selection, "No active editor found")

    def _latest_selection(self, _client: ClientId, _: NoArguments) -> ToolAnswer:
        async def read() -> ToolResult:
            return _selection_or(await self._selected.latest(), "No selection available")

        if self._selected.needs_editor:
            return read()
        return _selection_or(self._state.latest, "No selection available")

    def _open_editors(self, _client: ClientId, _: NoArguments) -> ToolResult:
        return messages.open_editors(self._state.buffers)

    def _workspace_folders(self, _client: ClientId, _: NoArguments) -> ToolResult:
        return messages.workspace_folders(self._state.folders)

    def _diagnostics(self, client: ClientId, arguments: UriArguments) -> ToolResult:
        edited = self._edited.setdefault(client, {})
        if not arguments.uri:
            # the CLI compares what it has edited with what was wrong before
            first = [*edited, *self._state.worst_files()]
            return messages.diagnostics_text(self._state.diagnostics, first)
        path = require_path(arguments.uri)
        edited.setdefault(path)
        return messages.diagnostics_text(
            {path: self._state.diagnostics_of(path)}, [path], asked_uri=arguments.uri
        )

    # -- diffs --------------------------------------------------------------------------------

    async def _open_diff(self, client: ClientId, arguments: OpenDiffArguments) -> ToolResult:
        path, tab_name = require_path(arguments.new_file_path), arguments.tab_name
        namesake = self._reviews.find(AGENT, tab_name)
        if namesake is not None:
            if namesake.accepted and namesake.proposal.client != client:
                raise RpcError(
                    RpcError.SERVER_ERROR,
                    "a diff of that name was accepted for another client and is not written yet",
                )
            await self._reviews.close(namesake, CancelledBy.REPLACED)
        self._edited.setdefault(client, {}).setdefault(path)
        verdict = await self._reviews.propose(
            Proposal(
                AGENT,
                TITLE,
                client,
                path,
                tab_name,
                arguments.new_file_contents,
                closings_after_reject=2,
                when_stale="Claude makes its edit anew in the file as it is now, or fails.",
            )
        )
        if isinstance(verdict, Accepted) and verdict.unchanged_file:
            self._editor.notify(
                "the accepted text is what the file holds already: Claude takes that as a rejection"
            )
        return messages.answer_verdict(tab_name, verdict)

    async def _close_tab(self, client: ClientId, arguments: TabArguments) -> ToolResult:
        self._reviews.tab_closed(AGENT, client, arguments.tab_name)
        review = self._reviews.find(AGENT, arguments.tab_name)
        others = review is not None and review.accepted and review.proposal.client != client
        if review is not None and not others:
            await self._reviews.close(review)
        return ToolResult.of_text("TAB_CLOSED")

    async def _close_all(self, client: ClientId, _: NoArguments) -> ToolResult:
        """The asker's own: the CLI sends this with every prompt (doc/decisions/001)."""
        mine = self._reviews.of_client(client)
        for review in mine:
            await self._reviews.close(review)
        return ToolResult.of_text(f"CLOSED_{len(mine)}_DIFF_TABS")

    # -- notebooks ----------------------------------------------------------------------------

    async def _execute_code(self, _client: ClientId, arguments: CodeArguments) -> ToolResult:
        notebook = await self._editor.read_notebook()
        if notebook is None:
            raise ToolError(
                "No notebook is open: the current buffer in Neovim is neither an .ipynb file nor a "
                "Python script with `# %%` cells."
            )
        outputs = await self._kernels.execute(
            notebook.path, notebook.kernel_name, arguments.code, self._editor.confirm
        )
        content: list[Content] = [
            ImageContent(output.data, output.mime)
            if isinstance(output, Image)
            else TextContent(output.text)
            for output in outputs
        ]
        return ToolResult(tuple(content))


def _selection_or(selection: Selection | None, none: str) -> ToolResult:
    if selection is None:
        return ToolResult.of_json({"success": False, "message": none})
    return messages.selection_result(selection)


def _not_open(path: str) -> ToolResult:
    return ToolResult.of_json({"success": False, "message": f"Document not open: {path}"})
