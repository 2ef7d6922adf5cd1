"""From the accept until the agent has written the file, and the editor has taken it up.

Owns:     the wait for the write, which reviews are waited for after their client let them go,
          what was written and can be undone.
Not here: the lifecycle (machine.py); how a file is looked at (watch.py); the merge (lua/).
Source:   doc/decisions/002-watch-the-file-after-release.md.
"""

from __future__ import annotations

import asyncio
import logging

from agent_ide.editor.port import Editor
from agent_ide.errors import EditorError
from agent_ide.model import Accepted
from agent_ide.review.review import Review
from agent_ide.review.watch import look, wait_until

__all__ = ["Writing"]

logger = logging.getLogger(__name__)

WRITE_PATIENCE_S = 10.0
"""After this without a write the user is told."""

MOST_UNDOABLE = 20
"""Each keeps two texts of a file."""


class Writing:
    """Looks after the files of decided reviews."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._released: set[Review] = set()
        self._undoable: list[tuple[Review, str]] = []

    def concerns(self, review: Review) -> bool:
        """Whether an agent is about to write this file after another review was accepted."""
        return any(review.same_file(other) for other in self._released)

    async def is_written(self, review: Review) -> bool:
        return review.is_in(await look(review.path))

    async def await_write(self, review: Review) -> bool:
        """Wait until the file holds the accepted text; False: the review was closed otherwise."""
        if not await self._written_within(review, WRITE_PATIENCE_S) and review.accepted:
            self._editor.notify(
                f"{review.proposal.title} has not written {review.name} yet; "
                "the review stays open (:AgentIde diffs)",
                "warn",
            )
            await self._written_within(review, None)
        return review.accepted

    async def after_release(self, review: Review) -> None:
        """Its client let it go before it wrote, as Claude does: it writes now, or never.

        What it writes may be another text: Claude makes its edit anew in a file that has changed.
        """
        at_accept = review.disk
        self._released.add(review)
        try:
            written = await wait_until(
                review.path, lambda disk: not disk.reads_as(at_accept), WRITE_PATIENCE_S
            )
        finally:
            self._released.discard(review)
        if written:
            await self.take_up(review)
            if await self.is_written(review):
                return
            message = f"{review.name} had changed: {review.proposal.title} wrote another text"
        else:
            message = f"{review.proposal.title} did not write {review.name}"
        if isinstance(review.verdict, Accepted) and review.verdict.text != review.proposal.text:
            await self._keep(review, review.verdict.text)
            message += "; your version of it is kept (:AgentIde recover)"
        self._editor.notify(message, "warn")

    async def _keep(self, review: Review, text: str) -> None:
        try:
            await self._editor.keep_text(review.proposal, text)
        except EditorError as error:
            # an editor that only was too busy to say so keeps it all the same
            logger.warning("! review %d: not known to be kept: %s", review.id, error)

    async def take_up_when_changed(self, review: Review) -> None:
        """A decision in the agent's own terminal: take the file up once it has changed."""
        before = review.before
        changed = await wait_until(
            review.path,
            lambda disk: disk.data is not None and not disk.reads_as(before),
            WRITE_PATIENCE_S,
        )
        if changed:
            await self.take_up(review)

    async def take_up(self, review: Review) -> None:
        """Take up what the agent has written; the user's own version goes on top, unsaved."""
        path = review.path
        # what the last look saw may be the agent's own text already
        disk = await look(path)
        written, is_new = await asyncio.to_thread(
            lambda: (disk.text, not disk.reads_as(review.disk))
        )
        base = review.disk if is_new else review.before
        if review.expected is not None and written is not None:
            self._undoable = [*self._undoable[1 - MOST_UNDOABLE :], (review, written)]
        try:
            await self._editor.reload_file(path, base.data or b"")
        except EditorError as error:
            logger.warning("! %s was not reloaded: %s", path, error)
        if isinstance(review.verdict, Accepted) and review.verdict.text != review.expected:
            await self._put_on_top(review, review.verdict.text)

    async def _put_on_top(self, review: Review, text: str) -> None:
        """The agent wrote its own text; what the user made of it is not lost."""
        its_own = f"{review.proposal.title} wrote its own text; your version of {review.name} is"
        try:
            await self._editor.merge_into_buffer(review.path, review.proposal.text, text)
        except EditorError as error:
            logger.warning("! %s did not take the user's version: %s", review.path, error)
            await self._keep(review, text)
            self._editor.notify(f"{its_own} kept (:AgentIde recover)", "warn")
        else:
            self._editor.notify(f"{its_own} in its buffer, unsaved")

    async def undo(self) -> None:
        """The last accepted review's file as it was before, unsaved; later changes of it stay."""
        if not self._undoable:
            self._editor.notify("no accepted diff to undo")
            return
        review, written = self._undoable.pop()
        try:
            await self._editor.merge_into_buffer(review.path, written, review.disk.text or "")
        except EditorError as error:
            self._editor.notify(f"{review.name}: {error}", "error")
            return
        left = "it was new: delete it if you want" if review.is_new else ":w writes it"
        self._editor.notify(f"{review.name} is as before that edit, unsaved; {left}")

    async def _written_within(self, review: Review, patience_s: float | None) -> bool:
        """False as well when the review is closed meanwhile."""
        was = review.state
        return await wait_until(
            review.path,
            holds=review.is_in,
            patience_s=patience_s,
            wanted=lambda: review.state is was,
        )
