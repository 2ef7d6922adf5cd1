"""One Gemini CLI or Qwen Code that has begun a session.

Owns:     how its session's words reach it.
Not here: calls, pushes, presence (protocols/peer.py), messages (session.py), tools (tools.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agent_ide.protocols.gemini_ide.session import CompanionSession
from agent_ide.protocols.gemini_ide.tools import CompanionTools
from agent_ide.protocols.peer import Peer

__all__ = ["CompanionPeer"]


class CompanionPeer(Peer):
    """A session and its CLI."""

    def __init__(
        self,
        session: CompanionSession,
        tools: CompanionTools,
        on_change: Callable[[CompanionPeer], None],
    ) -> None:
        super().__init__(session.mcp, partial(tools.run, session), lambda: on_change(self))
        self.session = session
        session.say = self.pushed.post
