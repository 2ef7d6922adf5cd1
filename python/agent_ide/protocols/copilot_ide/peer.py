"""One Copilot CLI that has begun a session, and what it has not been told yet.

Owns:     whose diagnostics it has to hear of.
Not here: calls, pushes, presence (protocols/peer.py), messages (session.py), tools (tools.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agent_ide.protocols.copilot_ide.session import CopilotSession
from agent_ide.protocols.copilot_ide.tools import CopilotTools
from agent_ide.protocols.peer import Peer

__all__ = ["CopilotPeer"]


class CopilotPeer(Peer):
    """A session and its CLI.

    Attributes:
        changed_files: whose diagnostics it has not been told of; a set that keeps its order.
    """

    def __init__(
        self,
        session: CopilotSession,
        tools: CopilotTools,
        on_change: Callable[[CopilotPeer], None],
    ) -> None:
        super().__init__(
            session.mcp,
            partial(tools.run, session),
            lambda: on_change(self),
            frozenset({"open_diff"}),
        )
        self.session = session
        self.changed_files: dict[str, None] = {}

    def told(self) -> tuple[object, ...]:
        return *super().told(), self.session.name
