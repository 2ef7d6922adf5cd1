"""The demo's agent as a client of Copilot CLI's protocol.

Owns:     the client's side of the protocol, as far as the demo needs it.
Not here: the plugin (it must not need anything of this file), the conversation (demo_agent.py).
Source:   doc/protocols/copilot-ide.md; like the CLI it finds the editor by the folder it is started
          in, proposes an edit with open_diff and writes its own text, whatever the user made of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import aiohttp
from demo_editor import CLIENT, REVISION, Editor, Json, NoEditorError

URL = "http://localhost/mcp"
ACCEPT = {"Accept": "application/json, text/event-stream"}
SESSION_HEADER = "mcp-session-id"


class CopilotEditor(Editor):
    """A POST for each message of ours, and one GET through which the editor speaks."""

    def __init__(self, name: str, http: aiohttp.ClientSession) -> None:
        super().__init__(name)
        self._http = http
        self._ids = count()
        self._headers = dict(ACCEPT)
        self._greeted = asyncio.Event()

    async def greet(self) -> None:
        hello = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": CLIENT}
        await self._request("initialize", hello)
        await self._post({"method": "notifications/initialized", "params": {}})
        self._greeted.set()

    async def propose(self, path: Path, text: str, tab: str) -> str | None:
        arguments = {
            "original_file_path": str(path),
            "new_file_contents": text,
            "tab_name": tab,
        }
        result = await self._request("tools/call", {"name": "open_diff", "arguments": arguments})
        verdict = json.loads(result["content"][0]["text"])
        return text if verdict["result"] == "SAVED" else None

    async def finish(self, tab: str) -> None:
        """The editor needs no word: it sees the file."""

    async def receive(self) -> None:
        await self._greeted.wait()
        async with self._http.get(URL, headers=self._headers) as stream:
            async for line in stream.content:
                if line.startswith(b"data:"):
                    message = json.loads(line.removeprefix(b"data:"))
                    if message.get("method") == "selection_changed":
                        self.tell_selection(message["params"])

    async def goodbye(self) -> None:
        async with self._http.delete(URL, headers=self._headers):
            pass

    async def _request(self, method: str, params: Json) -> Json:
        message = await self._post({"id": next(self._ids), "method": method, "params": params})
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        result: Json = message["result"]
        return result

    async def _post(self, message: Json) -> Json:
        """Send a message; its answer, {} for a notification."""
        body = {"jsonrpc": "2.0", **message}
        async with self._http.post(URL, json=body, headers=self._headers) as response:
            response.raise_for_status()
            if SESSION_HEADER in response.headers:
                self._headers[SESSION_HEADER] = response.headers[SESSION_HEADER]
            text = await response.text()
            if response.content_type == "text/event-stream":
                text = next(line[5:] for line in text.splitlines() if line.startswith("data:"))
            return json.loads(text) if "id" in message else {}


def find_lock() -> Json:
    """The lock file of an editor that has this folder open, as the CLI looks for it.

    Raises:
        NoEditorError: there is none.
    """
    home = os.environ.get("COPILOT_HOME")
    folder = Path(home) if home else Path.home() / ".copilot"
    here = os.path.realpath(os.curdir)
    for path in sorted((folder / "ide").glob("*.lock")):
        lock: Json = json.loads(path.read_text(encoding="utf-8"))
        if here in lock["workspaceFolders"]:
            return lock
    raise NoEditorError(f"no editor has {here} open")


@asynccontextmanager
async def copilot_editor() -> AsyncIterator[Editor]:
    """A connection to the editor that has this folder open.

    Raises:
        NoEditorError: there is none, or it is gone.
    """
    lock = find_lock()
    who = {"X-Copilot-Session-Id": str(uuid.uuid4()), "X-Copilot-PID": str(os.getpid())}
    try:
        async with aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(lock["socketPath"]),
            headers={**who, **lock["headers"]},
            # the user takes his time
            timeout=aiohttp.ClientTimeout(total=None),
        ) as http:
            editor = CopilotEditor(lock["ideName"], http)
            yield editor
            await editor.goodbye()
    except (OSError, aiohttp.ClientError) as error:
        raise NoEditorError(str(error)) from error
