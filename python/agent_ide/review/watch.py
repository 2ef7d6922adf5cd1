"""The file under review, as the agents' CLIs see it: look at it, wait for it to change.

Owns:     how often a file is looked at, and where.
Not here: what follows (reviews.py). Polled, not notified: it is one stat of one file for some
          seconds, and works on every file system.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from agent_ide.review.review import Disk

__all__ = ["look", "wait_changed", "wait_until"]

POLL_S = 0.05
"""The CLIs write within some ms of an answer."""

SLOW_POLL_S = 1.0
"""Once the CLI was expected to have written long ago."""

FAST_FOR_S = 10.0

FRESH_POLL_S = 0.5
"""While nobody has decided; a verdict looks at the file by itself."""


LARGE_BYTES = 256 * 1024
"""Above this a file is read beside the loop; below, the way through a thread takes longer."""

PIECE_BYTES = 256 * 1024

T = TypeVar("T")


async def look(path: str, known: Disk | None = None) -> Disk:
    """What there is at a path now.

    Args:
        known: what was there; where that is the case still, it is not held a second time.
    """
    return await _beside(path, partial(_look, path, known))


async def _beside(path: str, read: Callable[[], T]) -> T:
    size = 0
    with contextlib.suppress(OSError, ValueError):
        size = os.stat(path).st_size
    return await asyncio.to_thread(read) if size > LARGE_BYTES else read()


def _look(path: str, known: Disk | None = None) -> Disk:
    data = None
    with contextlib.suppress(OSError, ValueError):
        # a device never ends, and a pipe never begins
        if os.path.isfile(path):
            data = _read(path, known.data if known else None)
    found = Disk(
        data,
        is_folder=os.path.isdir(path),
        # root may write all; a file that nobody shall write is meant to stay
        read_only=data is not None
        and not (os.access(path, os.W_OK) and os.stat(path).st_mode & 0o222),
        has_folder=os.path.isdir(os.path.dirname(path)),
    )
    return known if known is not None and found == known else found


def _read(path: str, known: bytes | None) -> bytes:
    """Compared piece by piece with what is known: 10 MB more take longer than the comparison."""
    with open(path, "rb", buffering=0) as file:
        if known is not None and os.fstat(file.fileno()).st_size == len(known):
            at = 0
            while (piece := file.read(PIECE_BYTES)) and known.startswith(piece, at):
                at += len(piece)
            if not piece and at == len(known):
                return known
            file.seek(0)
        return file.readall()


async def wait_changed(path: str, wanted: Callable[[], bool]) -> bool:
    """Wait until something of a path has changed; False: it is not wanted any more."""
    seen = _signature(path)
    while wanted():
        await asyncio.sleep(FRESH_POLL_S)
        if _signature(path) != seen:
            return wanted()
    return False


async def wait_until(
    path: str,
    holds: Callable[[Disk], bool],
    patience_s: float | None,
    wanted: Callable[[], bool] = lambda: True,
) -> bool:
    """Wait until what there is `holds`; looked at now and after each write.

    Args:
        holds: takes time with a large text, so it may be asked in a thread.

    Returns:
        False when it did not within `patience_s` (None waits on), or is not `wanted` any more.
    """
    loop = asyncio.get_running_loop()
    begin, seen = loop.time(), None
    while wanted():
        signature = _signature(path)
        if signature != seen:
            seen = signature
            if await _beside(path, lambda: holds(_look(path))):
                return True
        waited_s = loop.time() - begin
        if patience_s is not None and waited_s >= patience_s:
            return False
        await asyncio.sleep(POLL_S if waited_s < FAST_FOR_S else SLOW_POLL_S)
    return False


def _signature(path: str) -> tuple[int, ...]:
    """What changes when a file is written, made or removed, or may not be written any more."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return (0, os.path.isdir(os.path.dirname(path)))
    return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
