"""What a protocol must give, and where all of them are found.

Owns:     the contract between the host and a protocol.
Not here: any protocol.

A protocol is a package in this folder whose module `serve` has `PROTOCOL`, a `ProtocolSpec`.
Nothing else has to be edited to add one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_ide.config import Config, EditorFacts
from agent_ide.editor.port import Editor
from agent_ide.editor.state import EditorState
from agent_ide.errors import AgentIdeError
from agent_ide.model import ClientId
from agent_ide.notebook.kernel import Kernels
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks

__all__ = [
    "Agent",
    "ClientStatus",
    "Context",
    "Mention",
    "ProtocolSpec",
    "Running",
    "Served",
    "registered",
]


@dataclass(frozen=True, slots=True)
class Mention:
    """Lines (0-based, inclusive) or, without them, a whole file or folder for an agent's prompt."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class ClientStatus:
    """A connected CLI, for people.

    ready:        it can take a mention.
    session_name: what the CLI calls its session, harmless to show.
    prompts:      how many the user has sent since it connected; None: the protocol does not tell.
    """

    id: ClientId
    name: str
    version: str
    pid: int | None
    cwd: str | None
    ready: bool
    session_name: str | None = None
    prompts: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What a protocol's server works with.

    environ:   the environment that says where agents look (`HOME`, `CLAUDE_CONFIG_DIR`, ...).
    on_change: to be called after each change of what `Running` reports.
    """

    config: Config
    facts: EditorFacts
    environ: Mapping[str, str]
    editor: Editor
    state: EditorState
    reviews: Reviews
    kernels: Kernels
    tasks: Tasks
    on_change: Callable[[], None]


class Running(Protocol):
    """What serves one agent; a server of several agents has one for each."""

    @property
    def address(self) -> str:
        """Where it listens, for people."""

    def files(self) -> list[Path]:
        """Lock files and sockets that must go when the host is given up."""

    def launch_env(self) -> dict[str, str]:
        """What a CLI needs in its environment to find this server."""

    def clients(self) -> list[ClientStatus]: ...

    async def mention(self, mention: Mention, pid: int | None) -> bool:
        """Put a mention into one client's prompt, of the process `pid` if it is connected.

        Returns:
            False when no client is ready to take it.
        """

    def restore(self) -> bool:
        """Write the files again that somebody has removed, or that could not be written. Cheap.

        Returns:
            False when that is not enough: a new server must come.
        """

    async def stop(self) -> None:
        """Answer what waits, remove the files, close every connection. Never raises.

        A server of several agents stops with the first of them; the host never stops only one.
        """


Served = Mapping[str, Running | AgentIdeError]
"""By agent's name, what serves it, or why nothing does."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that speaks a protocol.

    name:  in options, commands and status.
    title: for people.
    """

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class ProtocolSpec:
    """One protocol.

    agents: who speaks it; the user may have switched off some of them.
    serve:  starts the server for those that are enabled, or raises ServeError.
    """

    agents: tuple[Agent, ...]
    serve: Callable[[Context], Awaitable[Served]]


def registered() -> Iterator[ProtocolSpec]:
    """Every protocol in this folder, by folder name; each is imported when its turn comes.

    So the one with the lightest imports serves before the next one's are paid for.
    """
    folder = importlib.import_module(__package__)
    names = sorted(item.name for item in pkgutil.iter_modules(folder.__path__) if item.ispkg)
    for name in names:
        yield importlib.import_module(f"{__package__}.{name}.serve").PROTOCOL
