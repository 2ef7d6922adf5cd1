"""A Claude server with a client who must not notice what another one does to it.

Owns:     fixtures for the tests of bad frames, and how they connect.
Not here: frames (frames.py), what is sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.servers.claude import HEADER, Client, Desk
from tests.support.eventually import eventually
from tests.torture.frames import Socket
from tests.torture.witness import undisturbed

__all__ = ["bystander", "desk", "dial", "served"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    it = Desk(tmp_path)
    await it.server.start()
    yield it
    await it.close()


@pytest.fixture
async def bystander(desk: Desk) -> Client:
    """Another client, who must not notice anything."""
    client = await desk.connect()
    assert await client.call("getWorkspaceFolders")
    return client


@pytest.fixture
async def served(
    desk: Desk, bystander: Client, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[None]:
    async with undisturbed(caplog):
        yield
        assert await bystander.call("getWorkspaceFolders", bound_s=15.0)
        await eventually(lambda: len(desk.server.clients()) == 1, 15.0)


async def dial(desk: Desk, *headers: str) -> Socket:
    return await Socket.connect(desk.port(), f"{HEADER}: {desk.lock()['authToken']}", *headers)
