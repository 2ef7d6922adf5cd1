"""Rules of the state machine over reviews: what the clients do.

Owns:     what the rules share: the world, who is picked, which verdicts have a reason.
Not here: the user and the faults (review_user.py), what holds (test_review_states.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from agent_ide.errors import RpcError, ToolError
from agent_ide.model import Cancelled, CancelledBy, Failed
from agent_ide.review.machine import State
from tests.torture.machines import CountedMachine
from tests.torture.review_world import Client, Request, World, told

__all__ = ["NUMBERS", "SHOWN", "ClientRules"]

NUMBERS = st.integers(0, 10**6)
"""Picks one of what there is."""

TABS = st.sampled_from("xy")

SHOWN = (State.OPENING, State.PENDING)


class ClientRules(CountedMachine):
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

    @rule(number=NUMBERS, name=st.sampled_from(World.FILES), tab=TABS)
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

    @rule(number=NUMBERS, tab=TABS)
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
    def disconnects(self, number: int) -> None:
        # seldom: much is over then
        if self._clients() and number % 3 == 0:
            self.disconnect(number // 3)

    def disconnect(self, number: int) -> None:
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
            self.written_by(request, crlf, as_agreed)

    def written_by(self, request: Request, crlf: bool, as_agreed: bool) -> None:
        text = request.review.expected if as_agreed else self._unique()
        data = text.replace("\n", "\r\n") if crlf else text
        self.world.write(request.path, data.encode())
