"""Scripted agents on the servers of a real Neovim.

Owns:     how one of each protocol gets in and has something answered.
Not here: the clients (tests/servers), who is not let in (attempts.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from websockets.asyncio.client import connect

from tests.e2e.editor import Editor
from tests.servers import claude, copilot, gemini
from tests.torture.doors import Door

__all__ = ["Visitor", "visit"]

LONG_S = 60.0
"""A diff may wait for that long."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A client with its session begun.

    call:  a tool, and what it answers.
    begin: a tool that opens a diff; gives once the server has it. What is given ends with the
           answer, for a CLI that waits for one.
    """

    call: Callable[..., Awaitable[Any]]
    begin: Callable[..., Awaitable[asyncio.Future[Any]]]
    ask: Callable[[], Awaitable[Any]]
    """Has some tool answered."""
    heard: list[Any]
    """Every push so far; of Claude every message."""


async def _enter(door: Door, editor: Editor) -> tuple[Visitor, Callable[[], Awaitable[None]]]:
    if door.name == "claude":
        headers = {door.header: door.value}
        url = f"ws://{door.address}"
        line = await connect(url, additional_headers=headers, subprotocols=["mcp"])
        one = claude.Client(line)
        await one.greet()

        async def begin(tool: str, **arguments: Any) -> asyncio.Future[Any]:
            return asyncio.ensure_future(one.answer(await one.begin(tool, **arguments), LONG_S))

        ask = partial(one.json, "getWorkspaceFolders")
        return Visitor(one.call, begin, ask, one.heard), one.close
    if door.name == "copilot":
        other = copilot.Client(editor.wait_copilot_lock(), str(uuid.uuid4()), os.getpid())
        await other.greet()

        async def begin_call(tool: str, **arguments: Any) -> asyncio.Future[Any]:
            return asyncio.ensure_future(other.answer(await other.begin_call(tool, **arguments)))

        ask = partial(other.json, "get_vscode_info")
        return Visitor(other.call, begin_call, ask, other.heard), other.kill
    third = gemini.Client(door.name, int(door.address.rpartition(":")[2]), door.token)
    await third.greet()

    async def begin_diff(tool: str, **arguments: Any) -> asyncio.Future[Any]:
        await third.call(tool, **arguments)
        # answered at once: its end is a push
        return asyncio.get_running_loop().create_future()

    ask_third = partial(third.call, "closeDiff", filePath="/nowhere")
    return Visitor(third.call, begin_diff, ask_third, third.heard), third.kill


@contextlib.asynccontextmanager
async def visit(door: Door, editor: Editor) -> AsyncIterator[Visitor]:
    """A client of this server's own protocol."""
    visitor, leave = await _enter(door, editor)
    try:
        yield visitor
    finally:
        await leave()
