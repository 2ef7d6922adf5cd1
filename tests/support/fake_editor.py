"""An editor in memory, for tests of what stands above the port.

Owns:     buffers as texts, views as a set; `refuse` makes every call fail.
Not here: Neovim. tests/editor runs the same cases on this and on the real one, so that it cannot
          drift from what Neovim does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_ide.editor.port import CloseReason, Level, ReviewEvent
from agent_ide.errors import EditorError
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
from agent_ide.review.changes import count

__all__ = ["FakeEditor"]


class FakeEditor:
    """Attributes a test looks at.

    buffers:  text of each open file.
    dirty:    files with unsaved changes.
    views:    proposals that are visible.
    closed:   (id, reason) of each closed view, oldest first.
    notes:    what the user was told.
    kept:     texts that were kept for the user.
    typed:    what the user has made of a proposal in its view.
    prompts:  what was pasted into an agent's terminal; an agent without entry has none.
    refuse:   when set, calls fail with this sentence.
    free:     while cleared, show_review waits (the user is in the middle of something).
    """

    def __init__(self) -> None:
        self.buffers: dict[str, str] = {}
        self.dirty: set[str] = set()
        self.views: dict[ReviewId, Proposal] = {}
        self.closed: list[tuple[ReviewId, CloseReason]] = []
        self.reloaded: list[tuple[str, bytes]] = []
        self.notes: list[str] = []
        self.kept: list[str] = []
        self.typed: dict[ReviewId, str] = {}
        self.prompts: dict[str, str] = {}
        self.selection: Selection | None = None
        self.notebook: NotebookTarget | None = None
        self.resumed: list[ReviewId] = []
        self.questions: list[str] = []
        self.announced: list[tuple[ReviewEvent, dict[str, Any]]] = []
        self.agrees = True
        self.tracking = False
        self.status: dict[str, Any] = {}
        self.refuse: str | None = None
        self.free = asyncio.Event()
        self.free.set()
        self._opening: dict[ReviewId, asyncio.Future[bool]] = {}

    def _check(self) -> None:
        if self.refuse is not None:
            raise EditorError(self.refuse)

    async def open_file(self, request: OpenFile) -> OpenedFile:
        self._check()
        if not Path(request.path).is_file():
            raise EditorError(f"no such file: {request.path}")
        text = Path(request.path).read_text(encoding="utf-8")
        self.buffers.setdefault(request.path, text)
        language = {".py": "python", ".txt": "text"}.get(Path(request.path).suffix, "")
        return OpenedFile(language, len(text.splitlines()))

    async def save_file(self, path: str) -> SavedFile:
        self._check()
        if path not in self.buffers:
            return SavedFile(found=False, saved=False, message="not open")
        Path(path).write_text(self.buffers[path], encoding="utf-8")
        self.dirty.discard(path)
        return SavedFile(found=True, saved=True, message="")

    async def reload_file(self, path: str, base: bytes) -> None:
        self._check()
        self.reloaded.append((path, base))
        if path in self.buffers:
            written = Path(path).read_text(encoding="utf-8")
            # not a merge, but nothing of either is lost
            mine = self.buffers[path] if path in self.dirty else ""
            self.buffers[path] = mine + written

    async def merge_into_buffer(self, path: str, base: str, theirs: str) -> int:
        self._check()
        self.buffers[path] = theirs
        self.dirty.add(path)
        return 0

    async def read_selection(self) -> Selection | None:
        self._check()
        return self.selection

    async def read_notebook(self) -> NotebookTarget | None:
        self._check()
        return self.notebook

    async def show_review(
        self, review: ReviewId, proposal: Proposal, is_new: bool
    ) -> Changes | None:
        opening = asyncio.ensure_future(self.free.wait())
        self._opening[review] = opening
        await asyncio.wait({opening})
        if self._opening.get(review) is not opening:
            raise EditorError("closed before it was shown")
        del self._opening[review]
        self._check()
        self.views[review] = proposal
        file = Path(proposal.path)
        before = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
        return count(before.replace("\r\n", "\n"), proposal.text)

    async def close_review(self, review: ReviewId, reason: CloseReason) -> None:
        self._check()
        if review in self._opening:
            self._opening.pop(review).cancel()
        typed = self.typed.get(review)
        if reason == "withdrawn" and typed is not None:
            self.kept.append(typed)
        self.views.pop(review, None)
        self.closed.append((review, reason))

    async def resume_review(self, review: ReviewId) -> None:
        self._check()
        self.resumed.append(review)

    async def read_review(self, review: ReviewId) -> str | None:
        self._check()
        if review not in self.views:
            return None
        return self.typed.get(review, self.views[review].text)

    async def paste(self, agent: str, text: str) -> None:
        self._check()
        if agent not in self.prompts:
            raise EditorError(f"{agent} does not run in a terminal of this editor")
        self.prompts[agent] += text

    async def keep_text(self, proposal: Proposal, text: str) -> None:
        self._check()
        self.kept.append(text)

    async def confirm(self, question: str) -> bool:
        self._check()
        self.questions.append(question)
        return self.agrees

    def notify(self, message: str, level: Level = "info") -> None:
        self.notes.append(message)

    def announce(self, review: ReviewId, event: ReviewEvent, facts: Mapping[str, Any]) -> None:
        self.announced.append((event, dict(facts)))

    def track(self, enabled: bool) -> None:
        self.tracking = enabled

    def publish(self, status: dict[str, Any]) -> None:
        self.status = status
