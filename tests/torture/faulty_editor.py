"""An editor in memory that refuses, answers late, and whose user is quick.

Owns:     which calls fail.
Not here: what an editor does (tests/support/fake_editor.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent_ide.editor.port import CloseReason
from agent_ide.errors import EditorError
from agent_ide.model import Changes, Proposal, ReviewId
from tests.support.fake_editor import FakeEditor

__all__ = ["FAULTS", "FaultyEditor"]

FAULTS = (
    "show_review",
    "reload_file",
    "merge_into_buffer",
    "read_review",
    "confirm",
    "paste",
    # these two are done all the same: a prompt held Neovim longer than the host waits
    "keep_text",
    "resume_review",
)


class FaultyEditor(FakeEditor):
    """Attributes beside those of the fake one.

    faults:    calls that are refused.
    breaking:  the user closes the next view before the host has heard that it is visible.
    on_closed: told of a view that the user has closed.
    merged:    (path, text) of what went into a buffer as unsaved changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.faults: set[str] = set()
        self.breaking = False
        self.on_closed: Callable[[ReviewId], None] = lambda review: None
        self.merged: list[tuple[str, str]] = []

    def _refuse(self, name: str) -> None:
        if name in self.faults:
            raise EditorError(f"refused: {name}")

    async def show_review(
        self, review: ReviewId, proposal: Proposal, is_new: bool
    ) -> Changes | None:
        self._refuse("show_review")
        changes = await super().show_review(review, proposal, is_new)
        if self.breaking:
            self.breaking = False
            self.on_closed(review)
        return changes

    async def close_review(self, review: ReviewId, reason: CloseReason) -> None:
        await super().close_review(review, reason)
        # done at once, known a moment later
        for _ in range(3):
            await asyncio.sleep(0)
        if reason != "hidden":
            self.typed.pop(review, None)

    async def reload_file(self, path: str, base: bytes) -> None:
        self._refuse("reload_file")
        await super().reload_file(path, base)

    async def merge_into_buffer(self, path: str, base: str, theirs: str) -> int:
        self._refuse("merge_into_buffer")
        self.merged.append((path, theirs))
        return await super().merge_into_buffer(path, base, theirs)

    async def read_review(self, review: ReviewId) -> str | None:
        self._refuse("read_review")
        return await super().read_review(review)

    async def confirm(self, question: str) -> bool:
        self._refuse("confirm")
        return await super().confirm(question)

    async def paste(self, agent: str, text: str) -> None:
        self._refuse("paste")
        await super().paste(agent, text)

    async def keep_text(self, proposal: Proposal, text: str) -> None:
        await super().keep_text(proposal, text)
        self._refuse("keep_text")

    async def resume_review(self, review: ReviewId) -> None:
        await super().resume_review(review)
        self._refuse("resume_review")
