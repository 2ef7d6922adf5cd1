"""Clients, the user and faults at random against the live set of reviews.

Everything is real but the editor and the clock: the tools of two protocols, the state machine, the
watch of files on disk. Each verdict needs a reason that a rule has given for it; the invariants say
what holds in between, the teardown what is left in the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from agent_ide.errors import RpcError, ToolError
from agent_ide.model import Accepted, Cancelled, CancelledBy, Failed, Rejected, RejectedBy
from agent_ide.review.machine import State
from tests.support.figures import Figure, Scale
from tests.torture.machines import CountedMachine, run_machine
from tests.torture.review_world import FAULTS, TIMEOUT_S, Client, Request, World, told

NUMBERS = st.integers(0, 10**6)
"""Picks one of what there is."""

SHOWN = (State.OPENING, State.PENDING)


class ReviewStates(CountedMachine):
    """held: events come in the same turn of the loop, and nobody looks in between."""

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self.numbers = 0
        self.preferred: set[Request] = set()

    @initialize(hides=st.booleans())
    def begin(self, hides: bool) -> None:
        self.world = World(hides)
        for agent in ("claude", "claude", "copilot"):
            self.world.connect(agent)

    def _settle(self) -> bool:
        """Let what was begun run; False: not yet."""
        if "show_review" in self.world.editor.faults:
            self._allow(self.world.requests, Failed(""))
        if not self.held:
            self.world.loop.settle()
        return not self.held

    @staticmethod
    def _pick(number: int, things: Sequence[Any]) -> Any:
        return things[number % len(things)]

    def _clients(self) -> list[Client]:
        return [client for client in self.world.clients if client.connected]

    def _requests(self, suits: Callable[[Request], bool]) -> list[Request]:
        return [request for request in self.world.requests if suits(request)]

    def _undecided(self) -> list[Request]:
        return self._requests(lambda request: request.undecided)

    @property
    def _calm(self) -> bool:
        """Nothing holds anything up."""
        world = self.world
        return not (self.held or world.disk_is_slow or world.editor.faults)

    def _unique(self) -> str:
        self.numbers += 1
        return f"text {self.numbers}\n"

    def _allow(self, requests: Sequence[Request], verdict: Any) -> list[Request]:
        """Those without a verdict may end like this from now on; the undecided ones of them."""
        for request in requests:
            if request.waits:
                request.allowed.add(told(verdict))
        return [request for request in requests if request.undecided]

    def _are_decided(self, requests: Sequence[Request]) -> None:
        if self._settle() and not self.world.disk_is_slow:
            assert not any(request.undecided for request in requests)

    # -- clients ------------------------------------------------------------------------------

    @rule(agent=st.sampled_from(["claude", "copilot"]))
    def connect(self, agent: str) -> None:
        if len(self._clients()) < 4:
            self.world.connect(agent)

    @rule(number=NUMBERS, name=st.sampled_from(World.FILES), tab=st.sampled_from("xyz"))
    def open_diff(self, number: int, name: str, tab: str) -> None:
        clients = self._clients()
        if not clients or len(self._undecided()) > 6:
            return
        client = self._pick(number, clients)
        same = self._same_tab(client, tab)
        self._allow(same, Cancelled(CancelledBy.REPLACED))
        foreign = [request for request in same if self._belongs_to_another(request, client)]
        request = self.world.open_diff(client, name, tab, self._unique())
        request.unseen = self.held or self.world.disk_is_slow
        if self._settle() and foreign:
            assert isinstance(request.task.exception(), RpcError | ToolError)
            assert all(other.accepted for other in foreign), "it is not the asker's to replace"

    def _same_tab(self, client: Client, tab: str) -> list[Request]:
        return self._requests(
            lambda request: (
                (request.client.agent, request.tab) == (client.agent, tab)
                and (request.waits or request.accepted)
            )
        )

    @staticmethod
    def _belongs_to_another(request: Request, client: Client) -> bool:
        owned = request.client.connected or client.agent == "claude"
        return request.accepted and request.client is not client and owned

    @rule(number=NUMBERS, tab=st.sampled_from("xyz"))
    def close_tab(self, number: int, tab: str) -> None:
        if not self._clients():
            return
        client = self._pick(number, self._clients())
        same = self._same_tab(client, tab)
        undecided = self._allow(same, Cancelled(CancelledBy.CLIENT))
        foreign = [request for request in same if self._belongs_to_another(request, client)]
        tool = "close_tab" if client.agent == "claude" else "close_diff"
        self.world.loop.start(self.world.call(client, tool, tab_name=tab))
        if self._settle():
            assert not any(request.undecided for request in undecided)
            assert all(request.accepted for request in foreign), "it is not the asker's to close"

    @rule(number=NUMBERS)
    def close_all(self, number: int) -> None:
        clients = [client for client in self._clients() if client.agent == "claude"]
        if not clients:
            return
        client = self._pick(number, clients)
        mine = self._requests(lambda request: request.client is client)
        others = self._requests(
            lambda request: (request.undecided or request.accepted) and request.client is not client
        )
        states = [request.review.state for request in others if request.review]
        undecided = self._allow(mine, Cancelled(CancelledBy.CLIENT))
        task = self.world.loop.start(self.world.call(client, "closeAllDiffTabs"))
        self._are_decided(undecided)
        if self._calm:
            assert task.done()
            assert not any(request.accepted for request in mine)
            now = [request.review.state for request in others if request.review]
            for before, after in zip(states, now, strict=True):
                # the next one's turn may have come, no more
                assert after is before or after in SHOWN

    @rule(number=NUMBERS)
    def cancel_request(self, number: int) -> None:
        waiting = self._requests(lambda request: not request.task.done())
        if waiting:
            request = self._pick(number, waiting)
            undecided = self._allow([request], Cancelled(CancelledBy.REQUEST))
            request.task.cancel()
            self._are_decided(undecided)

    @rule(number=NUMBERS)
    def disconnect(self, number: int) -> None:
        if not self._clients():
            return
        client = self._pick(number, self._clients())
        client.connected = False
        mine = self._requests(lambda request: request.client is client)
        undecided = self._allow(mine, Cancelled(CancelledBy.CLIENT_GONE))
        # as its server does: first the reviews, then the calls
        self._allow(mine, Cancelled(CancelledBy.REQUEST))
        self.world.do(self.world.reviews.client_gone, client.id)
        for request in mine:
            self.world.do(request.task.cancel)
        self._are_decided(undecided)

    @rule(number=NUMBERS, crlf=st.booleans(), as_agreed=st.sampled_from([True, True, True, False]))
    def client_writes(self, number: int, crlf: bool, as_agreed: bool) -> None:
        accepted = self._requests(
            lambda request: request.verdict.startswith("accepted") and request.client.connected
        )
        if accepted:
            request = self._pick(number, accepted)
            text = request.review.expected if as_agreed else self._unique()
            data = text.replace("\n", "\r\n") if crlf else text
            self.world.write(request.path, data.encode())

    # -- the user -----------------------------------------------------------------------------

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

    @rule()
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
            for request in self._requests(lambda request: request.client.agent == "copilot"):
                if self.world.loop.time() + seconds >= request.at_s + TIMEOUT_S:
                    self._allow([request], Cancelled(CancelledBy.TIMEOUT))
            self.world.loop.advance(seconds)

    @rule()
    def hold(self) -> None:
        self.held = True

    @precondition(lambda self: self.held)
    @rule()
    def let_go(self) -> None:
        self.held = False
        self._settle()

    # -- what holds -----------------------------------------------------------------------------

    @invariant()
    def all_is_well(self) -> None:
        self._nothing_went_wrong()
        self._verdicts_have_reasons()
        self._answers_are_right()
        if not self.held:
            self._one_is_shown()
            self._turns_are_in_order()

    def _verdicts_have_reasons(self) -> None:
        """Also: each is given once, and its asker has it."""
        for request in self.world.requests:
            review = request.review
            if review is None:
                continue
            if not request.undecided and not request.decided:
                request.decided = True
                request.accepted_s = self.world.loop.time() if request.accepted else -1000.0
                assert request.verdict in request.allowed, request
            assert review.waiter.done() == (not request.undecided)
            if not self.held and not self.world.disk_is_slow:
                assert request.task.done() == (not request.undecided)

    def _answers_are_right(self) -> None:
        for request in self._requests(lambda request: request.review is not None):
            if not request.task.done() or request.task.cancelled():
                continue
            verdict = request.review.verdict
            failed = request.task.exception()
            if failed is not None:
                assert isinstance(failed, ToolError)
                assert told(verdict) == "failed"
                continue
            answer = " ".join(block.text for block in request.task.result().content)
            if not isinstance(verdict, Accepted):
                assert "REJECTED" in answer
            elif request.client.agent == "claude" and not verdict.unchanged_file:
                assert answer == f"FILE_SAVED {verdict.text}"
            elif request.client.agent == "copilot":
                assert '"SAVED"' in answer

    def _one_is_shown(self) -> None:
        views = self.world.editor.views
        assert len(views) <= 1
        for review_id in views:
            review = self.world.reviews.by_id(review_id)
            assert review is not None
            assert review.state in (State.PENDING, State.ACCEPTED)
        for request in self._undecided():
            assert (request.review.state is State.PENDING) == (request.review.id in views)

    def _turns_are_in_order(self) -> None:
        undecided = self._undecided()
        queued = [request for request in undecided if request.review.state is State.QUEUED]
        shown = [request for request in undecided if request.review.state in SHOWN]
        assert len(shown) <= 1
        if not self.world.disk_is_slow:
            assert shown or not queued, "the oldest one's turn has come"
        if shown and shown[0] not in self.preferred:
            assert all(request.review.id > shown[0].review.id for request in queued)

    def _nothing_went_wrong(self) -> None:
        assert self.world.faults() == []

    def teardown(self) -> None:
        """Everybody goes; nothing is left, and nothing was lost."""
        world = self.world
        try:
            if sys.exc_info()[0] is not None:
                return
            self.held = False
            world.editor.faults, world.editor.breaking = set(), False
            world.set_disk(False)
            world.editor.free.set()
            for client in self._clients():
                self.disconnect(self._clients().index(client))
            self.close_all_by_command()
            world.loop.advance(60)
            self._verdicts_have_reasons()
            self._nothing_went_wrong()
            assert world.reviews.open() == []
            assert world.editor.views == {}
            assert len(world.tasks) == 0
            assert all(request.task.done() for request in world.requests)
            for request in world.requests:
                self._is_not_lost(request)
        finally:
            world.close()

    def _is_not_lost(self, request: Request) -> None:
        world, verdict = self.world, request.review and request.review.verdict
        kept = world.editor.kept
        if isinstance(verdict, Accepted) and verdict.text != request.text:
            merged = (str(request.path), verdict.text) in world.editor.merged
            on_disk = (request.path, verdict.text) in world.written
            assert merged or on_disk or verdict.text in kept, request
        elif request.typed is not None and request.verdict.startswith(("cancelled", "failed")):
            assert request.typed in kept, request


def test_reviews_whatever_happens(
    pytestconfig: pytest.Config, figure: Figure, scale: Scale
) -> None:
    examples, steps = scale(short=40, long=500), scale(short=30, long=50)
    run_machine(ReviewStates, pytestconfig, figure, examples=examples, steps=steps)
