"""The lifecycle of a review, as a table; pure.

Owns:     which state follows which event, and with which effects.
Not here: who waits, whose turn it is (reviews.py); windows (lua/agent_ide/diff).

    QUEUED --its turn--> OPENING --shown--> PENDING <--hide/turn--> HIDDEN
                            +---shelve: back to QUEUED
                            |                  |--accept--> ACCEPTED --written, released--> CLOSED
                            |                  |--reject--> REJECTED --view gone----------> CLOSED
                            |                  |--withdraw-> CANCELLED --view gone--------> CLOSED
                            +--show failed--> FAILED --view gone--------------------------> CLOSED
"""

from __future__ import annotations

import enum

__all__ = ["OPEN", "UNDECIDED", "Effect", "Event", "State", "step"]


class State(enum.Enum):
    QUEUED = "queued"
    OPENING = "opening"
    PENDING = "pending"
    HIDDEN = "hidden"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    FAILED = "failed"
    CLOSED = "closed"


class Event(enum.Enum):
    TURN = "its turn has come"
    SHOWN = "the view is visible"
    SHOW_FAILED = "the view could not be opened"
    HIDE = "the view goes, the question stays"
    SHELVE = "another one is shown in its place, its turn comes again"
    ACCEPT = "the user accepts"
    REJECT = "the user rejects"
    VIEW_CLOSED = "the user has closed the view"
    WITHDRAW = "nobody wants the verdict any more"
    WRITTEN = "the file holds the accepted text"
    RELEASE = "the accepted review is let go"
    VIEW_GONE = "the view that was to close has closed"


class Effect(enum.Enum):
    SHOW = "open the view"
    HIDE_VIEW = "close the view, it may come again"
    CLOSE_VIEW = "close the view for good, then tell VIEW_GONE"
    SETTLE = "give the verdict to the one who waits"
    AWAIT_WRITE = "watch the file until it holds the accepted text"
    RELOAD = "take the written file up in the editor"


UNDECIDED = frozenset({State.QUEUED, State.OPENING, State.PENDING, State.HIDDEN})
"""A verdict is still wanted."""

OPEN = UNDECIDED | {State.ACCEPTED}
"""What a user sees as open, and a tab name refers to."""

_S, _E, _F = State, Event, Effect
_SETTLE, _SETTLE_CLOSE = (_F.SETTLE,), (_F.SETTLE, _F.CLOSE_VIEW)
_ACCEPT = (_F.SETTLE, _F.AWAIT_WRITE)

_TABLE: dict[tuple[State, Event], tuple[State, tuple[Effect, ...]]] = {
    (_S.QUEUED, _E.TURN): (_S.OPENING, (_F.SHOW,)),
    (_S.HIDDEN, _E.TURN): (_S.OPENING, (_F.SHOW,)),
    (_S.OPENING, _E.SHOWN): (_S.PENDING, ()),
    (_S.OPENING, _E.SHOW_FAILED): (_S.FAILED, _SETTLE_CLOSE),
    # from OPENING: closed before the host has heard that it is visible
    (_S.OPENING, _E.HIDE): (_S.HIDDEN, (_F.HIDE_VIEW,)),
    (_S.PENDING, _E.HIDE): (_S.HIDDEN, (_F.HIDE_VIEW,)),
    (_S.OPENING, _E.SHELVE): (_S.QUEUED, (_F.HIDE_VIEW,)),
    (_S.PENDING, _E.SHELVE): (_S.QUEUED, (_F.HIDE_VIEW,)),
    **{(state, _E.ACCEPT): (_S.ACCEPTED, _ACCEPT) for state in UNDECIDED},
    **{(state, _E.REJECT): (_S.REJECTED, _SETTLE_CLOSE) for state in UNDECIDED},
    **{(state, _E.WITHDRAW): (_S.CANCELLED, _SETTLE_CLOSE) for state in UNDECIDED},
    (_S.OPENING, _E.VIEW_CLOSED): (_S.REJECTED, _SETTLE_CLOSE),
    (_S.PENDING, _E.VIEW_CLOSED): (_S.REJECTED, _SETTLE_CLOSE),
    (_S.ACCEPTED, _E.WRITTEN): (_S.CLOSED, (_F.CLOSE_VIEW, _F.RELOAD)),
    (_S.ACCEPTED, _E.RELEASE): (_S.CLOSED, (_F.CLOSE_VIEW,)),
    **{(state, _E.VIEW_GONE): (_S.CLOSED, ()) for state in (_S.REJECTED, _S.CANCELLED, _S.FAILED)},
}

_LATE: frozenset[tuple[State, Event]] = frozenset(
    # what was on its way when the state changed: the first verdict counts
    [(_S.PENDING, _E.SHOWN)]
    + [(_S.HIDDEN, event) for event in (_E.SHOWN, _E.VIEW_CLOSED, _E.HIDE)]
    + [(_S.QUEUED, event) for event in (_E.SHOWN, _E.HIDE, _E.VIEW_CLOSED)]
    + [
        (state, event)
        for state in (_S.ACCEPTED, _S.REJECTED, _S.CANCELLED, _S.FAILED, _S.CLOSED)
        for event in Event
        if (state, event) not in _TABLE
    ]
)


def step(state: State, event: Event) -> tuple[State, tuple[Effect, ...]]:
    """What follows.

    Raises:
        AssertionError: the pair cannot occur; a caller's bug.
    """
    found = _TABLE.get((state, event))
    if found is not None:
        return found
    if (state, event) in _LATE:
        return state, ()
    raise AssertionError(f"{event} in {state}")
