"""A scripted Copilot CLI and a Copilot server on an editor in memory.

Owns:     the client's half of the protocol as the CLI speaks it: a connection for each request
          that is open, chunked bodies, its headers.
Not here: the real CLI (tests/e2e/copilot.py), HTTP's odd cases (tests/transports).
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Any

from agent_ide.config import Config
from agent_ide.editor.state import EditorState
from agent_ide.notebook.kernel import Kernels
from agent_ide.protocols.base import Context
from agent_ide.protocols.copilot_ide.serve import CopilotServer
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from tests.support.eventually import eventually
from tests.support.facts import facts
from tests.support.fake_editor import FakeEditor
from tests.transports.http import Answer, Wire, dial

__all__ = ["Client", "Desk"]


class Client:
    """One CLI; every push that it hears is kept."""

    def __init__(self, lock: dict[str, Any], cli_session: str, pid: int) -> None:
        self._lock, self._cli_session, self._pid = lock, cli_session, pid
        self._id = 0
        self._wires: list[Wire] = []
        self._listening: asyncio.Future[None] | None = None
        self.session_id: str | None = None
        self.heard: list[Any] = []

    def _head(self, method: str, *headers: str) -> bytes:
        lines = [
            f"{method} /mcp HTTP/1.1",
            f"X-Copilot-Session-Id: {self._cli_session}",
            f"X-Copilot-PID: {self._pid}",
            "X-Copilot-Parent-PID: 1",
            *(f"{name}: {value}" for name, value in self._lock["headers"].items()),
            "accept: application/json, text/event-stream",
            "content-type: application/json",
            *([f"mcp-session-id: {self.session_id}"] if self.session_id else []),
            "Host: localhost",
            "Connection: keep-alive",
            *headers,
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    async def _send(self, data: bytes) -> Wire:
        wire = await dial(self._lock["socketPath"])
        self._wires.append(wire)
        wire.write(data)
        return wire

    async def post(self, message: Any) -> Wire:
        """Send a message; its answer is on the connection."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        return await self._send(self._head("POST", "Transfer-Encoding: chunked") + chunks)

    async def request(self, method: str, **params: Any) -> Any:
        """Send a request: its answer, result or error."""
        wire = await self.begin(method, **params)
        return await self.answer(wire)

    async def begin(self, method: str, **params: Any) -> Wire:
        self._id += 1
        return await self.post({"id": self._id, "method": method, "params": params})

    @staticmethod
    async def answer(wire: Wire) -> Any:
        answer = await wire.answer()
        message = answer.events[0] if answer.status == 200 else answer.json
        return message.get("result", message.get("error"))

    async def begin_call(self, tool: str, **arguments: Any) -> Wire:
        return await self.begin(
            "tools/call", name=tool, arguments=arguments, _meta={"progressToken": self._id}
        )

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool: its result, or its error object."""
        return await self.answer(await self.begin_call(tool, **arguments))

    async def json(self, tool: str, **arguments: Any) -> Any:
        """Call a tool: the JSON in its one text."""
        return content(await self.call(tool, **arguments))

    async def open_diff(self, path: Path | str, text: str, tab_name: str = "tab") -> Wire:
        return await self.begin_call(
            "open_diff", original_file_path=str(path), new_file_contents=text, tab_name=tab_name
        )

    async def verdict(self, wire: Wire) -> Any:
        return content(await self.answer(wire))

    async def initialize(self) -> Any:
        """server/discover, which is refused, and initialize: its result."""
        refused = await (await self.begin("server/discover")).answer()
        assert (refused.status, refused.json["error"]["code"]) == (400, -32601)
        wire = await self.begin(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "copilot-cli", "version": "1.0.102"},
        )
        answer = await wire.answer()
        self.session_id = answer.headers["mcp-session-id"]
        return answer.events[0]["result"]

    async def greet(self) -> None:
        """Everything that the CLI does when it connects."""
        await self.initialize()
        assert (
            await (await self.post({"method": "notifications/initialized"})).answer()
        ).status == (202)
        await self.listen()

    async def listen(self) -> None:
        """Open the push stream."""
        wire = await self._send(self._head("GET"))
        status, _ = await wire.head()
        assert status == 200
        self._listening = asyncio.ensure_future(self._listen(wire))

    async def _listen(self, wire: Wire) -> None:
        while chunk := await wire.chunk():
            if chunk.startswith(b"event: message\ndata: "):
                self.heard.append(json.loads(chunk.split(b"data: ", 1)[1]))

    async def stop_listening(self) -> None:
        """Lose the push stream."""
        assert self._listening is not None
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        await self._wires[-1].close()

    async def delete(self) -> Answer:
        return await (await self._send(self._head("DELETE"))).answer()

    def pushes(self, method: str) -> list[Any]:
        return [item["params"] for item in self.heard if item.get("method") == method]

    async def hears(self, method: str, count: int = 1) -> Any:
        """Wait for so many pushes of a kind; the newest."""
        await eventually(lambda: len(self.pushes(method)) >= count)
        return self.pushes(method)[-1]

    async def kill(self) -> None:
        """Nothing is said; all connections just end."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        for wire in self._wires:
            await wire.close()


def content(result: Any) -> Any:
    (block,) = result["content"]
    return json.loads(block["text"])


class Desk:
    """A Copilot server and everything around it.

    Args:
        folder: also the private folder for the socket, so its path must be short.
    """

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.lock_folder = folder / "home" / "ide"
        self.environ = {"COPILOT_HOME": str(folder / "home")}
        self.editor = FakeEditor()
        self.state = EditorState()
        self.tasks = Tasks()
        self.reviews = Reviews(self.editor, self.tasks, lambda: None)
        self.kernels = Kernels()
        self.clients: list[Client] = []
        self.pid = options.pop("pid", os.getpid())
        self.changes = 0
        general = {"track_selection": options.pop("track_selection", True)}
        self.config = Config.read({"copilot": options, **general})
        self.server = self.new_server()

    def new_server(self) -> CopilotServer:
        def changed() -> None:
            self.changes += 1

        return CopilotServer(
            Context(
                config=self.config,
                facts=facts(self.folder, self.pid),
                environ=self.environ,
                editor=self.editor,
                state=self.state,
                reviews=self.reviews,
                kernels=self.kernels,
                tasks=self.tasks,
                on_change=changed,
            )
        )

    def locks(self) -> list[Path]:
        return sorted(self.lock_folder.glob("*.lock"))

    def lock(self) -> dict[str, Any]:
        (path,) = self.locks()
        content: dict[str, Any] = json.loads(path.read_text())
        return content

    def client(self, cli_session: str | None = None, pid: int = 1) -> Client:
        """A CLI that has found the lock and not connected yet."""
        client = Client(self.lock(), cli_session or str(uuid.uuid4()), pid)
        self.clients.append(client)
        return client

    async def connect(self, cli_session: str | None = None, pid: int = 1) -> Client:
        client = self.client(cli_session, pid)
        await client.greet()
        return client

    async def shown(self, count: int = 1) -> None:
        """Wait for a diff's view."""
        await eventually(lambda: len(self.editor.views) == count)

    async def accept(self, text: str | None = None) -> None:
        """The user accepts the diff that is shown, as proposed or as changed."""
        await eventually(lambda: any(item.undecided for item in self.reviews.open()))
        review = next(item for item in self.reviews.open() if item.undecided)
        await self.reviews.accept(review, review.proposal.text if text is None else text)

    async def close(self) -> None:
        await self.server.stop()
        for client in self.clients:
            await client.kill()
        await self.tasks.close()
        await self.kernels.close()
