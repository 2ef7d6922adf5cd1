"""What an agent may ask of an editor, in our words.

Owns:     the port's shape.
Not here: Neovim (nvim.py), what was pushed already (state.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from agent_ide.model import (
    Changes,
    NotebookTarget,
    OpenedFile,
    OpenFile,
    Proposal,
    ReviewId,
    SavedFile,
    Selection,
)

__all__ = ["CloseReason", "Editor", "Level", "ReviewEvent"]

Level = Literal["info", "warn", "error"]

CloseReason = Literal["accepted", "rejected", "withdrawn", "hidden"]
"""Why a view goes. withdrawn: what the user typed into it is kept; hidden: it may come again."""


ReviewEvent = Literal["opened", "accepted", "rejected", "closed"]


class Editor(Protocol):
    """The editor. Every coroutine raises EditorError when it refuses or does not answer in time."""

    async def open_file(self, request: OpenFile) -> OpenedFile:
        """Show a file, or load it without a window."""

    async def save_file(self, path: str) -> SavedFile:
        """Write the buffer of a file."""

    async def reload_file(self, path: str, base: bytes) -> None:
        """Take up what an agent has written, without a question.

        Unsaved changes are merged with it; `base` is what the file held before. No deadline: the
        user may be typing there.
        """

    async def merge_into_buffer(self, path: str, base: str, theirs: str) -> int:
        """Put a text into the file's buffer as unsaved changes; returns the number of conflicts."""

    async def read_selection(self) -> Selection | None:
        """The whole selection as it is now; None without a file."""

    async def read_notebook(self) -> NotebookTarget | None:
        """The notebook in the current window."""

    async def show_review(
        self, review: ReviewId, proposal: Proposal, is_new: bool
    ) -> Changes | None:
        """Open the view of a review. No deadline: a prompt may hold the editor for long.

        Returns:
            How much it changes as it is shown; None: the editor cannot tell.
        """

    async def close_review(self, review: ReviewId, reason: CloseReason) -> None:
        """Close the view of a review if it is open."""

    async def resume_review(self, review: ReviewId) -> None:
        """The verdict that came from the view does not count: let the user go on."""

    async def read_review(self, review: ReviewId) -> str | None:
        """The proposal as it stands in its view, with what the user has typed; None: no view."""

    async def paste(self, agent: str, text: str) -> None:
        """Put a text into the prompt of the agent's CLI that runs in a terminal of the editor.

        When it cannot be, the user has been told why.
        """

    async def keep_text(self, proposal: Proposal, text: str) -> None:
        """Keep the user's version of a proposal that its client did not take."""

    async def confirm(self, question: str) -> bool:
        """Ask the user. No deadline."""

    def notify(self, message: str, level: Level = "info") -> None:
        """Tell the user one line; returns at once."""

    def announce(self, review: ReviewId, event: ReviewEvent, facts: Mapping[str, Any]) -> None:
        """Tell the user's configuration what became of a review; returns at once."""

    def track(self, enabled: bool) -> None:
        """Start or stop pushing selection, buffers, folders and diagnostics."""

    def publish(self, status: dict[str, Any]) -> None:
        """Push the host's status (shape: doc/channel.md)."""
