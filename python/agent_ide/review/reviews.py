"""The live set of reviews: who asked, who waits, whose turn it is.

Owns:     every review from its proposal until it is closed.
Not here: the lifecycle's rules (machine.py), words of a protocol (protocols/*/messages.py),
          windows (lua/agent_ide/diff).
Above:    tools propose, release and withdraw; the host passes on what the user did.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

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
from agent_ide.review.machine import OPEN, UNDECIDED, Effect, Event, State, step
from agent_ide.review.watch import read_lf, wait_until
from agent_ide.tasks import Tasks

__all__ = ["Review", "Reviews"]

logger = logging.getLogger(__name__)

WRITE_PATIENCE_S = 10.0
"""After this without a write the user is told."""


@dataclass(eq=False, slots=True)
class Review:
    """One proposal and what became of it.

    Attributes:
        is_new:      the file did not exist when the edit was proposed.
        before:      what the file held then, LF line breaks; "" for a new file.
        verdict:     set once, by the first decision.
        client_gone: its client is not connected any more.
        at_accept:   what the file held when the user accepted; None: there was no file.
    """

    id: ReviewId
    proposal: Proposal
    is_new: bool
    before: str = ""
    state: State = State.QUEUED
    verdict: Verdict | None = None
    client_gone: bool = False
    at_accept: str | None = None
    waiter: asyncio.Future[Verdict] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @classmethod
    def of(cls, review_id: ReviewId, proposal: Proposal) -> Review:
        return cls(review_id, proposal, is_new=not os.path.exists(proposal.path))

    @property
    def name(self) -> str:
        return os.path.basename(self.proposal.path)

    @property
    def expected(self) -> str | None:
        """What the agent writes after the accept; None before it."""
        match self.verdict:
            case Accepted(text):
                return text if self.proposal.writes == "accepted" else self.proposal.text
        return None

    @property
    def undecided(self) -> bool:
        return self.state in UNDECIDED

    @property
    def accepted(self) -> bool:
        return self.state is State.ACCEPTED

    def status(self) -> dict[str, Any]:
        """Its entry in the host's status (doc/channel.md)."""
        proposal = self.proposal
        return {
            "id": self.id,
            "agent": proposal.agent,
            "title": proposal.title,
            "client": proposal.client,
            "client_gone": self.client_gone,
            "path": proposal.path,
            "tab_name": proposal.tab_name,
            "state": self.state.value,
            "is_new": self.is_new,
        }


