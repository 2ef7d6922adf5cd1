"""Waiting without sleeping blindly: poll with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["eventually"]


async def eventually(condition: Callable[[], object], bound_s: float = 5.0) -> None:
    """Return once the condition holds; fail after the bound."""
    async with asyncio.timeout(bound_s):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.005)
