"""A scripted Gemini CLI or Qwen Code and their server on an editor in memory.

Owns:     the client's half of the protocol as the CLIs speak it: how each finds the server, their
          headers, one connection for each request that is open.
Not here: the real CLIs (tests/e2e/gemini.py), HTTP's odd cases (tests/transports).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_ide.config import Config
from agent_ide.editor.state import EditorState
from agent_ide.errors import AgentIdeError
from agent_ide.model import OpenBuffer
from agent_ide.notebook.kernel import Kernels
from agent_ide.protocols.base import Context
from agent_ide.protocols.gemini_ide.serve import CompanionServer, Side
from agent_ide.review.machine import State
from agent_ide.review.review import Review
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from tests.support.eventually import eventually
from tests.support.facts import facts
from tests.support.fake_editor import FakeEditor
from tests.transports.http import Wire, dial

__all__ = ["Client", "Desk", "buffer"]

ASKS_FOR = {"gemini": "2025-06-18", "qwen": "2025-11-25"}
"""The revision that each asks for."""


def buffer(path: Path | str, last_used_s: int = 0, **more: Any) -> OpenBuffer:
    given = {"active": False, "dirty": False, "untitled": False, **more}
    return OpenBuffer(str(path), language_id="", line_count=1, last_used_s=last_used_s, **given)


class Client:
    """One CLI; every push that it hears is kept."""

    def __init__(self, agent: str, port: int, token: str) -> None:
        self.agent, self._port, self._token = agent, port, token
        self._id = 0
        self._wires: list[Wire] = []
        self._listening: asyncio.Future[None] | None = None
        self.session_id: str | None = None
        self.revision: str | None = None
        self.heard: list[Any] = []
        self.ended_cleanly = False

    def _head(self, method: str, *headers: str) -> bytes:
        lines = [
            f"{method} /mcp HTTP/1.1",
            f"host: 127.0.0.1:{self._port}",
            "connection: keep-alive",
            f"authorization: Bearer {self._token}",
            *(["mcp-session-id: " + self.session_id] if self.session_id else []),
            *(["mcp-protocol-version: " + self.revision] if self.revision else []),
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            "accept-language: *",
            "sec-fetch-mode: cors",
            "user-agent: undici",
            *headers,
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    async def _send(self, data: bytes) -> Wire:
        wire = await dial(f"127.0.0.1:{self._port}")
        self._wires.append(wire)
        wire.write(data)
        return wire

    async def post(self, message: Any) -> Wire:
        """Send a message; its answer is on the connection."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return await self._send(self._head("POST", f"content-length: {len(body)}") + body)

    async def request(self, method: str, **params: Any) -> Any:
        """Send a request: its answer, result or error."""
        wire = await self.post({"id": self._id, "method": method, "params": params})
        self._id += 1
        answer = await wire.answer()
        if "mcp-session-id" in answer.headers and method == "initialize":
            self.session_id = answer.headers["mcp-session-id"]
        message = answer.events[0] if answer.status == 200 else answer.json
        return message.get("result", message.get("error"))

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.request("tools/call", name=tool, arguments=arguments)

    async def open_diff(self, path: Path | str, text: str) -> None:
        """Ask for a diff; the answer says nothing."""
        assert await self.call("openDiff", filePath=str(path), newContent=text) == {"content": []}

    async def close_diff(self, path: Path | str) -> Any:
        """Decide in the terminal: what the answer holds."""
        result = await self.call("closeDiff", filePath=str(path), suppressNotification=True)
        (block,) = result["content"]
        return json.loads(block["text"])

    async def initialize(self) -> Any:
        result = await self.request(
            "initialize",
            protocolVersion=ASKS_FOR[self.agent],
            capabilities={},
            clientInfo={"name": "streamable-http-client", "version": "0.61.0"},
        )
        self.revision = result["protocolVersion"]
        return result

    async def greet(self) -> None:
        """Everything that a CLI does when it connects."""
        await self.initialize()
        initialized = await self.post({"method": "notifications/initialized"})
        assert (await initialized.answer()).status == 202
        await self.listen()
        await self.request("tools/list")

    async def listen(self) -> int:
        """Open the push stream; its status."""
        wire = await self._send(self._head("GET"))
        status, _ = await wire.head()
        if status == 200:
            self._listening = asyncio.ensure_future(self._listen(wire))
        return status

    async def _listen(self, wire: Wire) -> None:
        self.ended_cleanly = False
        while chunk := await wire.chunk():
            if chunk.startswith(b"event: message\ndata: "):
                self.heard.append(json.loads(chunk.split(b"data: ", 1)[1]))
        self.ended_cleanly = True

    async def stream_ended(self) -> None:
        assert self._listening is not None
        async with asyncio.timeout(5):
            await self._listening

    async def kill(self) -> None:
        """Nothing is said; all connections just end."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        for wire in self._wires:
            await wire.close()
        self._wires.clear()

    def pushes(self, method: str) -> list[Any]:
        return [item["params"] for item in self.heard if item["method"] == f"ide/{method}"]

    async def hears(self, method: str, count: int = 1) -> Any:
        """Wait for so many pushes of a kind; the newest."""
        await eventually(lambda: len(self.pushes(method)) >= count)
        return self.pushes(method)[-1]

    def verdicts(self) -> list[str]:
        """What it was told of its diffs."""
        return [item["method"] for item in self.heard if "Diff" in item["method"].title()]

    async def context(self, suits: Callable[[Any], bool]) -> Any:
        """Wait until the newest context suits; it."""

        def newest() -> Any:
            updates = self.pushes("contextUpdate")
            return updates[-1]["workspaceState"] if updates else None

        await eventually(lambda: newest() is not None and suits(newest()))
        return newest()


class Desk:
    """The server and everything around it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        """Nothing runs yet.

        Args:
            options: of the plugin, such as `gemini` and `qwen`, the options of each.
        """
        self.folder = folder
        self.environ = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
        self.editor = FakeEditor()
        self.state = EditorState()
        self.state.set_folders([str(folder)])
        self.tasks = Tasks()
        self.kernels = Kernels()
        self.clients: list[Client] = []
        self.pid = options.pop("pid", os.getpid())
        self.config = Config.read(options)
        self.reviews = Reviews(self.editor, self.tasks, lambda: None, self.config.shows_diffs)
        self.server = self.new_server()
        self.sides: dict[str, Side | AgentIdeError] = {}

    def new_server(self) -> CompanionServer:
        return CompanionServer(
            Context(
                config=self.config,
                facts=facts(self.folder, self.pid),
                environ=self.environ,
                editor=self.editor,
                state=self.state,
                reviews=self.reviews,
                kernels=self.kernels,
                tasks=self.tasks,
                on_change=lambda: None,
            )
        )

    async def start(self) -> None:
        self.sides = await self.server.start()

    async def restart(self) -> None:
        """As after the host's death: nothing was removed, and another server starts."""
        contents = {path: path.read_text() for path in self.files().values()}
        await self.server.stop()
        for path, text in contents.items():
            path.write_text(text)
        self.server = self.new_server()
        await self.start()

    def side(self, agent: str) -> Side:
        side = self.sides[agent]
        assert isinstance(side, Side)
        return side

    @property
    def folders(self) -> dict[str, Path]:
        return {
            "gemini": self.folder / "tmp" / "gemini" / "ide",
            "qwen": self.folder / "home" / ".qwen" / "ide",
        }

    def files(self) -> dict[str, Path]:
        """The one discovery file of each."""
        found = {agent: sorted(folder.glob("*")) for agent, folder in self.folders.items()}
        assert all(len(paths) <= 1 for paths in found.values()), found
        return {agent: paths[0] for agent, paths in found.items() if paths}

    def said(self, agent: str) -> dict[str, Any]:
        """What the discovery file says."""
        content: dict[str, Any] = json.loads(self.files()[agent].read_text())
        return content

    def client(self, agent: str = "gemini") -> Client:
        """A CLI that has found the server and not connected yet."""
        said = self.said(agent)
        client = Client(agent, said["port"], said["authToken"])
        self.clients.append(client)
        return client

    async def connect(self, agent: str = "gemini") -> Client:
        client = self.client(agent)
        await client.greet()
        return client

    async def review(self, path: Path | str, state: State = State.PENDING) -> Review:
        """Wait for the review of a file."""

        def found() -> list[Review]:
            reviews = self.reviews.open()
            return [item for item in reviews if (item.path, item.state) == (str(path), state)]

        await eventually(lambda: bool(found()))
        return found()[-1]

    async def close(self) -> None:
        await self.server.stop()
        for client in self.clients:
            await client.kill()
        await self.tasks.close()
        await self.kernels.close()
