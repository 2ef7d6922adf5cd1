"""Every (state, event) pair of a review."""

from __future__ import annotations

import pytest

from agent_ide.review.machine import OPEN, UNDECIDED, Effect, Event, State, step

S, E, F = State, Event, Effect

FOLLOWS: dict[tuple[State, Event], tuple[State, list[Effect]]] = {
    (S.QUEUED, E.TURN): (S.OPENING, [F.SHOW]),
    (S.QUEUED, E.ACCEPT): (S.ACCEPTED, [F.SETTLE, F.AWAIT_WRITE]),
    (S.QUEUED, E.REJECT): (S.REJECTED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.QUEUED, E.WITHDRAW): (S.CANCELLED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.OPENING, E.SHOWN): (S.PENDING, []),
    (S.OPENING, E.SHOW_FAILED): (S.FAILED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.OPENING, E.ACCEPT): (S.ACCEPTED, [F.SETTLE, F.AWAIT_WRITE]),
    (S.OPENING, E.REJECT): (S.REJECTED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.OPENING, E.VIEW_CLOSED): (S.REJECTED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.OPENING, E.WITHDRAW): (S.CANCELLED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.PENDING, E.ACCEPT): (S.ACCEPTED, [F.SETTLE, F.AWAIT_WRITE]),
    (S.PENDING, E.REJECT): (S.REJECTED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.PENDING, E.VIEW_CLOSED): (S.REJECTED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.PENDING, E.WITHDRAW): (S.CANCELLED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.OPENING, E.SHELVE): (S.QUEUED, [F.HIDE_VIEW]),
    (S.PENDING, E.SHELVE): (S.QUEUED, [F.HIDE_VIEW]),
    (S.OPENING, E.HIDE): (S.HIDDEN, [F.HIDE_VIEW]),
    (S.PENDING, E.HIDE): (S.HIDDEN, [F.HIDE_VIEW]),
    (S.HIDDEN, E.TURN): (S.OPENING, [F.SHOW]),
    (S.HIDDEN, E.ACCEPT): (S.ACCEPTED, [F.SETTLE, F.AWAIT_WRITE]),
    (S.HIDDEN, E.REJECT): (S.REJECTED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.HIDDEN, E.WITHDRAW): (S.CANCELLED, [F.SETTLE, F.CLOSE_VIEW]),
    (S.ACCEPTED, E.WRITTEN): (S.CLOSED, [F.CLOSE_VIEW, F.RELOAD]),
    (S.ACCEPTED, E.RELEASE): (S.CLOSED, [F.CLOSE_VIEW]),
    (S.REJECTED, E.VIEW_GONE): (S.CLOSED, []),
    (S.CANCELLED, E.VIEW_GONE): (S.CLOSED, []),
    (S.FAILED, E.VIEW_GONE): (S.CLOSED, []),
}

IMPOSSIBLE = {
    (S.QUEUED, E.SHELVE),
    (S.HIDDEN, E.SHELVE),
    (S.QUEUED, E.SHOW_FAILED),
    (S.QUEUED, E.WRITTEN),
    (S.QUEUED, E.RELEASE),
    (S.QUEUED, E.VIEW_GONE),
    (S.OPENING, E.TURN),
    (S.OPENING, E.WRITTEN),
    (S.OPENING, E.RELEASE),
    (S.OPENING, E.VIEW_GONE),
    (S.PENDING, E.TURN),
    (S.PENDING, E.SHOW_FAILED),
    (S.PENDING, E.WRITTEN),
    (S.PENDING, E.RELEASE),
    (S.PENDING, E.VIEW_GONE),
    (S.HIDDEN, E.SHOW_FAILED),
    (S.HIDDEN, E.WRITTEN),
    (S.HIDDEN, E.RELEASE),
    (S.HIDDEN, E.VIEW_GONE),
}


@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
@pytest.mark.parametrize("event", Event, ids=lambda event: event.name)
def test_pair(state: State, event: Event) -> None:
    if (state, event) in IMPOSSIBLE:
        with pytest.raises(AssertionError):
            step(state, event)
        return
    after, effects = step(state, event)
    # what is not listed is late: the state stays and nothing happens
    assert (after, list(effects)) == FOLLOWS.get((state, event), (state, []))


def test_one_verdict_at_most() -> None:
    """From any state no way gives a second verdict."""
    for state in State:
        for event in Event:
            if (state, event) in IMPOSSIBLE:
                continue
            after, effects = step(state, event)
            if F.SETTLE in effects:
                assert state in UNDECIDED
                assert after not in UNDECIDED


def test_every_state_can_end() -> None:
    ends = {S.CLOSED}
    while True:
        more = {
            state
            for (state, event) in FOLLOWS
            if step(state, event)[0] in ends and state not in ends
        }
        if not more:
            break
        ends |= more
    assert ends == set(State)
    assert UNDECIDED < OPEN
