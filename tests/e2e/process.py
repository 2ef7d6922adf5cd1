"""Processes of the end-to-end tests: which one still runs, and what Neovim finds around it.

Owns:     the environment of a Neovim, with folders of its own.
Not here: starting and driving one (editor.py), the agents' environments (claude.py, copilot.py).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["editor_environment", "running"]


def running(pid: int) -> bool:
    """Whether a process runs; a zombie does not, it only waits for its parent."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        # gone in between, or a system without /proc, where the signal alone must do
        return not Path("/proc").is_dir()
    return stat.rpartition(")")[2].split()[0] != "Z"


def editor_environment(folder: Path) -> dict[str, str]:
    env = {
        "HOME": str(folder / "home"),
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "TMPDIR": str(folder / "tmp"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        # the host runs on what the tests run on
        "AGENT_IDE_DEV_PYTHON": sys.executable,
    }
    nvim = os.environ.get("NVIM", "")
    if os.path.isfile(nvim):
        # in a :terminal of Neovim it is a socket, else the Neovim to test
        env["NVIM"] = nvim
    for name in ("config", "data", "state", "cache"):
        env[f"XDG_{name.upper()}_HOME"] = str(folder / name)
    for path in ("home", "run", "tmp", "config", "data", "state", "cache"):
        (folder / path).mkdir(mode=0o700, exist_ok=True)
    return env
