"""Reading a message of any size without keeping the others waiting.

Owns:     from which size on it is worth a thread.
Not here: what a message says (wire/).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["read"]

LARGE_BYTES = 1536 * 1024
"""Reading a megabyte takes 2 ms, and the way through a thread another one; 10 MB would keep the
others waiting for 40."""

T = TypeVar("T")


async def read(what_it_says: Callable[[bytes], T], data: bytes) -> T:
    """Read a message; a large one in a thread, so `what_it_says` may change nothing."""
    if len(data) < LARGE_BYTES:
        return what_it_says(data)
    return await asyncio.to_thread(what_it_says, data)
