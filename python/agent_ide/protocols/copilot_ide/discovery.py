"""Where Copilot CLI looks for an IDE, and what stands there; pure.

Owns:     folder, names and fields of the lock file and the socket; who is trusted.
Not here: writing them (transports/), when (serve.py).
Source:   doc/protocols/copilot-ide.md#discovery.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "IDE_NAME",
    "LOCK_PATTERN",
    "is_socket_name",
    "is_trusted",
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


def is_trusted(folders: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether *every* folder is covered: trust makes the CLI skip its own question for each.

    A pattern is a path with `~` and the wildcards of fnmatch; it covers what lies below it too, and
    nothing else. The folders are real paths, so a pattern's own real path counts as well.
    """
    expanded = [os.path.expanduser(pattern) for pattern in patterns]
    # "" or a relative one could cover more than its author meant
    absolute = [pattern for pattern in expanded if os.path.isabs(pattern)]
    wanted = {form.rstrip("/") for item in absolute for form in (item, os.path.realpath(item))}

    def covered(folder: str) -> bool:
        return any(
            fnmatch.fnmatchcase(folder, pattern) or fnmatch.fnmatchcase(folder, f"{pattern}/*")
            for pattern in wanted
        )

    return bool(folders) and all(covered(folder) for folder in folders)
