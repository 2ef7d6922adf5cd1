"""One Copilot CLI that has begun a session, and what it has not been told yet.

Owns:     whose diagnostics it has to hear of.
Not here: calls, pushes, presence (protocols/peer.py), messages (session.py), tools (tools.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from agent_ide.model import Diagnostic
from agent_ide.protocols.copilot_ide.session import CopilotSession
from agent_ide.protocols.copilot_ide.tools import CopilotTools
from agent_ide.protocols.peer import Peer

__all__ = ["CopilotPeer"]

PUSHED_DIAGNOSTICS = 1000
"""About so many go into one push, 200 KiB. All of 100,000 were 19 MB in a few messages, and while
one was made no other client was answered (doc/decisions/006)."""


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

    def take_changed(
        self, diagnostics: Mapping[str, Sequence[Diagnostic]]
    ) -> list[tuple[str, Sequence[Diagnostic]]]:
        """What it is told next; what is still in `changed_files` after it comes with the next push.

        Args:
            diagnostics: by path; a clean file has none.
        """
        waiting, files, count = list(self.changed_files), [], 0
        for path in waiting:
            if count >= PUSHED_DIAGNOSTICS:
                break
            items = diagnostics.get(path, ())
            files.append((path, items))
            count += len(items)
        self.changed_files = dict.fromkeys(waiting[len(files) :])
        return files
