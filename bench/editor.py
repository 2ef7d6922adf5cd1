"""A Neovim with the plugin, as scripts/nvim starts it, and a scripted Claude CLI on its server.

Owns:     the process, its folders, a client on its socket, the WebSocket of the scripted CLI.
Not here: what is measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect

from tests.e2e.client import Client

__all__ = ["REPO", "Agent", "Editor", "environment", "wait_for"]

REPO = Path(__file__).resolve().parent.parent
TOKEN_HEADER = "x-claude-code-ide-authorization"


def wait_for(look: Callable[[], Any], limit_s: float = 30.0) -> Any:
    """Poll until `look` gives something true; its value."""
    end = time.monotonic() + limit_s
    while not (value := look()):
        if time.monotonic() > end:
            raise TimeoutError("it did not happen")
        time.sleep(0.001)
    return value


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's: HOME and XDG folders lie in `home`."""
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("XDG_", "CLAUDE", "COPILOT", "GEMINI", "NVIM"))
    }
    env |= {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "STATE", "CONFIG")}
    return {**env, "HOME": str(home), "LANG": "C.UTF-8"}


class Editor:
    """One Neovim; use as a context manager."""

    def __init__(self, *arguments: str, options: str = "{}") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="aib")
        self.home = Path(self._folder.name)
        self.project = self.home / "project"
        self.project.mkdir()
        address = self.home / "s"
        self.started_s = time.monotonic()
        self.process = subprocess.Popen(
            [
                str(REPO / "scripts" / "nvim"),
                *("--headless", "--listen", str(address)),
                *("--cmd", f"lua vim.g.agent_ide = {options}"),
                *arguments,
            ],
            cwd=self.project,
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._address = address
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()
        self.process.terminate()
        self.process.wait(10)
        self._folder.cleanup()

    @property
    def client(self) -> Client:
        """Of Neovim's socket; it blocks, and needs no loop."""
        if self._client is None:
            wait_for(self._address.exists)
            self._client = Client(self._address)
        return self._client

    def lua(self, code: str, *args: object) -> Any:
        return self.client.call("nvim_exec_lua", code, args, limit_s=120)

    def press(self, keys: str) -> None:
        """Type keys without waiting for Neovim's answer."""
        self.client.send("nvim_input", keys)

    def claude_lock(self) -> Path | None:
        return next((self.home / ".claude" / "ide").glob("*.lock"), None)

    def peak_mb(self) -> float:
        """The most memory that Neovim has needed so far."""
        with open(f"/proc/{self.lua('return vim.fn.getpid()')}/status", encoding="utf-8") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def host_pid(self) -> int:
        return int(self.lua("return require('agent_ide.host').info().pid"))


class _Timed(ClientConnection):
    """Knows when its last bytes came: what it makes of them is not the server's time."""

    received_s = 0.0

    def data_received(self, data: bytes) -> None:
        self.received_s = time.monotonic()
        super().data_received(data)


class Agent:
    """A scripted Claude CLI."""

    def __init__(self, socket: _Timed) -> None:
        self._socket = socket
        self._id = 0
        self.arrived_s = 0.0
        """When the last message had come, before it was put together and decoded."""
        self.pushes: list[tuple[float, Any]] = []
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def connect(cls, port: int, token: str) -> Agent:
        socket = await connect(
            f"ws://127.0.0.1:{port}",
            additional_headers={TOKEN_HEADER: token},
            subprotocols=["mcp"],
            max_size=None,
            compression=None,
            create_connection=_Timed,
        )
        assert isinstance(socket, _Timed)
        agent = cls(socket)
        await agent.request("initialize", {"protocolVersion": "2025-11-25"})
        await agent.send({"method": "ide_connected", "params": {"pid": os.getpid()}})
        return agent

    async def _listen(self) -> None:
        async for text in self._socket:
            self.arrived_s = self._socket.received_s
            message = json.loads(text)
            future = self._waiting.pop(message.get("id"), None)
            if future is not None:
                future.set_result(message)
            elif message.get("method") == "selection_changed":
                self.pushes.append((time.monotonic(), message["params"]))

    async def send(self, message: dict[str, Any]) -> None:
        await self.send_text(json.dumps({"jsonrpc": "2.0", **message}))

    async def send_text(self, text: str) -> None:
        await self._socket.send(text)

    def prepare(self, method: str, params: dict[str, Any]) -> tuple[asyncio.Future[Any], str]:
        """A request that is not sent yet: encoding a large one is no time of the server's."""
        self._id += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._id] = future
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        return future, json.dumps(message)

    async def begin(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        future, text = self.prepare(method, params)
        await self.send_text(text)
        return future

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        return await (await self.begin(method, params))

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def close(self) -> None:
        await self._socket.close()
        await self._listening
