"""A Neovim with a file in it and both servers up: what the parts about the host work on.

Owns:     where Claude's and Copilot's server listen and what lets one in; the host's cost.
Not here: Neovim's process (editor.py), connections (lines.py), what is measured.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Self

from bench.against import Place
from bench.editor import TOKEN_HEADER, Editor, wait_for
from bench.pushes import copilot_lock

__all__ = ["Desk"]


class Desk:
    """Use as a context manager."""

    def __init__(self, options: str = "{}") -> None:
        self._options = options

    def __enter__(self) -> Self:
        self.editor = Editor("a.py", options=self._options)
        self.editor.__enter__()
        try:
            (self.editor.project / "a.py").write_text("x = 1\n" * 1000)
            claude = wait_for(self.editor.claude_lock)
            copilot = json.loads(wait_for(lambda: copilot_lock(self.editor.home)).read_text())
            self.editor.lua("vim.cmd.edit({ bang = true })")
            self.host_pid = self.editor.host_pid()
            self.neovim_pid = int(self.editor.lua("return vim.fn.getpid()"))
        except BaseException:
            self.editor.__exit__()
            raise
        self.claude_port = int(claude.stem)
        self.claude_token: str = json.loads(claude.read_text())["authToken"]
        self.claude = Place(self.claude_port, {TOKEN_HEADER: self.claude_token})
        self.copilot = Place(copilot["socketPath"], copilot["headers"], pushes=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.editor.__exit__()

    @property
    def project(self) -> Path:
        return self.editor.project

    # -- what the host costs (Linux) -----------------------------------------------------------

    def host_rss_mb(self) -> float:
        return memory_mb(self.host_pid, "VmRSS")

    def neovim_rss_mb(self) -> float:
        return memory_mb(self.neovim_pid, "VmRSS")

    def forget_host_peak(self) -> None:
        """From now on `host_peak_mb` is of what comes."""
        Path(f"/proc/{self.host_pid}/clear_refs").write_text("5", encoding="ascii")

    def host_peak_mb(self) -> float:
        return memory_mb(self.host_pid, "VmHWM")

    def host_cpu_s(self) -> float:
        """Processor time of the host so far, all of its threads: what it worked, not how long it
        waited for Neovim, a client or a core."""
        return process_cpu_s(self.host_pid)

    def neovim_cpu_s(self) -> float:
        return process_cpu_s(self.neovim_pid)


def memory_mb(pid: int, kind: str) -> float:
    """VmRSS: what a process has now; VmHWM: the most it has had."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        line = next(line for line in status if line.startswith(f"{kind}:"))
    return int(line.split()[1]) / 1024


def process_cpu_s(pid: int) -> float:
    # clock_getcpuclockid(3): the clock of another process, in nanoseconds (/proc has hundredths)
    return time.clock_gettime((~pid << 3) | 2)
