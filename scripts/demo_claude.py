"""The demo's agent as a client of Claude Code's protocol.

Owns:     the client's side of the protocol, as far as the demo needs it.
Not here: the plugin (it must not need anything of this file), the conversation (demo_agent.py).
Source:   doc/protocols/claude-ide.md; like the CLI it finds the editor by its environment and the
          lock file, proposes an edit with openDiff and writes what the user made of it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from demo_editor import CLIENT, REVISION, Editor, Json, NoEditorError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol


class ClaudeEditor(Editor):
    """One WebSocket for everything."""

    def __init__(self, name: str, connection: ClientConnection) -> None:
        super().__init__(name)
        self._connection = connection
        self._ids = count()
        self._waiting: dict[int, asyncio.Future[Json]] = {}

    async def greet(self) -> None:
        hello = {
            "protocolVersion": REVISION,
            "capabilities": {"roots": {}},
            "clientInfo": CLIENT,
        }
        await self._request("initialize", hello)
        await self._send({"method": "notifications/initialized", "params": {}})
        await self._send({"method": "ide_connected", "params": {"pid": os.getpid()}})

    async def propose(self, path: Path, text: str, tab: str) -> str | None:
        verdict, *texts = await self._tool(
            "openDiff",
            old_file_path=str(path),
            new_file_path=str(path),
            new_file_contents=text,
            tab_name=tab,
        )
        return texts[0] if verdict == "FILE_SAVED" else None

    async def finish(self, tab: str) -> None:
        await self._tool("close_tab", tab_name=tab)

    async def receive(self) -> None:
        async for text in self._connection:
            message = json.loads(text)
            if message.get("method") == "selection_changed":
                self.tell_selection(message["params"])
            elif message.get("method") == "roots/list":
                roots = {"roots": [{"uri": Path.cwd().as_uri()}]}
                await self._send({"id": message["id"], "result": roots})
            elif "method" in message and "id" in message:
                error = {"code": -32601, "message": "not in this demo"}
                await self._send({"id": message["id"], "error": error})
            elif message.get("id") in self._waiting:
                self._settle(self._waiting.pop(message["id"]), message)

    def _settle(self, answer: asyncio.Future[Json], message: Json) -> None:
        if "error" in message:
            answer.set_exception(RuntimeError(message["error"]["message"]))
        else:
            answer.set_result(message["result"])

    async def _tool(self, name: str, **arguments: object) -> list[str]:
        """Call a tool of the editor; the texts it answers."""
        result = await self._request("tools/call", {"name": name, "arguments": arguments})
        return [block["text"] for block in result["content"] if block["type"] == "text"]

    async def _request(self, method: str, params: Json) -> Json:
        number = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        await self._send({"id": number, "method": method, "params": params})
        return await answer

    async def _send(self, message: Json) -> None:
        await self._connection.send(json.dumps({"jsonrpc": "2.0", **message}))


def find_lock(port: str) -> Json:
    """The lock file of the editor on this port, as the CLI looks for it."""
    config = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(config) if config else Path.home() / ".claude"
    lock: Json = json.loads((folder / "ide" / f"{port}.lock").read_text(encoding="utf-8"))
    return lock


@asynccontextmanager
async def claude_editor() -> AsyncIterator[Editor]:
    """A connection to the editor in whose terminal we are.

    Raises:
        NoEditorError: there is none, or it is gone.
    """
    port = os.environ.get("CLAUDE_CODE_SSE_PORT")
    if not port:
        raise NoEditorError("start me in a terminal of Neovim with the plugin")
    try:
        lock = find_lock(port)
        async with connect(
            f"ws://127.0.0.1:{port}/",
            subprotocols=[Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": lock["authToken"]},
            proxy=None,
        ) as connection:
            yield ClaudeEditor(lock["ideName"], connection)
    except (OSError, InvalidStatus, ConnectionClosed) as error:
        raise NoEditorError(str(error)) from error
