"""Facts about a Neovim, for hosts and servers that a test makes."""

from __future__ import annotations

import os
from pathlib import Path

from agent_ide.config import EditorFacts

__all__ = ["facts"]


def facts(folder: Path, pid: int | None = None) -> EditorFacts:
    """Everything lies in `folder`; the pid is one that lives."""
    return EditorFacts(
        pid=os.getpid() if pid is None else pid,
        version="0.11.4",
        runtime_dir=str(folder),
        log_file=str(folder / "log"),
        state_dir=str(folder / "state"),
        runtime="/usr/share/nvim/runtime",
        language="en_US.UTF-8",
        shell="/bin/sh",
    )
