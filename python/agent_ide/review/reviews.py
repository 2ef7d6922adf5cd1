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
from pathlib import Path
from typing import Any

from agent_ide.editor.port import CloseReason, Editor
from agent_ide.errors import EditorError
from agent_ide.model import (
    Accepted,
    Cancelled,
    ClientId,
    Failed,
    Proposal,
    Rejected,
    RejectedBy,
    ReviewId,
    Verdict,
)
from agent_ide.review.machine import OPEN, UNDECIDED, Effect, Event, State, step
from agent_ide.tasks import Tasks

__all__ = ["Review", "Reviews"]

logger = logging.getLogger(__name__)

POLL_S = 0.05
"""How often the file of an accepted review is looked at: the CLIs write within some ms."""

SLOW_POLL_S = 1.0

WRITE_PATIENCE_S = 10.0
"""After this without a write the user is told, and the file is looked at once a second."""


@dataclass(eq=False, slots=True)
class Review:
    """One proposal and what became of it.

    Attributes:
        is_new:      the file did not exist when the edit was proposed.
        before:      what the file held then, LF line breaks; "" for a new file.
        verdict:     set once, by the first decision.
        client_gone: its client is not connected any more.
        safe:        the accepted text is in the file, or in its buffer.
    """

    id: ReviewId
    proposal: Proposal
    is_new: bool
    before: str = ""
    state: State = State.QUEUED
    verdict: Verdict | None = None
    client_gone: bool = False
    safe: bool = False
    waiter: asyncio.Future[Verdict] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

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

    async def propose(self, proposal: Proposal) -> Verdict:
        """Queue a proposal and wait for its verdict. Cancelling the caller withdraws it."""
        self._last_id += 1
        # in the set before anything is waited for: arrival is the order, and its client may go
        review = Review(ReviewId(self._last_id), proposal, not os.path.exists(proposal.path))
        self._reviews[review.id] = review
        logger.info("= review %d of %s: %s", review.id, proposal.client, proposal.path)
        self._on_change()
        try:
            before = await asyncio.to_thread(read_lf, proposal.path)
            review.before = before or ""
            self._next_turn()
            return await asyncio.shield(review.waiter)
        except asyncio.CancelledError:
            self.withdraw([review], "its request was cancelled")
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

    def withdraw(self, reviews: Iterable[Review], reason: str) -> None:
        """Nobody wants the verdict of these any more; decided ones are left alone."""
        for review in reviews:
            if review.undecided:
                review.verdict = Cancelled(reason)
                self._apply(review, Event.WITHDRAW)

    async def close(self, review: Review, reason: str) -> None:
        """Its client closes it: withdrawn while undecided, let go once accepted.

        The CLI may have written the file just before, or do so just after it decided in its own
        terminal: either way the editor takes the new content up.
        """
        if review.undecided:
            self.withdraw([review], reason)
            self._tasks.spawn(self._reload_when_written(review), f"reload {review.id}")
        elif review.accepted:
            await self._is_written(review)
            self._apply(review, Event.WRITTEN if review.safe else Event.RELEASE)

    def client_gone(self, client: ClientId) -> None:
        """Its pending reviews go; an accepted one stays until written or closed by the user."""
        mine = self.of_client(client)
        for review in mine:
            review.client_gone = True
        self.withdraw(mine, "its client is gone")
        self._on_change()

    # -- what the user does -------------------------------------------------------------------

    async def accept(self, review: Review, text: str) -> None:
        """The user agrees to `text` (LF line breaks)."""
        if not review.undecided:
            return
        now = await asyncio.to_thread(read_lf, review.proposal.path)
        if review.undecided:
            review.verdict = Accepted(text, unchanged_file=now == text)
            self._apply(review, Event.ACCEPT)

    def reject(self, review: Review) -> None:
        if review.undecided:
            review.verdict = Rejected(RejectedBy.COMMAND)
            self._apply(review, Event.REJECT)

    def view_closed(self, review: Review) -> None:
        """The user has closed the view: a rejection while it is undecided and shown."""
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
                    self._editor.notify(f"{os.path.basename(path)}: {error}", "error")
                else:
                    review.safe = True
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
            case Accepted() if review.safe:
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
        if not isinstance(review.verdict, Accepted):
            return False
        now = await asyncio.to_thread(read_lf, review.proposal.path)
        review.safe = now == review.verdict.text
        return review.safe

    async def _await_write(self, review: Review) -> None:
        """Until the file holds the accepted text, or the review is closed otherwise."""
        loop = asyncio.get_running_loop()
        patience_ends, told, seen = loop.time() + WRITE_PATIENCE_S, False, _signature(None)
        while review.accepted:
            signature = _signature(review.proposal.path)
            if signature != seen:
                seen = signature
                if await self._is_written(review):
                    if review.accepted:
                        self._apply(review, Event.WRITTEN)
                    return
            if not told and loop.time() > patience_ends:
                told = True
                name = os.path.basename(review.proposal.path)
                self._editor.notify(
                    f"{review.proposal.title} has not written {name} yet; "
                    "the review stays open (:AgentIde diffs)",
                    "warn",
                )
            await asyncio.sleep(SLOW_POLL_S if told else POLL_S)

    async def _reload_when_written(self, review: Review) -> None:
        """A decision in the agent's own terminal: take the file up once it has changed."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + WRITE_PATIENCE_S
        while loop.time() < ends:
            now = await asyncio.to_thread(read_lf, review.proposal.path)
            if now is not None and now != review.before:
                await self._reload(review)
                return
            await asyncio.sleep(POLL_S)

    async def _reload(self, review: Review) -> None:
        try:
            await self._editor.reload_file(review.proposal.path)
        except EditorError as error:
            logger.warning("! %s was not reloaded: %s", review.proposal.path, error)


def read_lf(path: str) -> str | None:
    """What a file holds, with LF line breaks, as the agents' CLIs see it; None: no such file.

    A BOM stays; bytes that are not UTF-8 become U+FFFD, as in the CLIs.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError):
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _signature(path: str | None) -> tuple[int, int, int] | None:
    """What changes when a file is written; None without one."""
    if path is None:
        return (-1, -1, -1)
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
