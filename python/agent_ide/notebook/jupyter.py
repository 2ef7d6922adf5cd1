"""One live Jupyter kernel.

Owns:     the kernel's process, its sockets, and the execution that runs in it.
Not here: which notebook it belongs to, consent, who waits for whom (kernel.py), outputs
          (outputs.py).
Above:    kernel.py imports this module only when code is to be run: it needs the extra `notebook`
          (jupyter_client), and importing that takes some hundred milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

import zmq
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_dir_exists

from agent_ide.errors import ToolError
from agent_ide.notebook.outputs import Collector, Output

__all__ = ["Kernel"]

logger = logging.getLogger(__name__)

DEFAULT_NAME = "python3"
"""What Jupyter itself calls the kernel of the Python it runs in."""

START_S = 60.0
"""A cold start of a Python with heavy start-up files takes some seconds."""

TICK_S = 0.5
"""How often a silent kernel is looked at: alive? answered, its last message lost?"""

LOST_S = 5.0
"""Silence after the answer that means: lost. Outputs and answer come by two ways, and on a busy
machine the outputs may be seconds late."""

DIED = (
    "The Jupyter kernel died while it ran the code; its variables are lost. "
    "The next call starts a new one."
)


class ProjectSpecs(KernelSpecManager):
    """Kernel specs, those of the activated environment first.

    The host runs in the plugin's own environment, so Jupyter alone would take "python3" for that
    one; the user's packages are in the environment that Neovim was started in.
    """

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            prefix = os.environ.get(variable)
            if prefix and (spec := _spec_of_environment(Path(prefix), kernel_name)):
                return spec
        return super().get_kernel_spec(kernel_name)


def _spec_of_environment(prefix: Path, kernel_name: str) -> KernelSpec | None:
    folder = prefix / "share" / "jupyter" / "kernels" / kernel_name
    python = prefix / "bin" / "python"
    if not ((folder / "kernel.json").is_file() and python.exists()):
        return None
    spec = KernelSpec.from_resource_dir(str(folder))
    if spec.argv and spec.argv[0] in ("python", "python3"):
        # left as it is, Jupyter would put the host's own interpreter there
        spec.argv = [str(python), *spec.argv[1:]]
    return spec


class Kernel:
    """A kernel from its choice to its end; `start` it once, then `run` one code at a time.

    Attributes:
        name:  name of its spec, such as "python3".
        title: for people, with the interpreter when it is not the host's own.
    """

    def __init__(self, name: str | None) -> None:
        """Choose the kernel; nothing is started.

        Raises:
            ToolError: no such kernel here.
        """
        self.name = name or DEFAULT_NAME
        specs = ProjectSpecs()
        self._manager = AsyncKernelManager(
            kernel_name=self.name,
            kernel_spec_manager=specs,
            # left out, Jupyter would put the file with the key into the temp dir
            connection_file=os.path.join(jupyter_runtime_dir(), f"kernel-{uuid.uuid4()}.json"),
        )
        try:
            spec = self._manager.kernel_spec
        except NoSuchKernel:
            known = ", ".join(sorted(specs.find_kernel_specs())) or "none; install ipykernel"
            raise ToolError(f'No Jupyter kernel "{self.name}" here. Known: {known}.') from None
        except (OSError, ValueError, TypeError) as error:
            logger.warning("! kernel spec %s: %s", self.name, error)
            raise ToolError(f'The spec of the Jupyter kernel "{self.name}" is broken.') from None
        assert spec is not None
        self.title = f'"{spec.display_name or self.name}"'
        if spec.argv and os.path.isabs(spec.argv[0]):
            self.title += f" ({spec.argv[0]})"
        self._client: Any = None
        # set when the kernel has taken up the code that was sent last
        self._taken_up = asyncio.Event()
        # whether the answer to it has been read
        self._answered = False

    async def start(self, folder: str) -> None:
        """Start the process and wait until it answers.

        Raises:
            ToolError: it does not start; `end` it all the same.
        """
        if "transport_encryption" in self._manager.trait_names() and zmq.has("curve"):
            # else every user of this machine can read the outputs from the kernel's TCP port
            self._manager.transport_encryption = "auto"
        try:
            ensure_dir_exists(jupyter_runtime_dir(), mode=0o700)
            # the host's own stdin and stdout are its channel to Neovim: never inherited
            await self._manager.start_kernel(
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self._client = self._manager.client()
            self._client.start_channels(stdin=False, hb=False, control=False)
            await self._client.wait_for_ready(timeout=START_S)
        except (OSError, RuntimeError, ValueError, zmq.ZMQError) as error:
            logger.warning("! kernel %s: %s", self.name, error)
            raise ToolError(f'The Jupyter kernel "{self.name}" does not start.') from None

    async def alive(self) -> bool:
        return bool(await self._manager.is_alive())

    async def run(self, code: str) -> list[Output]:
        """Execute code to its end, however long that takes.

        Raises:
            ToolError: the kernel died.
        """
        self._taken_up.clear()
        self._answered = False
        request = self._client.execute(code, allow_stdin=False, stop_on_error=False)
        collector = Collector()
        try:
            while (message := await self._next(request)) is not None:
                kind, content = message["header"]["msg_type"], message["content"]
                if kind == "execute_input":
                    self._taken_up.set()
                if kind == "status" and content.get("execution_state") == "idle":
                    break
                collector.receive(kind, content)
                await asyncio.sleep(0)  # a flood of messages never makes the read above wait
        finally:
            self._taken_up.set()
        await self._look_for_answer(request)
        return collector.outputs()

    async def _next(self, request: str) -> Any:
        """The next message about a request; None: it is answered, and nothing more comes."""
        silent_since_answer_s = 0.0
        while True:
            try:
                message = await self._client.get_iopub_msg(timeout=TICK_S)
            except Empty:
                if not await self.alive():
                    raise ToolError(DIED) from None
                if await self._look_for_answer(request):
                    silent_since_answer_s += TICK_S
                if silent_since_answer_s > LOST_S:
                    return None  # a publisher may drop messages under load, "idle" among them
                continue
            if message["parent_header"].get("msg_id") == request:
                return message

    async def _look_for_answer(self, request: str) -> bool:
        while not self._answered and await self._client.shell_channel.msg_ready():
            reply = await self._client.get_shell_msg()
            self._answered = reply["parent_header"].get("msg_id") == request
        return self._answered

    async def interrupt(self) -> None:
        """Interrupt what runs, as Ctrl-C does; the kernel stays usable."""
        # an idle kernel ignores the signal: code that it has not taken up yet would run on
        await self._taken_up.wait()
        if await self.alive():
            await self._manager.interrupt_kernel()

    async def end(self, now: bool) -> None:
        """End the process and remove its files; may be called in any state.

        Args:
            now: kill it; else it gets some seconds to leave by itself.
        """
        if self._client:
            self._client.stop_channels()
        try:
            await self._manager.shutdown_kernel(now=now)
        except (OSError, RuntimeError, zmq.ZMQError) as error:
            logger.warning("! kernel %s, at its end: %s", self.name, error)

    def kill(self) -> None:
        """End the process and remove its files without a loop, at the exit of the host."""
        process = getattr(self._manager.provisioner, "process", None)
        if process is not None and process.poll() is None:
            # it leads a group of its own, its children are in it
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        self._manager.cleanup_connection_file()
