"""A scripted Copilot CLI that listens: every push, with the time at which it came.

Owns:     its session and its push stream.
Not here: what is measured.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp

__all__ = ["CopilotListener", "copilot_lock"]


def copilot_lock(home: Path) -> Path | None:
    return next((home / ".copilot" / "ide").glob("*.lock"), None)


class CopilotListener:
    """Use as an asynchronous context manager.

    pushes: (arrival, bytes on the wire, message), oldest first.
    """

    def __init__(self, lock: Path) -> None:
        content = json.loads(lock.read_text())
        headers = {**content["headers"], "accept": "application/json, text/event-stream"}
        self._http = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(content["socketPath"]),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        self._listening: asyncio.Future[None] | None = None
        self.pushes: list[tuple[float, int, Any]] = []

    async def __aenter__(self) -> Self:
        initialize = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"},
        }
        headers, _ = await self._post({"id": 1, "method": "initialize", "params": initialize})
        self._http.headers["mcp-session-id"] = headers["mcp-session-id"]
        await self._post({"method": "notifications/initialized"})
        stream = await self._http.get("http://localhost/mcp", read_bufsize=64 * 1024 * 1024)
        self._listening = asyncio.ensure_future(self._listen(stream))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._http.close()

    def named(self, method: str) -> list[tuple[float, int, Any]]:
        return [push for push in self.pushes if push[2].get("method") == method]

    async def call(self, tool: str) -> Any:
        """Call a tool without arguments: the whole answer."""
        params = {"name": tool, "arguments": {}}
        _, body = await self._post({"id": 2, "method": "tools/call", "params": params})
        return json.loads(body.partition(b"data: ")[2])

    async def _post(self, message: dict[str, Any]) -> tuple[Mapping[str, str], bytes]:
        message = {"jsonrpc": "2.0", **message}
        async with self._http.post("http://localhost/mcp", json=message) as answer:
            return answer.headers, await answer.read()

    async def _listen(self, stream: aiohttp.ClientResponse) -> None:
        async for line in stream.content:
            if line.startswith(b"data: "):
                arrival = time.monotonic()
                self.pushes.append((arrival, len(line), json.loads(line[6:])))
