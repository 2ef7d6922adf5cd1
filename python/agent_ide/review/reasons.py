"""Why the user rejected an edit, on its way to the agent's prompt.

Owns:     reasons that wait until the agent's CLI can take them.
Not here: how a text comes into a prompt (lua/agent_ide/send.lua).
Source:   doc/protocols/claude-ide.md: a CLI closes the tab of a rejected diff, twice in Claude's
          case, and shows its prompt after that.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from agent_ide.editor.port import Editor
from agent_ide.errors import EditorError
from agent_ide.model import ClientId
from agent_ide.review.review import Review
from agent_ide.tasks import Tasks

__all__ = ["Reasons"]

logger = logging.getLogger(__name__)

PATIENCE_S = 5.0
"""The CLI closes the tab within some ms."""


@dataclass(eq=False, slots=True)
class Waiting:
    """closings: how many more the CLI makes before its prompt is there."""

    review: Review
    text: str
    closings: int
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Reasons:
    """Carries each reason once."""

    def __init__(self, editor: Editor, tasks: Tasks) -> None:
        self._editor = editor
        self._tasks = tasks
        self._waiting: list[Waiting] = []

    def keep(self, review: Review, text: str) -> None:
        """The review is being rejected for this reason."""
        waiting = Waiting(review, text, review.proposal.closings_after_reject)
        self._waiting.append(waiting)
        self._tasks.spawn(self._carry(waiting), f"reason {review.id}")

    def closed(self, agent: str, client: ClientId, tab_name: str) -> None:
        """A client has closed a tab."""
        for waiting in self._waiting:
            proposal = waiting.review.proposal
            if (proposal.agent, proposal.client, proposal.tab_name) == (agent, client, tab_name):
                waiting.closings -= 1
                if waiting.closings <= 0:
                    waiting.ready.set()

    async def _carry(self, waiting: Waiting) -> None:
        review = waiting.review
        try:
            async with asyncio.timeout(PATIENCE_S):
                await waiting.ready.wait()
            await self._editor.paste(review.proposal.agent, waiting.text)
        except (TimeoutError, EditorError) as error:
            logger.warning("! the reason for review %d was not carried: %r", review.id, error)
            self._editor.notify(
                f"rejected, but {review.proposal.title} did not take the reason: tell it yourself",
                "warn",
            )
        finally:
            self._waiting.remove(waiting)
