"""A message of any size keeps nobody waiting."""

from __future__ import annotations

import asyncio
import threading

from agent_ide.transports.reading import LARGE_BYTES, read

BOUND_S = 10.0


async def test_a_large_message_is_read_beside_the_loop() -> None:
    served = threading.Event()

    def decode(data: bytes) -> int:
        assert served.wait(BOUND_S), "nobody else was served meanwhile"
        return len(data)

    async def serve_another() -> None:
        served.set()

    size, _ = await asyncio.gather(read(decode, b" " * LARGE_BYTES), serve_another())
    assert size == LARGE_BYTES


async def test_a_small_one_takes_no_way_through_a_thread() -> None:
    assert await read(lambda _: threading.get_ident(), b"{}") == threading.get_ident()
