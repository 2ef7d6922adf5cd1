"""The servers of a Neovim as somebody finds them who may read the discovery files.

Owns:     where each is, what opens it, what a CLI sends first.
Not here: what is sent instead (attempts.py), sessions (visits.py).
"""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import asdict, dataclass

from tests.e2e.editor import Editor

__all__ = ["Door", "doors", "from_json", "to_json"]

CLAUDE_HEADER = "x-claude-code-ide-authorization"


@dataclass(frozen=True, slots=True)
class Door:
    """A server, and the one header that opens it.

    address: `host:port`, or the path of a unix socket.
    host:    what Host has to say.
    """

    name: str
    address: str
    host: str
    header: str
    value: str

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.address.startswith("/"):
            return await asyncio.open_unix_connection(self.address)
        host, _, port = self.address.partition(":")
        return await asyncio.open_connection(host, int(port))

    def dial(self) -> socket.socket:
        """A connection that says nothing yet."""
        is_path = self.address.startswith("/")
        line = socket.socket(socket.AF_UNIX if is_path else socket.AF_INET)
        host, _, port = self.address.partition(":")
        line.connect(self.address if is_path else (host, int(port)))
        line.setblocking(False)
        return line

    @property
    def token(self) -> str:
        """The secret part of the value."""
        return self.value.split()[-1]

    def request(
        self, *headers: str, target: str | None = None, method: str = "", host: str | None = None
    ) -> bytes:
        """What a CLI sends first, with these headers instead of its token."""
        hosts = [f"Host: {self.host}"] if host is None else [f"Host: {host}"] if host else []
        if self.name == "claude":
            lines = [
                f"{method or 'GET'} {target or '/'} HTTP/1.1",
                *hosts,
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol: mcp",
                *headers,
            ]
            return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
            }
        )
        lines = [
            f"{method or 'POST'} {target or '/mcp'} HTTP/1.1",
            *hosts,
            "Accept: application/json, text/event-stream",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *headers,
        ]
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode("latin-1")

    def right(self, **more: str) -> bytes:
        """What opens it."""
        return self.request(f"{self.header}: {self.value}", **more)


def doors(editor: Editor) -> list[Door]:
    """The servers of a Neovim that is up: one of each kind, and the second token of the third."""
    editor.wait_host()
    lock, copilot = editor.lock(), editor.wait_copilot_lock()
    assert lock is not None
    found = [
        Door(
            "claude", f"127.0.0.1:{lock.port}", f"127.0.0.1:{lock.port}", CLAUDE_HEADER, lock.token
        ),
        Door(
            "copilot",
            copilot["socketPath"],
            "localhost",
            "Authorization",
            copilot["headers"]["Authorization"],
        ),
    ]
    for name in ("gemini", "qwen"):
        said = editor.wait_companion_file(name)
        address = f"127.0.0.1:{said['port']}"
        found.append(Door(name, address, address, "Authorization", f"Bearer {said['authToken']}"))
    return found


def to_json(found: list[Door]) -> str:
    return json.dumps([asdict(door) for door in found])


def from_json(text: str) -> list[Door]:
    return [Door(**door) for door in json.loads(text)]
