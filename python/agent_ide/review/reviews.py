"""The live set of reviews: who asked, who waits, whose turn it is.

Owns:     every review from its proposal until it is closed.
Not here: the lifecycle's rules (machine.py), the file after a verdict (writing.py), words of a
          protocol (protocols/*/messages.py), windows (lua/agent_ide/diff).
Above:    tools propose, release and withdraw; the host passes on what the user did.
Length:   one class, whose every method is about the set or the order of its reviews.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable

from agent_ide.editor.port import CloseReason, Editor
from agent_ide.errors import EditorError
from agent_ide.model import (
    Accepted,
    Cancelled,
    CancelledBy,
    ClientId,
    Failed,
    Proposal,
    Rejected,
    RejectedBy,
    ReviewId,
    Verdict,
)
from agent_ide.review.changes import count
from agent_ide.review.machine import OPEN, Effect, Event, State, step
from agent_ide.review.reasons import Reasons
from agent_ide.review.review import Disk, Review, as_lf
from agent_ide.review.watch import look, wait_changed
from agent_ide.review.writing import Writing
from agent_ide.tasks import Tasks

__all__ = ["Review", "Reviews"]

logger = logging.getLogger(__name__)


class Reviews:
    """All reviews of this editor; one is shown at a time, the others wait in order."""

    def __init__(
        self,
        editor: Editor,
        tasks: Tasks,
        on_change: Callable[[], None],
        is_enabled: Callable[[str], bool] = lambda agent: True,
    ) -> None:
        self._editor = editor
        self._tasks = tasks
        self._on_change = on_change
        self._is_enabled = is_enabled
        self._writing = Writing(editor)
        self._reasons = Reasons(editor, tasks)
        self._wanted: Review | None = None
        self._reviews: dict[ReviewId, Review] = {}
        self._last_id = 0

    # -- what a protocol asks -----------------------------------------------------------------

    async def propose(self, proposal: Proposal, timeout_s: float | None = None) -> Verdict:
        """Queue a proposal and wait for its verdict. Cancelling the caller withdraws it.

        Args:
            timeout_s: after this without a verdict it is withdrawn; None waits for ever.
        """
        if not self._is_enabled(proposal.agent):
            return Failed("the user has switched diffs off; ask in the terminal", by_choice=True)
        if not os.path.isabs(proposal.path) or "\0" in proposal.path:
            # `term://` and the like: to Neovim a command, to the host a file below its folder
            return Failed("it is no absolute path of a file")
        self._last_id += 1
        # in the set before anything is waited for: arrival is the order, and its client may go
        review = Review.of(ReviewId(self._last_id), proposal)
        self._reviews[review.id] = review
        logger.info("= review %d of %s: %s", review.id, proposal.client, proposal.path)
        self._on_change()
        try:
            review.before = await look(proposal.path)
            self._note_disk(review, review.before)
            self._on_change()
            self._tasks.spawn(self._watch_disk(review), f"watch {review.id}")
            self._next_turn()
            if review.state is State.QUEUED:
                self._tasks.spawn(self._count_changes(review), f"count changes of {review.id}")
            await asyncio.wait({review.waiter}, timeout=timeout_s)
            self.withdraw([review], CancelledBy.TIMEOUT)
            return review.waiter.result()
        except asyncio.CancelledError:
            self.withdraw([review], CancelledBy.REQUEST)
            raise

    def find(self, agent: str, tab_name: str) -> Review | None:
        """The open review of that exact name."""
        for review in self.open():
            if review.proposal.agent == agent and review.proposal.tab_name == tab_name:
                return review
        return None

    def open(self) -> list[Review]:
        """Undecided and accepted ones, oldest first."""
        return [review for review in self._reviews.values() if review.state in OPEN]

    def of_client(self, client: ClientId) -> list[Review]:
        return [review for review in self.open() if review.proposal.client == client]

    def withdraw(self, reviews: Iterable[Review], by: CancelledBy) -> None:
        """Nobody wants the verdict of these any more; decided ones are left alone."""
        for review in reviews:
            if review.undecided:
                review.verdict = Cancelled(by)
                self._apply(review, Event.WITHDRAW)

    async def text_of(self, review: Review) -> str:
        """What the file would become: as accepted, or as it stands in the view now."""
        if isinstance(review.verdict, Accepted):
            return review.verdict.text
        if review.state in (State.PENDING, State.HIDDEN):
            try:
                text = await self._editor.read_review(review.id)
            except EditorError as error:
                logger.warning("! review %d: its text was not read: %s", review.id, error)
            else:
                return review.proposal.text if text is None else text
        return review.proposal.text

    async def close(self, review: Review, by: CancelledBy = CancelledBy.CLIENT) -> None:
        """Its client closes it: withdrawn while undecided, let go once accepted.

        The CLI writes just after, also when it decided in its own terminal: either way the editor
        takes the new content up.
        """
        if review.undecided:
            self.withdraw([review], by)
            self._tasks.spawn(self._writing.take_up_when_changed(review), f"reload {review.id}")
        elif review.accepted and await self._writing.is_written(review):
            self._apply(review, Event.WRITTEN)
        elif review.accepted:
            self._apply(review, Event.RELEASE)
            self._tasks.spawn(self._writing.after_release(review), f"after release {review.id}")

    def tab_closed(self, agent: str, client: ClientId, tab_name: str) -> None:
        """A client has closed a tab, whether or not there still is a review of that name."""
        self._reasons.closed(agent, client, tab_name)

    def client_gone(self, client: ClientId) -> None:
        """Its pending reviews go; an accepted one stays until written or closed by the user."""
        mine = self.of_client(client)
        for review in mine:
            review.client_gone = True
        self.withdraw(mine, CancelledBy.CLIENT_GONE)
        self._on_change()

    # -- what the user does -------------------------------------------------------------------

    async def accept(self, review: Review, text: str) -> None:
        """The user agrees to `text` (LF line breaks); asked once more when the edit is stale."""
        if not review.undecided or review.deciding:
            return
        if text == review.proposal.text:
            text = review.proposal.text  # held once, as it may be large
        if review.proposal.when_emptied and review.proposal.text and not text:
            self._editor.notify(f"{review.name}: {review.proposal.when_emptied}", "warn")
            await self._resume(review)
            return
        review.deciding = True
        try:
            self._note_disk(review, await look(review.path, review.before))
            agreed = review.stale is None or await self._agrees(review)
        finally:
            review.deciding = False
        if agreed and review.undecided:
            review.verdict = Accepted(text, unchanged_file=review.disk.holds(as_lf(text)))
            self._apply(review, Event.ACCEPT)
            for other in self.open():
                self._note_disk(other, other.disk)
        elif review.undecided:
            await self._resume(review)

    async def _resume(self, review: Review) -> None:
        """The user goes on with it; an editor that is too busy to say so lets them all the same."""
        try:
            await self._editor.resume_review(review.id)
        except EditorError as error:
            logger.warning("! review %d: not known to go on: %s", review.id, error)

    async def _agrees(self, review: Review) -> bool:
        """Ask the user about a stale edit, naming what follows."""
        question = f"{review.name}: {review.stale}. {review.proposal.when_stale} Accept anyway?"
        try:
            if not await self._editor.confirm(question):
                return False
        except EditorError as error:
            logger.warning("! review %d: no confirmation: %s", review.id, error)
            return False
        self._note_disk(review, await look(review.path, review.before))
        return True

    def reject(self, review: Review, reason: str | None = None) -> None:
        """The user says no; the reason is put into the agent's prompt once that is there."""
        if review.undecided:
            if reason:
                self._reasons.keep(review, reason)
            review.verdict = Rejected(RejectedBy.COMMAND)
            self._apply(review, Event.REJECT)

    def show(self, review: Review) -> None:
        """The user wants to see this one now; the one that is shown goes back into the queue."""
        if review.state not in (State.QUEUED, State.HIDDEN):
            return
        self._wanted = review
        for other in list(self._reviews.values()):
            if other.state in (State.OPENING, State.PENDING):
                self._apply(other, Event.SHELVE)
        self._wanted = None
        self._apply(review, Event.TURN)

    async def undo(self) -> None:
        """Bring the last accepted review's file back to what it was, as unsaved changes."""
        await self._writing.undo()

    def view_closed(self, review: Review) -> None:
        """The user has closed the view: a rejection, unless the agent asks in its own terminal."""
        if review.proposal.closing == "hides":
            self._apply(review, Event.HIDE)
            return
        if review.state in (State.OPENING, State.PENDING):
            review.verdict = Rejected(RejectedBy.VIEW_CLOSED)
        self._apply(review, Event.VIEW_CLOSED)

    async def close_by_user(self, reviews: Iterable[Review]) -> None:
        """:CloseAllDiffs: undecided ones are rejected; of an accepted one nothing is lost.

        An accepted one closes once the file holds its text, or after its text is in the file's
        buffer as unsaved changes.
        """
        for review in list(reviews):
            if review.undecided:
                self.reject(review)
            elif review.accepted and await self._writing.is_written(review):
                self._apply(review, Event.WRITTEN)
            elif isinstance(review.verdict, Accepted):
                path, text = review.proposal.path, review.verdict.text
                try:
                    await self._editor.merge_into_buffer(path, review.before.text or "", text)
                except EditorError as error:
                    self._editor.notify(f"{review.name}: {error}", "error")
                else:
                    self._apply(review, Event.RELEASE)

    def by_id(self, review_id: int) -> Review | None:
        return self._reviews.get(ReviewId(review_id))

    def by_name(self, tab_name: str | None) -> Review | None:
        """The undecided review of that tab name; without a name the one that is shown."""
        for review in self.open():
            if tab_name is None and review.state in (State.OPENING, State.PENDING):
                return review
            if review.undecided and tab_name in (review.proposal.tab_name, review.proposal.path):
                return review
        return None

    # -- effects ------------------------------------------------------------------------------

    def _apply(self, review: Review, event: Event) -> None:
        before = review.state
        review.state, effects = step(before, event)
        if review.state is not before:
            self._announce(review)
        for effect in effects:
            self._run(review, effect)
        if review.state is State.CLOSED:
            self._reviews.pop(review.id, None)
        if review.state not in (State.OPENING, State.PENDING):
            self._next_turn()
        self._on_change()

    def _announce(self, review: Review) -> None:
        """Tell configurations that listen."""
        match review.state:
            case State.PENDING if not review.opened:
                review.opened = True
                self._editor.announce(review.id, "opened", review.facts())
            case State.ACCEPTED:
                self._editor.announce(review.id, "accepted", review.facts())
            case State.REJECTED:
                self._editor.announce(review.id, "rejected", review.facts())
            case State.CLOSED:
                self._editor.announce(review.id, "closed", review.facts())

    def _run(self, review: Review, effect: Effect) -> None:
        match effect:
            case Effect.SHOW:
                self._tasks.spawn(self._show(review), f"show review {review.id}")
            case Effect.SETTLE:
                assert review.verdict is not None, "a decision sets the verdict first"
                logger.info("= review %d: %s", review.id, type(review.verdict).__name__)
                review.waiter.set_result(review.verdict)
            case Effect.HIDE_VIEW:
                self._tasks.spawn(self._close_view(review, "hidden"), f"hide review {review.id}")
            case Effect.CLOSE_VIEW:
                reason = self._close_reason(review)
                self._tasks.spawn(self._close_view(review, reason), f"close review {review.id}")
            case Effect.AWAIT_WRITE:
                self._tasks.spawn(self._await_write(review), f"await write {review.id}")
            case Effect.RELOAD:
                self._tasks.spawn(self._writing.take_up(review), f"reload {review.id}")

    def _next_turn(self) -> None:
        """Show the oldest that waits, unless one is shown."""
        undecided = [review for review in self._reviews.values() if review.undecided]
        if self._wanted or any(r.state in (State.OPENING, State.PENDING) for r in undecided):
            return
        for review in undecided:
            if review.state is State.QUEUED:
                self._apply(review, Event.TURN)
                return

    async def _show(self, review: Review) -> None:
        review.shows += 1
        attempt = review.shows
        for other in list(self._reviews.values()):
            if other.accepted:
                # it waits for its client to write; the user's eyes are for the next one
                await self._close_view(other, "hidden")
        if review.shows != attempt or review.state is not State.OPENING:
            # decided or shelved meanwhile: what closes its view may have come and gone
            return
        try:
            shown = await self._editor.show_review(review.id, review.proposal, review.is_new)
        except EditorError as error:
            # one that was hidden, shelved or decided meanwhile is not to be shown
            if review.shows == attempt and review.state is State.OPENING:
                review.verdict = Failed(str(error))
                self._apply(review, Event.SHOW_FAILED)
        else:
            if review.shows == attempt:
                review.changes = shown or review.changes
                self._apply(review, Event.SHOWN)

    async def _count_changes(self, review: Review) -> None:
        """For a list of what waits; what is shown is counted by the editor."""
        changes = await asyncio.to_thread(count, review.before.text or "", review.proposal.text)
        if review.changes is None:
            review.changes = changes
            self._on_change()

    def _close_reason(self, review: Review) -> CloseReason:
        match review.verdict:
            case Accepted():
                return "accepted"
            case Rejected():
                return "rejected"
            case _:
                return "withdrawn"

    async def _close_view(self, review: Review, reason: CloseReason) -> None:
        try:
            await self._editor.close_review(review.id, reason)
        except EditorError as error:
            logger.warning("! review %d: its view did not close: %s", review.id, error)
        if reason != "hidden":
            self._apply(review, Event.VIEW_GONE)

    # -- the file -----------------------------------------------------------------------------

    async def _await_write(self, review: Review) -> None:
        if await self._writing.await_write(review):
            self._apply(review, Event.WRITTEN)

    async def _watch_disk(self, review: Review) -> None:
        while await wait_changed(review.path, wanted=lambda: review.undecided):
            disk = await look(review.path, review.before)
            if review.undecided:
                self._note_disk(review, disk)

    def _note_disk(self, review: Review, disk: Disk) -> None:
        """What was seen of an undecided review's file."""
        if not review.undecided:
            return
        review.disk = disk
        stale = disk.trouble(review.before)
        if stale is None and self._is_about_to_change(review):
            stale = "another change of it was accepted"
        if stale != review.stale:
            review.stale = stale
            self._on_change()

    def _is_about_to_change(self, review: Review) -> bool:
        accepted = (other for other in self._reviews.values() if other.accepted)
        return any(map(review.same_file, accepted)) or self._writing.concerns(review)
