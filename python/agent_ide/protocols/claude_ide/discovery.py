"""Where Claude Code looks for an IDE, and what stands there; pure.

Owns:     the lock file's folder, name and fields.
Not here: writing it (transports/lockfile.py), when (serve.py).
Source:   doc/protocols/claude-ide.md#discovery.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["LOCK_PATTERN", "launch_env", "lock_content", "lock_folder", "lock_name", "port_of"]

LOCK_PATTERN = "*.lock"

_NAME = re.compile(r"(\d{1,5})\.lock")


def lock_folder(environ: Mapping[str, str]) -> Path:
    """`$CLAUDE_CONFIG_DIR/ide`, else `~/.claude/ide`."""
    config_dir = environ.get("CLAUDE_CONFIG_DIR")
    if config_dir:
        return Path(config_dir) / "ide"
    return Path(environ.get("HOME") or Path.home()) / ".claude" / "ide"


def lock_name(port: int) -> str:
    return f"{port}.lock"


def port_of(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def lock_content(pid: int, folders: Sequence[str], token: str) -> dict[str, Any]:
    """pid: Neovim's, which lives as long as the server: the CLI deletes locks of dead processes."""
    return {
        "pid": pid,
        "workspaceFolders": list(folders),
        "ideName": "Neovim",
        "transport": "ws",
        "authToken": token,
    }


def launch_env(port: int) -> dict[str, str]:
    return {"CLAUDE_CODE_SSE_PORT": str(port), "ENABLE_IDE_INTEGRATION": "true"}
