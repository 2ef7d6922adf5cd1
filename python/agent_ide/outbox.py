"""Mentions that wait for an agent to connect.

Owns:     what was sent and is not delivered yet, in order, for each agent.
Not here: how a mention is said (protocols/*/messages.py).
Above:    host.py posts mentions and calls `deliver` after each change of clients.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass

from agent_ide.editor.port import Editor
from agent_ide.protocols.base import Mention, Running
from agent_ide.tasks import Tasks

__all__ = ["Outbox"]

PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Letter:
    mention: Mention
    pid: int | None
    ends_s: float


class Outbox:
    """Delivers each mention once, in order, or tells the user that it could not."""

    def __init__(self, servers: Mapping[str, Running], editor: Editor, tasks: Tasks) -> None:
        self._servers = servers
        self._editor = editor
        self._tasks = tasks
        self._letters: dict[str, list[Letter]] = {}
        self._delivering: set[str] = set()

    def post(self, agent: str, mention: Mention, pid: int | None) -> None:
        ends_s = asyncio.get_running_loop().time() + PATIENCE_S
        self._letters.setdefault(agent, []).append(Letter(mention, pid, ends_s))
        self._tasks.spawn(self._expire(agent), "expire mentions")
        self.deliver()

    def deliver(self) -> None:
        """Try again: a client may have become ready."""
        for agent, letters in self._letters.items():
            if letters and agent not in self._delivering:
                self._delivering.add(agent)
                self._tasks.spawn(self._deliver(agent), f"deliver to {agent}")

    async def _deliver(self, agent: str) -> None:
        letters = self._letters[agent]
        try:
            while letters:
                server = self._servers.get(agent)
                if server is None or not await server.mention(letters[0].mention, letters[0].pid):
                    return
                letters.pop(0)
        finally:
            self._delivering.discard(agent)

    async def _expire(self, agent: str) -> None:
        await asyncio.sleep(PATIENCE_S)
        now = asyncio.get_running_loop().time()
        letters = self._letters[agent]
        late = [letter for letter in letters if letter.ends_s <= now]
        letters[:] = [letter for letter in letters if letter.ends_s > now]
        for letter in late:
            name = os.path.basename(letter.mention.path)
            self._editor.notify(
                f"{name} was not sent: no {agent} has connected within {PATIENCE_S:.0f} s", "warn"
            )
