"""Copilot CLI's session, sans I/O: MCP, and who the client says it is.

Owns:     what one client has told of itself.
Not here: HTTP (transports/streamable_http.py), tools (tools.py), pushes (serve.py).
Source:   doc/protocols/copilot-ide.md, seen with Copilot CLI 1.0.102.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_ide.errors import RpcError
from agent_ide.model import ClientId
from agent_ide.wire.mcp import McpSession, refuse_opening
from agent_ide.wire.toolspec import ToolSet

__all__ = ["CopilotSession", "Opening", "read_opening"]

SERVER_INFO = {
    "name": "vscode-copilot-cli",
    "version": "0.0.1",
    "title": "VS Code Copilot CLI",
}
"""The name that the protocol asks of every IDE."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A client that begins a session, as its headers say.

    cli_session: the CLI's own session, the same across reconnects; None when not said.
    pid:         its process.
    """

    cli_session: str | None
    pid: int | None


def read_opening(headers: Mapping[str, str], body: bytes) -> Opening | RpcError:
    """What a message without a session id begins, or why nothing."""
    refusal = refuse_opening(body)
    if refusal is not None:
        return refusal
    pid = headers.get("X-Copilot-PID", "")
    return Opening(
        headers.get("X-Copilot-Session-Id") or None,
        int(pid) if pid.isascii() and pid.isdigit() and len(pid) < 10 else None,
    )


class CopilotSession:
    """One CLI session.

    Attributes:
        name: what update_session_name said last.
    """

    def __init__(self, client: ClientId, opening: Opening, tools: ToolSet) -> None:
        self.client = client
        self.opening = opening
        self.name: str | None = None
        self.mcp = McpSession(
            tools, server_info=SERVER_INFO, capabilities={"tools": {"listChanged": True}}
        )
