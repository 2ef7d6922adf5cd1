"""Where Copilot CLI looks for an IDE, and what stands there; pure.

Owns:     folder, names and fields of the lock file and the socket.
Not here: writing them (transports/), when (serve.py).
Source:   doc/protocols/copilot-ide.md#discovery.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "IDE_NAME",
    "LOCK_PATTERN",
    "is_socket_name",
    "lock_content",
    "lock_folder",
    "lock_name",
    "socket_name",
]

LOCK_PATTERN = "*.lock"
IDE_NAME = "Neovim"


def lock_folder(environ: Mapping[str, str]) -> Path:
    """`$COPILOT_HOME/ide`, else `~/.copilot/ide`."""
    home = environ.get("COPILOT_HOME")
    if home:
        return Path(home) / "ide"
    return Path(environ.get("HOME") or Path.home()) / ".copilot" / "ide"


def lock_name(guid: str) -> str:
    return f"{guid}.lock"


def socket_name(guid: str) -> str:
    return f"mcp-{guid}.sock"


def is_socket_name(name: str) -> bool:
    return fnmatch.fnmatchcase(name, "mcp-*.sock")


def lock_content(
    *,
    address: str,
    authorization: str,
    pid: int,
    timestamp_ms: int,
    folders: Sequence[str],
    trusted: bool,
) -> dict[str, Any]:
    """All eight fields; folders are real paths, since the CLI compares them for equality."""
    return {
        "socketPath": address,
        "scheme": "pipe",
        "headers": {"Authorization": authorization},
        "pid": pid,
        "ideName": IDE_NAME,
        "timestamp": timestamp_ms,
        "workspaceFolders": list(folders),
        "isTrusted": trusted,
    }