class Reviews:
    """All reviews of this editor; one is shown at a time, the others wait in order."""

    def __init__(self, editor: Editor, tasks: Tasks, on_change: Callable[[], None]) -> None:
        self._editor = editor
        self._tasks = tasks
        self._on_change = on_change
        self._reviews: dict[ReviewId, Review] = {}
        self._last_id = 0

    # -- what a protocol asks -----------------------------------------------------------------

    async def propose(self, proposal: Proposal, timeout_s: float | None = None) -> Verdict:
        """Queue a proposal and wait for its verdict. Cancelling the caller withdraws it.

        Args:
            timeout_s: after this without a verdict it is withdrawn; None waits for ever.
        """
        self._last_id += 1
        # in the set before anything is waited for: arrival is the order, and its client may go
        review = Review.of(ReviewId(self._last_id), proposal)
        self._reviews[review.id] = review
        logger.info("= review %d of %s: %s", review.id, proposal.client, proposal.path)
        self._on_change()
        try:
            before = await asyncio.to_thread(read_lf, proposal.path)
            review.before = before or ""
            self._next_turn()
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

    async def close(self, review: Review, by: CancelledBy = CancelledBy.CLIENT) -> None:
        """Its client closes it: withdrawn while undecided, let go once accepted.

        The CLI writes just after, also when it decided in its own terminal: either way the editor
        takes the new content up.
        """
        if review.undecided:
            self.withdraw([review], by)
            self._tasks.spawn(self._reload_when_changed(review), f"reload {review.id}")
        elif review.accepted and await self._is_written(review):
            self._apply(review, Event.WRITTEN)
        elif review.accepted:
            self._apply(review, Event.RELEASE)
            self._tasks.spawn(self._after_release(review), f"after release {review.id}")

    def client_gone(self, client: ClientId) -> None:
        """Its pending reviews go; an accepted one stays until written or closed by the user."""
        mine = self.of_client(client)
        for review in mine:
            review.client_gone = True
        self.withdraw(mine, CancelledBy.CLIENT_GONE)
        self._on_change()

    # -- what the user does -------------------------------------------------------------------

    async def accept(self, review: Review, text: str) -> None:
        """The user agrees to `text` (LF line breaks)."""
        if not review.undecided:
            return
        now = await asyncio.to_thread(read_lf, review.proposal.path)
        if review.undecided:
            review.at_accept = now
            review.verdict = Accepted(text, unchanged_file=now == text)
            self._apply(review, Event.ACCEPT)

    def reject(self, review: Review) -> None:
        if review.undecided:
            review.verdict = Rejected(RejectedBy.COMMAND)
            self._apply(review, Event.REJECT)

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
            elif review.accepted and await self._is_written(review):
                self._apply(review, Event.WRITTEN)
            elif isinstance(review.verdict, Accepted):
                path, text = review.proposal.path, review.verdict.text
                try:
                    await self._editor.merge_into_buffer(path, review.before, text)
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
        review.state, effects = step(review.state, event)
        for effect in effects:
            self._run(review, effect)
        if review.state is State.CLOSED:
            self._reviews.pop(review.id, None)
        if review.state not in (State.OPENING, State.PENDING):
            self._next_turn()
        self._on_change()

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
                self._tasks.spawn(self._reload(review), f"reload {review.id}")

    def _next_turn(self) -> None:
        """Show the oldest that waits, unless one is shown."""
        undecided = [review for review in self._reviews.values() if review.undecided]
        if any(review.state in (State.OPENING, State.PENDING) for review in undecided):
            return
        for review in undecided:
            if review.state is State.QUEUED:
                self._apply(review, Event.TURN)
                return

    async def _show(self, review: Review) -> None:
        for other in self._reviews.values():
            if other.accepted:
                # it waits for its client to write; the user's eyes are for the next one
                await self._close_view(other, "hidden")
        try:
            await self._editor.show_review(review.id, review.proposal, review.is_new)
        except EditorError as error:
            if review.undecided:
                review.verdict = Failed(str(error))
            self._apply(review, Event.SHOW_FAILED)
        else:
            self._apply(review, Event.SHOWN)

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

    async def _is_written(self, review: Review) -> bool:
        return await asyncio.to_thread(read_lf, review.proposal.path) == review.expected

    async def _await_write(self, review: Review) -> None:
        """Until the file holds the accepted text, or the review is closed otherwise."""
        if not await self._written_within(review, WRITE_PATIENCE_S) and review.accepted:
            self._editor.notify(
                f"{review.proposal.title} has not written {review.name} yet; "
                "the review stays open (:AgentIde diffs)",
                "warn",
            )
            await self._written_within(review, None)
        if review.accepted:
            self._apply(review, Event.WRITTEN)

    async def _after_release(self, review: Review) -> None:
        """Its client let it go before it wrote, as Claude does: it writes now, or never.

        What it writes may be another text: Claude makes its edit anew in a file that has changed.
        """
        path, at_accept = review.proposal.path, review.at_accept
        written = await wait_until(path, lambda text: text != at_accept, WRITE_PATIENCE_S)
        if written:
            await self._reload(review)
            if await self._is_written(review):
                return
            message = f"{review.name} had changed: {review.proposal.title} wrote another text"
        else:
            message = f"{review.proposal.title} did not write {review.name}"
        if isinstance(review.verdict, Accepted) and review.verdict.text != review.proposal.text:
            await self._editor.keep_text(review.proposal, review.verdict.text)
            message += "; your version of it is kept (:AgentIde recover)"
        self._editor.notify(message, "warn")

    async def _written_within(self, review: Review, patience_s: float | None) -> bool:
        """False as well when the review is closed meanwhile."""
        was = review.state
        return await wait_until(
            review.proposal.path,
            holds=lambda text: text == review.expected,
            patience_s=patience_s,
            wanted=lambda: review.state is was,
        )

    async def _reload_when_changed(self, review: Review) -> None:
        """A decision in the agent's own terminal: take the file up once it has changed."""
        path, before = review.proposal.path, review.before
        changed = await wait_until(
            path, lambda text: text is not None and text != before, WRITE_PATIENCE_S
        )
        if changed:
            await self._reload(review)

    async def _reload(self, review: Review) -> None:
        """Take up what the agent has written; the user's own version goes on top, unsaved."""
        path, verdict = review.proposal.path, review.verdict
        try:
            await self._editor.reload_file(path)
            if isinstance(verdict, Accepted) and verdict.text != review.expected:
                await self._editor.merge_into_buffer(path, review.proposal.text, verdict.text)
                self._editor.notify(
                    f"{review.proposal.title} wrote its own text; your version of {review.name} "
                    "is in its buffer, unsaved"
                )
        except EditorError as error:
            logger.warning("! %s was not reloaded: %s", path, error)
