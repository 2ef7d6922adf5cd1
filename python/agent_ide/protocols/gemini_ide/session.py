"""One session of a Gemini CLI or Qwen Code, sans I/O.

Owns:     who the client is, the diffs that it waits for.
Not here: HTTP (transports/streamable_http.py), tools (tools.py), pushes (serve.py).
Source:   doc/protocols/gemini-ide.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_ide.model import ClientId, Proposal
from agent_ide.protocols.gemini_ide.discovery import Cli
from agent_ide.wire.mcp import McpSession
from agent_ide.wire.toolspec import ToolSet

__all__ = ["CompanionSession", "Diff"]


@dataclass(eq=False, slots=True)
class Diff:
    """A diff that the client asked for.

    path:    as the client spelled it: it finds its own question by that.
    settled: the client has heard how it ended, or knows.
    """

    path: str
    proposal: Proposal
    settled: bool = False


class CompanionSession:
    """One CLI's session.

    Attributes:
        trusted: what it is told of the folders, the same as long as it lives; None: nothing.
        diffs:   by path, the last one of each that its terminal may still ask about.
        say:     sends a notification; set by whoever has the stream.
    """

    def __init__(
        self, client: ClientId, cli: Cli, tools: ToolSet, version: str, trusted: bool | None
    ) -> None:
        self.client = client
        self.cli = cli
        self.trusted = trusted
        self.diffs: dict[str, Diff] = {}
        self.say: Callable[[bytes], None] = lambda message: None
        self.mcp = McpSession(
            tools,
            server_info={"name": "agent_ide", "title": "Neovim", "version": version},
            capabilities={"tools": {}},
        )

    def settle(self, diff: Diff, message: bytes | None) -> None:
        """The one word about the end of a diff; a second one is not said."""
        if not diff.settled and message is not None:
            self.say(message)
        diff.settled = True
