"""The two tools of the companion protocol, which the CLI itself calls; its model sees neither.

Owns:     their schemas; how each diff ends, exactly once.
Not here: words (messages.py), transport (serve.py), the reviews' own rules (review/).
Source:   doc/protocols/gemini-ide.md#diffs. An openDiff is answered at once and never with an
          error: Gemini CLI would give up the edit. One that never ends makes it wait for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from agent_ide.editor.port import Editor
from agent_ide.model import CancelledBy, Failed, Proposal
from agent_ide.protocols.gemini_ide import messages
from agent_ide.protocols.gemini_ide.session import CompanionSession, Diff
from agent_ide.review.reviews import Review, Reviews
from agent_ide.tasks import Tasks
from agent_ide.wire.mcp import ToolCall, ToolResult
from agent_ide.wire.toolspec import ToolSet, ToolSpec
from agent_ide.wire.uri import from_uri

__all__ = ["TOOLS", "Closing", "CompanionTools"]

Closing = Literal["rejects", "hides"]


class OpenDiffArguments(msgspec.Struct, frozen=True, rename="camel"):
    file_path: str
    new_content: str


class CloseDiffArguments(msgspec.Struct, frozen=True, rename="camel"):
    file_path: str
    suppress_notification: bool | None = None


_PATH = {"type": "string", "description": "Absolute path of the file"}

TOOLS = ToolSet(
    [
        ToolSpec(
            "openDiff",
            "Open a diff of a file for the user to accept or reject",
            OpenDiffArguments,
            {
                "filePath": _PATH,
                "newContent": {"type": "string", "description": "What the file shall hold"},
            },
        ),
        ToolSpec(
            "closeDiff",
            "Close the diff of a file; the answer holds its text as the user has left it",
            CloseDiffArguments,
            {
                "filePath": _PATH,
                "suppressNotification": {
                    "type": "boolean",
                    "description": "Taken for compatibility: a diff that is closed is not rejected",
                },
            },
        ),
    ]
)


class CompanionTools:
    """Runs tool calls of every client."""

    def __init__(
        self, editor: Editor, reviews: Reviews, tasks: Tasks, closing: Mapping[str, Closing]
    ) -> None:
        """Nothing is open.

        Args:
            closing: by agent, what the user's closing of a view means.
        """
        self._editor = editor
        self._reviews = reviews
        self._tasks = tasks
        self._closing = closing

    async def run(self, session: CompanionSession, call: ToolCall) -> ToolResult:
        """A tool's result. Never a failed one."""
        match call.arguments:
            case OpenDiffArguments(path, text):
                return await self._open_diff(session, path, text)
            case CloseDiffArguments(path):
                return await self._close_diff(session, path)
        raise AssertionError(f"{call.spec.name} has no handler")

    def abandon(self, session: CompanionSession) -> None:
        """Reject what a client still waits for: it is gone, or nobody will answer it any more."""
        for path in list(session.diffs):
            self._drop(session, path, CancelledBy.CLIENT_GONE)

    async def _open_diff(self, session: CompanionSession, path: str, text: str) -> ToolResult:
        await self._make_way(session, path)
        cli = session.cli
        proposal = Proposal(
            cli.agent,
            cli.title,
            session.client,
            from_uri(path) or path,
            path,
            text.replace("\r\n", "\n"),
            closing=self._closing.get(cli.agent, "rejects"),
            when_stale=f"{cli.title} overwrites it.",
            when_emptied=f"{cli.title} would take an empty text for its own, unchanged one; "
            "reject the edit, or leave something in it",
        )
        diff = session.diffs[path] = Diff(path, proposal)
        self._tasks.spawn(self._await_verdict(session, diff), f"diff of {session.client}")
        return ToolResult(())

    async def _make_way(self, session: CompanionSession, path: str) -> None:
        """A client has one question at a time: what else is open has lost its own."""
        for other in list(session.diffs):
            if other != path:
                self._drop(session, other, CancelledBy.REQUEST)
        previous = session.diffs.pop(path, None)
        if previous is not None:
            # by this path the client knows the new one only
            session.settle(previous, None)
            review = self._review(previous)
            if review is not None:
                await self._reviews.close(review, CancelledBy.REPLACED)

    def _drop(self, session: CompanionSession, path: str, by: CancelledBy) -> None:
        diff = session.diffs.pop(path)
        session.settle(diff, messages.diff_rejected(path))
        review = self._review(diff)
        if review is not None:
            self._reviews.withdraw([review], by)

    async def _await_verdict(self, session: CompanionSession, diff: Diff) -> None:
        verdict = await self._reviews.propose(diff.proposal)
        if not isinstance(verdict, Failed):
            session.settle(diff, messages.verdict_message(diff.path, verdict))
        elif not verdict.by_choice:
            self._editor.notify(
                f"the diff of {diff.path} cannot be shown ({verdict.reason}); "
                f"{session.cli.title} asks about it in its terminal",
                "warn",
            )

    async def _close_diff(self, session: CompanionSession, path: str) -> ToolResult:
        diff = session.diffs.get(path)
        if diff is None:
            return ToolResult.of_json({})
        review = self._review(diff)
        text = diff.proposal.text if review is None else await self._reviews.text_of(review)
        # the user may have decided meanwhile, and the client been told
        if session.diffs.get(path) is diff:
            del session.diffs[path]
        session.settle(diff, None)
        if review is not None:
            await self._reviews.close(review)
        return ToolResult.of_json({"content": text})

    def _review(self, diff: Diff) -> Review | None:
        """Its review while that is open: undecided, or accepted and not written yet."""
        found = (item for item in self._reviews.open() if item.proposal is diff.proposal)
        return next(found, None)
