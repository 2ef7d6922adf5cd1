"""Somebody who stands by while another misbehaves, and tells what that did to the server.

Owns:     tasks left over, faults in the log, memory, whether others are served.
Not here: the misbehaving (frames.py, requests.py, messages.py).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.support.eventually import eventually

__all__ = ["Growth", "faults", "undisturbed"]

BOUND_S = 15.0

_MB = 1024 * 1024


class Growth:
    """Of this process' memory since it was made; the highest that `look` has seen."""

    def __init__(self) -> None:
        self._before = _resident()
        self.most_mb = 0.0

    def look(self) -> float:
        now_mb = (_resident() - self._before) / _MB
        self.most_mb = max(self.most_mb, now_mb)
        return now_mb


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def faults(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log calls an error, or shows a traceback of."""
    return [
        f"{record.name}: {record.getMessage()}"
        for record in caplog.records
        if record.levelno >= logging.ERROR or record.exc_info
    ]


@asynccontextmanager
async def undisturbed(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """What happens inside leaves no task behind and no fault in the log."""
    before = asyncio.all_tasks()

    def left() -> list[str]:
        running = asyncio.all_tasks() - before - {asyncio.current_task()}
        return [task.get_name() for task in running]

    yield
    with suppress(TimeoutError):
        await eventually(lambda: not left(), BOUND_S)
    assert left() == [], "tasks go on"
    assert faults(caplog) == []
