"""An event loop whose clock stands still until a test lets it go on.

Owns:     the clock, the threads' work, what went wrong in the loop.
Not here: what runs in it.

    loop = VirtualLoop()
    loop.start(coroutine)   # a task; nothing of it has run
    loop.settle()           # run until everything waits for the clock, or for ever
    loop.advance(10)        # ten seconds pass, at once

What goes to a thread (asyncio.to_thread) is done at once, or while `disk.slow` when `disk.answer`
is called: files stay real, and the order of things is the test's.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["Disk", "VirtualLoop"]

T = TypeVar("T")


class Disk(ThreadPoolExecutor):
    """Does the work of threads in the loop's own."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self.slow = False
        self._waiting: list[Callable[[], None]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        if self.slow:
            self._waiting.append(work)
        else:
            work()
        return future

    def answer(self) -> None:
        """Do what has waited, oldest first."""
        waiting, self._waiting = self._waiting, []
        for work in waiting:
            work()


class _Selector(selectors.DefaultSelector):
    """Tells the loop when it would wait, instead of waiting."""

    idle: Callable[[float | None], None]

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if not events and (timeout is None or timeout > 0):
            self.idle(timeout)
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """faults: what asyncio would have logged of it."""

    def __init__(self) -> None:
        self._now = self._end = 1000.0
        selector = _Selector()
        selector.idle = self._idle
        super().__init__(selector)
        self.disk = Disk()
        self.set_default_executor(self.disk)
        self.faults: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.faults.append(context))

    def time(self) -> float:
        return self._now

    def _idle(self, timeout: float | None) -> None:
        if timeout is not None and self._now + timeout <= self._end:
            self._now += timeout
        else:
            self.stop()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self.create_task(coroutine)

    def settle(self) -> None:
        """Run until nothing can go on without the clock."""
        self.advance(0)

    def advance(self, seconds: float) -> None:
        """Let so much time pass; every timer fires at its own moment."""
        self._end = self._now + seconds
        self.run_forever()
        self._now = self._end

    def end(self) -> None:
        """Cancel what is left, and close."""
        for task in asyncio.all_tasks(self):
            task.cancel()
        self.settle()
        self.close()
