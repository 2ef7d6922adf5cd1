"""Clients, the user and faults at random against the live set of reviews.

Everything is real but the editor and the clock: the tools of two protocols, the state machine, the
watch of files on disk. Each verdict needs a reason that a rule has given for it; the invariants say
what holds in between, the teardown what is left in the end.
"""

from __future__ import annotations

import pytest
from hypothesis.stateful import invariant

from agent_ide.errors import ToolError
from agent_ide.model import Accepted
from agent_ide.review.machine import State
from tests.support.figures import Figure, Scale
from tests.torture.machines import run_machine
from tests.torture.review_clients import SHOWN
from tests.torture.review_user import UserRules
from tests.torture.review_world import Request, told


class ReviewStates(UserRules):
    """Whatever happened, this holds."""

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
            if request.accepted:
                request.accepted_s = self.world.loop.time()
            if not request.undecided and not request.decided:
                request.decided = True
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
            if self.failure() is not None:
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
