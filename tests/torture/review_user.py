"""Rules of the state machine over reviews: what the user does, and what goes wrong.

Owns:     nothing.
Not here: the clients (review_clients.py), what holds (test_review_states.py).
"""

from __future__ import annotations

import os

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agent_ide.model import Accepted, Cancelled, CancelledBy, Rejected, RejectedBy
from tests.torture.faulty_editor import FAULTS
from tests.torture.review_clients import NUMBERS, SHOWN, TABS, ClientRules
from tests.torture.review_world import TIMEOUT_S, Request, World, told

__all__ = ["UserRules"]


class UserRules(ClientRules):
    """Beside those of the clients."""

    @rule(number=NUMBERS)
    def types(self, number: int) -> None:
        for review_id in list(self.world.editor.views):
            review = self.world.reviews.by_id(review_id)
            if review is not None and review.undecided:
                text = self._unique() if number % 5 else ""
                self.world.editor.typed[review_id] = text
                self.world.request_of(review).typed = text

    @rule(
        number=NUMBERS,
        agrees=st.booleans(),
        what=st.sampled_from(["as it stands", "changed", "changed", "as the file is"]),
    )
    def accept(self, number: int, agrees: bool, what: str) -> None:
        undecided = self._undecided()
        if not undecided:
            return
        world, request = self.world, self._pick(number, undecided)
        review = request.review
        text = world.editor.typed.get(review.id, request.text)
        if what == "changed" and review.id in world.editor.views:
            text = world.editor.typed[review.id] = request.typed = self._unique()
        elif what == "as the file is":
            text = world.text(request.path) or ""
        self._allow([request], Accepted(text, False))
        fits = request.seen == world.text(request.path) and not world.is_read_only(request.path)
        fits = fits and not any(other.accepted for other in self._same_file(request))
        world.editor.agrees = agrees
        asked, resumed = len(world.editor.questions), len(world.editor.resumed)
        # one that was let go a moment ago may be about to be written, or may not
        recent = any(
            other.accepted_s > world.loop.time() - 11 for other in self._same_file(request)
        )
        known = not (request.unseen or review.deciding or (fits and recent))
        world.event(world.reviews.accept(review, text))
        if not self._settle() or world.disk_is_slow or not known:
            return
        refuses = "confirm" in world.editor.faults
        if fits:
            assert len(world.editor.questions) == asked, "no needless question"
        elif not refuses:
            assert len(world.editor.questions) == asked + 1, "the file is another one now"
        if fits or (agrees and not refuses):
            assert request.verdict == told(Accepted(text, False))
        else:
            assert request.undecided
            assert world.editor.resumed[resumed:] == [review.id]

    def _same_file(self, request: Request) -> list[Request]:
        return self._requests(lambda other: other is not request and other.path == request.path)

    @rule(
        number=NUMBERS,
        name=st.sampled_from(World.FILES),
        tab=TABS,
        writes=st.sampled_from(["as agreed", "another text", "not yet"]),
    )
    def open_and_accept(self, number: int, name: str, tab: str, writes: str) -> None:
        """Seldom by chance alone: a diff that is changed and accepted, and what its client does."""
        before = len(self.world.requests)
        self.open_diff(number, name, tab)
        # the one that was just asked for, should it be shown
        mine = [number for number, it in enumerate(self._undecided()) if it.number >= before]
        if mine:
            self.accept(mine[0], agrees=True, what="changed")
        asked = self.world.requests[before:]
        if asked and asked[0].accepted and writes != "not yet":
            self.written_by(asked[0], crlf=False, as_agreed=writes == "as agreed")

    @rule(number=NUMBERS, reason=st.sampled_from([None, "too long"]))
    def reject(self, number: int, reason: str | None) -> None:
        undecided = self._undecided()
        if undecided:
            request = self._pick(number, undecided)
            self._allow([request], Rejected(RejectedBy.COMMAND))
            self.world.do(self.world.reviews.reject, request.review, reason)
            if self._settle():
                assert request.verdict == told(Rejected(RejectedBy.COMMAND))

    @rule(number=NUMBERS)
    def show(self, number: int) -> None:
        undecided = self._undecided()
        if undecided:
            request = self._pick(number, undecided)
            self.preferred.add(request)
            well = not self.world.editor.faults and not self.world.editor.breaking
            self.world.do(self.world.reviews.show, request.review)
            if self._settle() and well:
                assert request.review.state in SHOWN

    @rule()
    def close_view(self) -> None:
        for review_id in list(self.world.editor.views):
            self.world.do(self.world.close_view, review_id)
        self._settle()

    @rule()
    def close_next_view_at_once(self) -> None:
        self.world.editor.breaking = True

    @rule(number=NUMBERS)
    def closes_all_by_command(self, number: int) -> None:
        # seldom: all is over then
        if number % 3 == 0:
            self.close_all_by_command()

    def close_all_by_command(self) -> None:
        world = self.world
        undecided = self._allow(world.requests, Rejected(RejectedBy.COMMAND))
        world.event(world.reviews.close_by_user(world.reviews.open()))
        self._are_decided(undecided)
        if self._calm:
            assert world.reviews.open() == []

    @rule()
    def undo(self) -> None:
        self.world.event(self.world.reviews.undo())
        self._settle()

    # -- faults -------------------------------------------------------------------------------

    @rule(name=st.sampled_from(World.FILES), how=st.sampled_from(["write", "crlf", "touch", "rm"]))
    def file_changes(self, name: str, how: str) -> None:
        path, world = self.world.path(name), self.world
        text = world.text(path)
        if how == "write":
            world.write(path, self._unique().encode())
        elif text is not None and how == "crlf":
            world.write(path, text.replace("\n", "\r\n").encode())
        elif text is not None and how == "touch":
            world.write(path, path.read_bytes())
        elif text is not None:
            path.unlink()

    @rule(name=st.sampled_from(World.FILES))
    def file_becomes_read_only(self, name: str) -> None:
        if self.world.path(name).exists():
            os.chmod(self.world.path(name), 0o444)

    @rule(names=st.sets(st.sampled_from(FAULTS), max_size=2))
    def editor_refuses(self, names: set[str]) -> None:
        self.world.editor.faults = names
        self._settle()

    @precondition(lambda self: self.world.editor.faults)
    @rule()
    def editor_is_well(self) -> None:
        self.world.editor.faults = set()

    @rule(busy=st.booleans())
    def user_is_busy(self, busy: bool) -> None:
        (self.world.editor.free.clear if busy else self.world.editor.free.set)()
        self._settle()

    @rule(slow=st.booleans())
    def disk_is_slow(self, slow: bool) -> None:
        if not self.held:
            self.world.set_disk(slow)

    @rule(seconds=st.sampled_from([0.06, 0.6, 3.0, 11.0, 11.0, TIMEOUT_S]))
    def time_passes(self, seconds: float) -> None:
        if not self.held:
            late = self._requests(lambda request: request.is_late(self._now() + seconds))
            self._allow(late, Cancelled(CancelledBy.TIMEOUT))
            self.world.loop.advance(seconds)
            if not self.world.disk_is_slow:
                late = self._requests(lambda request: request.is_late(self._now()))
                seen = [request for request in late if not request.unseen]
                assert not any(request.undecided for request in seen), "nobody decided in time"

    def _now(self) -> float:
        return self.world.loop.time()

    @rule()
    def hold(self) -> None:
        self.held = True

    @precondition(lambda self: self.held)
    @rule()
    def let_go(self) -> None:
        self.held = False
        self._settle()
