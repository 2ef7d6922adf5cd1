"""Scripted agents on the servers of a real Neovim.

Owns:     how one of each protocol gets in and has something answered.
Not here: the clients (tests/servers), who is not let in (attempts.py).
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from websockets.asyncio.client import connect

from tests.e2e.editor import Editor
from tests.servers import claude, copilot, gemini
from tests.torture.attempts import Door

__all__ = ["visit"]


@contextlib.asynccontextmanager
async def visit(door: Door, editor: Editor) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """A client of this server's own protocol with its session begun; what it gives has a tool
    answered on that session."""
    if door.name == "claude":
        headers = {door.header: door.value}
        url = f"ws://{door.address}"
        line = await connect(url, additional_headers=headers, subprotocols=["mcp"])
        one = claude.Client(line)
        ask, leave = partial(one.json, "getWorkspaceFolders"), one.close
        greet = one.greet
    elif door.name == "copilot":
        another = copilot.Client(editor.wait_copilot_lock(), str(uuid.uuid4()), os.getpid())
        ask, leave = partial(another.json, "get_vscode_info"), another.kill
        greet = another.greet
    else:
        third = gemini.Client(door.name, int(door.address.rpartition(":")[2]), door.token)
        ask, leave = partial(third.call, "closeDiff", filePath="/nowhere"), third.kill
        greet = third.greet

    async def asked() -> None:
        assert await ask()

    try:
        await greet()
        yield asked
    finally:
        await leave()
