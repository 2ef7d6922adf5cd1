"""Supervised tasks: each has an owner, none dies unheard.

Owns:     the set of running tasks of one owner.
Not here: what they do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

__all__ = ["Tasks"]

logger = logging.getLogger(__name__)


class Tasks:
    """Runs coroutines until they end or `close` cancels them."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a coroutine; an exception that escapes it is logged, the others go on."""
        task = asyncio.get_running_loop().create_task(self._guard(coroutine, name), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # a task that is cancelled before it began has never awaited what it guards
        task.add_done_callback(lambda _: coroutine.close())
        return task

    async def _guard(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await coroutine
        except asyncio.CancelledError:
            raise
        except Exception:  # the root of every task: nothing above would hear it
            logger.exception("! task %s failed", name)

    async def idle(self) -> None:
        """Wait until all that runs now has ended by itself."""
        if self._running:
            await asyncio.wait(set(self._running))

    async def close(self) -> None:
        """Cancel what runs and wait for it."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._running)
