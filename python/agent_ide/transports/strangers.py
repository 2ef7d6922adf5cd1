"""Connections that have not shown a token: how many there may be, and for how long.

Owns:     the connections of one server that nobody has vouched for yet.
Not here: the token (`Admission` of each transport), what a refused one is answered.

A port of loopback is open to every process and web page of the machine. Whoever comes costs this
process little, and never keeps an agent out that comes meanwhile: a CLI sends its whole header as
soon as it is connected, so the oldest stranger is the one least likely to be one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

__all__ = ["AT_ONCE", "WAITING", "Strangers", "is_from_browser"]

MOST = 200
"""Of one server."""

AT_ONCE = 16
"""Taken in at a time. An agent's header is read some turns of the loop after its connection; until
then fewer than `MOST` others may have come, however many want to."""

WAITING = 1024
"""Kept by the kernel until they are taken in: one more is made to try again a second later."""

HEADER_S = 4.5
"""From the connection to the end of the header, however slowly it comes."""

SILENCE_S = 0.8
"""After a first byte: nobody who means it stops in the middle of a header."""


class Strangers:
    """Each is closed in time, whatever it does, and the oldest where there are too many."""

    def __init__(self) -> None:
        # oldest first
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._ends_s: dict[asyncio.Transport, float] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def arrived(self, transport: asyncio.Transport) -> None:
        if len(self) >= MOST:
            self._close(next(iter(self._timers)))
        loop = asyncio.get_running_loop()
        self._ends_s[transport] = ends_s = loop.time() + HEADER_S
        self._timers[transport] = loop.call_at(ends_s, self._close, transport)

    def heard(self, transport: asyncio.Transport) -> None:
        """It has sent something; nothing happens when it is no stranger any more."""
        timer = self._timers.get(transport)
        if timer is not None:
            timer.cancel()
            loop = asyncio.get_running_loop()
            ends_s = min(self._ends_s[transport], loop.time() + SILENCE_S)
            self._timers[transport] = loop.call_at(ends_s, self._close, transport)

    def forget(self, transport: asyncio.Transport) -> None:
        """It has shown the token, or is gone."""
        timer = self._timers.pop(transport, None)
        if timer is not None:
            del self._ends_s[transport]
            timer.cancel()

    def close(self) -> None:
        """The server ends: nobody waits for them."""
        for transport in list(self._timers):
            self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        self.forget(transport)
        # not `close`: what it has not read yet would keep it
        transport.abort()


def is_from_browser(headers: Iterable[tuple[str, str]]) -> bool:
    """A page or worker of a web browser sends these headers, and no page can leave them out.

    Node's own fetch has `Sec-Fetch-Mode: cors` and nothing else of this kind.
    """
    return any(
        name[:10].lower() == "sec-fetch-" and (name[10:].lower(), value) != ("mode", "cors")
        for name, value in headers
    )
