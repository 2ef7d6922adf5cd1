"""executeCode: a Jupyter kernel for each notebook.

Owns:     which notebook has which kernel, the user's consent, whose turn it is, interruption.
Not here: the kernel itself (jupyter.py), its outputs (outputs.py), which notebook is current
          (the editor), the tool's schema (protocols/*/tools.py).

A kernel lives until the user stops it or the host ends. When the host is killed, ipykernel sees
within a second that its parent is gone (JPY_PARENT_PID, set by jupyter_client) and ends by itself.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_ide.errors import ToolError
from agent_ide.notebook.outputs import Image, Output, Text

if TYPE_CHECKING:
    from agent_ide.notebook.jupyter import Kernel

__all__ = ["Approve", "Image", "Kernels", "Output", "Text"]

logger = logging.getLogger(__name__)

Approve = Callable[[str], Awaitable[bool]]
"""Asks the user one question."""

INTERRUPTED_S = 10.0
"""How long code may go on after its interrupt before the next call is refused, not queued."""

MISSING = (
    "executeCode needs the Python packages jupyter_client and ipykernel, which are not installed. "
    "The user can add them with :AgentIde install notebook."
)


CLOSED = "The editor closes its Jupyter kernels."


@dataclass(slots=True)
class Seat:
    """One notebook.

    turn:        held by one call, and on until its work ends.
    kernel:      None until the first call, and after its end.
    work:        start and run of one call; goes on when the caller has gone.
    interrupted: the caller of the last work has gone.
    approved:    the user restarted the kernel of this name: no need to ask for the new one.
    ended_by:    why the work was cancelled, for its caller.
    """

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    kernel: Kernel | None = None
    work: asyncio.Task[list[Output]] | None = None
    interrupted: bool = False
    approved: str | None = None
    ended_by: str = ""


class Kernels:
    """All kernels of this host."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Nothing is imported or started.

        Args:
            on_change: called after `running` has changed.
        """
        self._on_change = on_change
        self._seats: dict[str, Seat] = {}
        self._closed = False
        self._interrupts: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> list[str]:
        """Names of the kernels that live, such as "python3"."""
        return [seat.kernel.name for seat in self._seats.values() if seat.kernel]

    async def execute(
        self, notebook_path: str, kernel_name: str | None, code: str, approve: Approve
    ) -> list[Output]:
        """Run code in the notebook's kernel, after what runs there already.

        No deadline. Cancelling interrupts the code; the kernel and its variables stay.

        Args:
            kernel_name: name of a kernel spec; None for Python's.
            approve: asked before a kernel is started, not again while it lives.

        Raises:
            ToolError: no kernel, the user declined, or the kernel has gone meanwhile.
        """
        seat = self._seats.setdefault(notebook_path, Seat())
        await self._take_turn(seat)
        try:
            fresh = await self._choose(seat, notebook_path, kernel_name, approve)
        except BaseException:
            seat.turn.release()
            raise
        seat.interrupted = False
        work = asyncio.create_task(self._work(seat, fresh, _folder(notebook_path), code))
        seat.work = work
        work.add_done_callback(lambda _: self._finished(seat))
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            seat.interrupted = True
            self._interrupt(seat, work)
            raise
        if work.cancelled():
            raise ToolError(seat.ended_by)
        return work.result()

    async def restart(self) -> None:
        """End every kernel; the next call starts a fresh one without asking again."""
        for seat in self._seats.values():
            if seat.kernel:
                seat.approved = seat.kernel.name
        await self._end_all("The user restarted the Jupyter kernel.", now=False)

    async def stop(self) -> None:
        """End every kernel; the next call asks again."""
        for seat in self._seats.values():
            seat.approved = None
        await self._end_all("The user stopped the Jupyter kernel.", now=False)

    async def close(self) -> None:
        """Kill every kernel: the host ends."""
        self._closed = True
        await self._end_all(CLOSED, now=True)

    def kill(self) -> None:
        """As `close`, for an exit of the host in which no loop runs any more."""
        for seat in self._seats.values():
            if seat.kernel:
                seat.kernel.kill()

    async def _take_turn(self, seat: Seat) -> None:
        try:
            async with asyncio.timeout(INTERRUPTED_S if seat.interrupted else None):
                await seat.turn.acquire()
        except TimeoutError:
            raise ToolError(
                "The Jupyter kernel still runs code that was cancelled and ignores its interrupt. "
                "The user can run :AgentIde kernel restart."
            ) from None

    async def _choose(
        self, seat: Seat, path: str, kernel_name: str | None, approve: Approve
    ) -> bool:
        """See to it that the seat has a kernel; True: it is to be started yet."""
        kernel_class = await _kernel_class()
        if seat.kernel:
            if kernel_name in (None, seat.kernel.name) and await seat.kernel.alive():
                return False
            await self._drop(seat)
        kernel = kernel_class(kernel_name)
        if seat.approved != kernel.name:
            question = (
                f"Start the Jupyter kernel {kernel.title} for {os.path.basename(path)} "
                "and let the agent run code in it?"
            )
            if not await approve(question):
                raise ToolError("The user declined to start a Jupyter kernel for this notebook.")
        if self._closed:
            raise ToolError(CLOSED)
        seat.approved = None
        seat.kernel = kernel
        return True

    async def _work(self, seat: Seat, fresh: bool, folder: str, code: str) -> list[Output]:
        kernel = seat.kernel
        assert kernel is not None
        try:
            if fresh:
                await kernel.start(folder)
                self._on_change()
            return [] if seat.interrupted else await kernel.run(code)
        except ToolError:
            await self._drop(seat)
            raise

    def _finished(self, seat: Seat) -> None:
        work, seat.work = seat.work, None
        if work and not work.cancelled():
            work.exception()  # read, so that asyncio does not report it when the caller has gone
        seat.turn.release()

    def _interrupt(self, seat: Seat, work: asyncio.Task[list[Output]]) -> None:
        if not seat.kernel:
            return
        task = asyncio.create_task(seat.kernel.interrupt())
        self._interrupts.add(task)
        task.add_done_callback(self._interrupts.discard)
        work.add_done_callback(lambda _: task.cancel())

    async def _end_all(self, why: str, now: bool) -> None:
        await asyncio.gather(*(self._end(seat, why, now) for seat in self._seats.values()))

    async def _end(self, seat: Seat, why: str, now: bool) -> None:
        # taken off first: the next call in the queue gets its turn as soon as the work has ended
        kernel, seat.kernel = seat.kernel, None
        if seat.work:
            seat.ended_by = why
            seat.work.cancel()
            await asyncio.wait({seat.work})
        if kernel:
            await kernel.end(now)
            self._on_change()

    async def _drop(self, seat: Seat) -> None:
        kernel, seat.kernel = seat.kernel, None
        if kernel:
            await kernel.end(now=True)
            self._on_change()


async def _kernel_class() -> type[Kernel]:
    try:
        # in a thread: the import takes some hundred milliseconds, in which the editor gets answers
        module = await asyncio.to_thread(importlib.import_module, "agent_ide.notebook.jupyter")
    except ImportError as error:
        logger.info("= no kernel: %s", error)
        raise ToolError(MISSING) from None
    kernel_class: type[Kernel] = module.Kernel
    return kernel_class


def _folder(path: str) -> str:
    folder = os.path.dirname(path)
    return folder if os.path.isdir(folder) else os.path.expanduser("~")
