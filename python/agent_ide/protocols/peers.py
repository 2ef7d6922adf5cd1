"""The sessions of one server of MCP over HTTP.

Owns:     how many there may be, and which has to go for one more.
Not here: one session (peer.py), how it begins and ends (protocols/*/serve.py).
"""

from __future__ import annotations

from typing import TypeVar

from agent_ide.protocols.peer import Peer

__all__ = ["Peers"]

MAX_SESSIONS = 100

P = TypeVar("P", bound=Peer)


class Peers(dict[str, P]):
    """By the session's id."""

    def surplus(self) -> list[P]:
        """Those to end before one more begins: who is not connected, or silent for longest."""
        order = sorted(self.values(), key=lambda peer: (peer.connected, peer.last_heard_s))
        return order[: max(0, len(self) - MAX_SESSIONS + 1)]
