"""A scripted Claude CLI and a Claude server on an editor in memory.

Owns:     the client's half of the protocol, one method a message.
Not here: the real CLI (tests/e2e/claude.py).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from agent_ide.config import Config
from agent_ide.editor.state import EditorState
from agent_ide.notebook.kernel import Kernels
from agent_ide.protocols.base import Context
from agent_ide.protocols.claude_ide.serve import ClaudeServer
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from tests.support.eventually import eventually
from tests.support.facts import facts
from tests.support.fake_editor import FakeEditor

__all__ = ["Client", "Desk", "dial"]

HEADER = "x-claude-code-ide-authorization"


class Client:
    """One connected CLI; everything it hears is kept."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._id = 0
        self.heard: list[Any] = []
        self._listening = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        async for message in self._connection:
            self.heard.append(json.loads(message))

    async def send(self, **message: Any) -> None:
        await self._connection.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def request(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        self._id += 1
        await self.send(id=self._id, method=method, params=params)
        return self._id

    async def answer(self, request: int, bound_s: float = 5.0) -> Any:
        def found() -> list[Any]:
            return [item for item in self.heard if item.get("id") == request]

        await eventually(found, bound_s)
        return found()[0]

    async def call(self, tool: str, bound_s: float = 5.0, **arguments: Any) -> Any:
        """Call a tool and wait: its result, or its error object."""
        answer = await self.answer(await self.begin(tool, **arguments), bound_s)
        return answer.get("result", answer.get("error"))

    async def texts(self, tool: str, bound_s: float = 5.0, **arguments: Any) -> list[str]:
        result = await self.call(tool, bound_s, **arguments)
        return [block["text"] for block in result["content"]]

    async def json(self, tool: str, **arguments: Any) -> Any:
        (text,) = await self.texts(tool, **arguments)
        return json.loads(text)

    async def begin(self, tool: str, **arguments: Any) -> int:
        return await self.request("tools/call", name=tool, arguments=arguments)

    async def open_diff(self, path: Path, text: str, tab_name: str = "tab") -> int:
        return await self.begin(
            "openDiff",
            old_file_path=str(path),
            new_file_path=str(path),
            new_file_contents=text,
            tab_name=tab_name,
        )

    async def greet(self, pid: int = 1) -> None:
        info = {"name": "claude-code", "version": "2.1.332"}
        request = await self.request(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info
        )
        await self.answer(request)
        await self.send(method="notifications/initialized")
        await self.send(method="ide_connected", params={"pid": pid})

    def pushes(self, method: str) -> list[Any]:
        return [item["params"] for item in self.heard if item.get("method") == method]

    async def close(self) -> None:
        await self._connection.close()
        await self._listening

    async def kill(self) -> None:
        """Nothing is said; the connection just ends."""
        self._connection.transport.abort()
        await asyncio.gather(self._listening, return_exceptions=True)


async def dial(port: int, token: str) -> Client:
    """Connect as a CLI that has read the lock file."""
    connection = await connect(
        f"ws://127.0.0.1:{port}",
        additional_headers={HEADER: token},
        subprotocols=["mcp"],
        max_size=None,
    )
    return Client(connection)


class Desk:
    """A Claude server and everything around it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.lock_folder = folder / "config" / "ide"
        self.editor = FakeEditor()
        self.state = EditorState()
        self.tasks = Tasks()
        self.reviews = Reviews(self.editor, self.tasks, lambda: None)
        self.kernels = Kernels()
        self.clients: list[Client] = []
        self.pid = options.pop("pid", os.getpid())
        self.config = Config.read({"claude": {}, **options})
        self.server = self.new_server()

    def new_server(self, on_change: Callable[[], None] = lambda: None) -> ClaudeServer:
        return ClaudeServer(
            Context(
                config=self.config,
                facts=facts(self.folder, self.pid),
                environ={"CLAUDE_CONFIG_DIR": str(self.folder / "config")},
                editor=self.editor,
                state=self.state,
                reviews=self.reviews,
                kernels=self.kernels,
                tasks=self.tasks,
                on_change=on_change,
            )
        )

    def locks(self) -> list[Path]:
        return sorted(self.lock_folder.glob("*.lock"))

    def lock(self) -> dict[str, Any]:
        (path,) = self.locks()
        content: dict[str, Any] = json.loads(path.read_text())
        return content

    def port(self) -> int:
        (path,) = self.locks()
        return int(path.stem)

    async def connect(self, token: str | None = None) -> Client:
        client = await dial(self.port(), token or self.lock()["authToken"])
        self.clients.append(client)
        return client

    async def close(self) -> None:
        await self.server.stop()
        for client in self.clients:
            await client.close()
        await self.tasks.close()
        await self.kernels.close()
