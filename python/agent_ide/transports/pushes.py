"""What a server has to say unasked, until its client takes it: bounded, newest state first of all.

Owns:     messages that wait for one client, the pace of state messages.
Not here: what they say (protocols/*/messages.py), the stream (streamable_http.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

__all__ = ["Pushes"]

MAX_POSTED = 100
"""Posted messages kept for a client that does not read; older ones go."""


class Pushes:
    """One client's pushes.

    A *posted* message goes out once, at once, in order. A *state* is rendered when it goes out, at
    most every `interval_s`: the first change after rest at once, the last one always, and not again
    when it says what was said last. So a client that does not read costs one state of each kind.
    """

    def __init__(self, interval_s: float, on_change: Callable[[], None]) -> None:
        """Nothing waits.

        Args:
            on_change: called after `open` may have changed.
        """
        self._interval_s = interval_s
        self._on_change = on_change
        self._posted: deque[bytes] = deque(maxlen=MAX_POSTED)
        self._dirty: dict[str, Callable[[], bytes | None]] = {}
        self._said: dict[str, bytes] = {}
        self._wakeup = asyncio.Event()
        self._next_state_s = 0.0
        self._stream = 0
        self._ended = False
        self._open_streams = 0

    def post(self, message: bytes) -> None:
        self._posted.append(message)
        self._wakeup.set()

    def refresh(self, kind: str, render: Callable[[], bytes | None]) -> None:
        """A state of this kind has changed; `render` gives its message, or None for nothing."""
        self._dirty[kind] = render
        self._wakeup.set()

    def end(self) -> None:
        """No stream goes on."""
        self._ended = True
        self._wakeup.set()

    @property
    def open(self) -> bool:
        """A stream takes what is said."""
        return self._open_streams > 0

    async def stream(self) -> AsyncIterator[bytes]:
        """Messages for a stream that opens now; the one before ends."""
        self._stream += 1
        mine = self._stream
        self._said.clear()
        self._wakeup.set()
        self._open_streams += 1
        self._on_change()
        try:
            while True:
                await self._wakeup.wait()
                if self._ended or mine != self._stream:
                    return
                self._wakeup.clear()
                while self._posted:
                    yield self._posted.popleft()
                for message in self._due_states():
                    yield message
        finally:
            self._open_streams -= 1
            self._on_change()

    def _due_states(self) -> list[bytes]:
        if not self._dirty:
            return []
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_state_s:
            loop.call_at(self._next_state_s, self._wakeup.set)
            return []
        self._next_state_s = loop.time() + self._interval_s
        dirty, self._dirty = self._dirty, {}
        fresh = []
        for kind, render in dirty.items():
            message = render()
            if message is not None and message != self._said.get(kind):
                self._said[kind] = message
                fresh.append(message)
        return fresh
