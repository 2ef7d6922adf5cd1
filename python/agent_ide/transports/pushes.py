"""What a server has to say unasked, until its client takes it: bounded, newest state first of all.

Owns:     messages that wait for one client, the pace of state messages.
Not here: what they say (protocols/*/messages.py), the stream (streamable_http.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

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
            on_change: called after `open` has changed.
        """
        self._interval_s = interval_s
        self._on_change = on_change
        self._posted: deque[bytes] = deque(maxlen=MAX_POSTED)
        self._dirty: dict[str, Callable[[], bytes | None]] = {}
        self._said: dict[str, bytes] = {}
        # for each kind of state, when it may go out again
        self._next_s: dict[str, float] = {}
        self._wakeup = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        # number of the stream that opened last; those before have been replaced
        self._stream = 0
        self._ended = False
        self.open = False
        """A stream takes what is said."""

    def post(self, message: bytes) -> None:
        self._posted.append(message)
        self._wakeup.set()

    def refresh(self, kind: str, render: Callable[[], bytes | None]) -> None:
        """A state of this kind has changed; `render` gives its message, or None for nothing."""
        self._dirty[kind] = render
        self._wakeup.set()

    def end(self) -> None:
        """No stream goes on, once it has said what was posted."""
        self._ended = True
        self._wakeup.set()
        self._stop_timer()

    async def stream(self) -> AsyncGenerator[bytes]:
        """Messages for a stream that opens now; the one before ends."""
        self._stream += 1
        mine = self._stream
        # a new stream has heard nothing
        self._said.clear()
        self._next_s.clear()
        self._wakeup.set()
        self.open = True
        self._on_change()
        try:
            while self._goes_on(mine):
                await self._wakeup.wait()
                # asked again after each message: the stream may be replaced while one is written
                while self._goes_on(mine) and (message := self._next()) is not None:
                    yield message
            while mine == self._stream and self._posted:
                # the last word may be the one that matters
                yield self._posted.popleft()
        finally:
            if mine == self._stream:
                self.open = False
                self._on_change()

    def _goes_on(self, stream: int) -> bool:
        return not self._ended and stream == self._stream

    def _next(self) -> bytes | None:
        if self._posted:
            return self._posted.popleft()
        now = asyncio.get_running_loop().time()
        for kind in list(self._dirty):
            if self._next_s.get(kind, 0.0) > now:
                continue
            message = self._dirty.pop(kind)()
            if message is not None and message != self._said.get(kind):
                self._said[kind] = message
                self._next_s[kind] = now + self._interval_s
                return message
        self._wakeup.clear()
        self._stop_timer()
        if self._dirty:
            soonest_s = min(self._next_s[kind] for kind in self._dirty)
            self._timer = asyncio.get_running_loop().call_at(soonest_s, self._wakeup.set)
        return None

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
