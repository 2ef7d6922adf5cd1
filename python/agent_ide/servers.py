"""The servers of one host: started, tried again, their files put back, stopped.

Owns:     which server serves which agent, why none does, the look whether all is still in place.
Not here: what a server does (protocols), what else the host consists of (host.py).
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterable
from typing import Any

from agent_ide.errors import AgentIdeError
from agent_ide.protocols.base import Agent, Context, ProtocolSpec, Running

__all__ = ["Servers"]

logger = logging.getLogger(__name__)

LOOK_S = 2.0
"""Between two looks whether the files are there: somebody cleans up, a disk is full, a CLI in a
container takes our process for a dead one. Also between two attempts to start a server."""

Enabled = tuple[ProtocolSpec, list[Agent]]


class Servers:
    """One for each protocol; `running` by agent's name."""

    def __init__(self, available: Iterable[ProtocolSpec], context: Context) -> None:
        self._available = available
        self._context = context
        self._enabled: list[Enabled] = []
        self._errors: dict[str, str] = {}
        self.running: dict[str, Running] = {}

    async def start(self) -> None:
        """Start every server; one that fails leaves the others alone, and is tried again."""
        for spec in self._available:
            agents = [agent for agent in spec.agents if self._context.config.enabled(agent.name)]
            if agents:
                self._enabled.append((spec, agents))
                await self._serve(spec, agents)

    async def keep(self) -> None:
        """For ever: see that who should be served can be."""
        while True:
            await asyncio.sleep(LOOK_S)
            for spec, agents in self._enabled:
                running = [self.running[agent.name] for agent in agents if self._serves(agent)]
                lost = [server for server in running if not server.restore()]
                if running and not lost:
                    continue
                for server in running:
                    await server.stop()
                await self._serve(spec, agents)

    def remove_files(self) -> None:
        """What must not outlive the host, at once and without a loop."""
        for server in self.running.values():
            for path in server.files():
                path.unlink(missing_ok=True)

    async def stop(self) -> None:
        await asyncio.gather(*(server.stop() for server in self.running.values()))

    def status(self) -> dict[str, Any]:
        """`servers` and `clients` of doc/channel.md."""
        servers: list[dict[str, Any]] = []
        clients: list[dict[str, Any]] = []
        for agent in (agent for _, agents in self._enabled for agent in agents):
            entry: dict[str, Any] = {"agent": agent.name, "title": agent.title, "address": ""}
            server = self.running.get(agent.name)
            if server is not None:
                entry["address"] = server.address
                entry["files"] = [str(path) for path in server.files()]
                entry["env"] = server.launch_env()
                clients += [
                    {"agent": agent.name, **_without_none(dataclasses.asdict(client))}
                    for client in server.clients()
                ]
            elif agent.name in self._errors:
                entry |= {"error": self._errors[agent.name], "files": [], "env": {}}
            else:
                continue
            servers.append(entry)
        return {"servers": servers, "clients": clients}

    def _serves(self, agent: Agent) -> bool:
        return agent.name in self.running

    async def _serve(self, spec: ProtocolSpec, agents: list[Agent]) -> None:
        try:
            served = await spec.serve(self._context)
        except AgentIdeError as error:
            served = {agent.name: error for agent in agents}
        for agent in agents:
            server = served[agent.name]
            if isinstance(server, AgentIdeError):
                self._failed(agent, str(server))
            else:
                self._errors.pop(agent.name, None)
                self.running[agent.name] = server
        self._context.on_change()

    def _failed(self, agent: Agent, reason: str) -> None:
        self.running.pop(agent.name, None)
        if self._errors.get(agent.name) != reason:
            self._errors[agent.name] = reason
            self._context.editor.notify(f"{agent.title} cannot connect: {reason}", "error")


def _without_none(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}
