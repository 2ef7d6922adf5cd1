"""Where the server's socket and the machine's id lie on disk.

Owns:     the choice of the socket's folder, the removal of a dead server's socket.
Not here: names and content (discovery.py), when (serve.py), how locks are written (transports/).
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

from agent_ide.errors import ServeError
from agent_ide.protocols.copilot_ide import discovery
from agent_ide.transports import lockfile
from agent_ide.transports.http_server import MAX_UNIX_PATH_BYTES

__all__ = ["machine_id", "refuses", "remove_socket", "socket_folder"]

logger = logging.getLogger(__name__)


def refuses(_path: Path, lock: lockfile.Lock) -> bool:
    return lockfile.socket_refuses(str(lock.get("socketPath")))


def remove_socket(lock: lockfile.Lock) -> None:
    """The socket of a dead server of ours; whatever else its lock may name stays."""
    path = Path(str(lock.get("socketPath")))
    if path.is_socket() and discovery.is_socket_name(path.name):
        lockfile.remove(path)


def socket_folder(environ: Mapping[str, str], runtime_dir: str, name: str) -> Path:
    """`$XDG_RUNTIME_DIR` where it is ours alone and short enough, else Neovim's private folder.

    Raises:
        ServeError: neither is.
    """
    problems = []
    for folder in (environ.get("XDG_RUNTIME_DIR"), runtime_dir):
        if not folder:
            continue
        if len(os.fsencode(folder)) + 1 + len(name) > MAX_UNIX_PATH_BYTES:
            problems.append(f"{folder} is too long for a socket")
            continue
        if lockfile.is_private(Path(folder)):
            return Path(folder)
        problems.append(f"{folder} is not a folder of this user alone (mode 0700)")
    raise ServeError("; ".join(problems))


def machine_id(path: Path) -> str:
    """A random uuid that stays; says nothing about the machine."""
    try:
        return str(uuid.UUID(path.read_text()))
    except (OSError, ValueError):
        fresh = str(uuid.uuid4())
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, flags, 0o600), "w") as file:
            file.write(fresh)
    except OSError as error:
        logger.warning("! %s cannot be written: %s", path, error.strerror)
    return fresh
