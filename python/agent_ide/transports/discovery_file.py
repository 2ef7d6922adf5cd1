"""One agent's discovery file, kept where its CLI looks.

Owns:     the write, and what the user was told of one that failed.
Not here: how a lock is written (lockfile.py), what it says (protocols/*/discovery.py), who looks
          whether it is still there (host.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_ide.errors import LockFolderError
from agent_ide.transports import lockfile

__all__ = ["DiscoveryFile"]

logger = logging.getLogger(__name__)


class DiscoveryFile:
    """Written again and again; the same trouble is told once."""

    def __init__(self, agent: str, tell: Callable[[str], None]) -> None:
        """agent: its name in a sentence; tell: shows an error to the user."""
        self._agent = agent
        self._tell = tell
        self._trouble = ""

    def write(self, path: Path, lock: Mapping[str, object], *, in_place: bool = False) -> None:
        """Write it, with its folder where that is missing. Never raises.

        Args:
            in_place: a CLI watches it and takes another file of that name for another IDE.
        """
        try:
            lockfile.ensure_private_folder(path.parent)
            if in_place and path.exists():
                lockfile.write_in_place(path, lock)
            else:
                lockfile.write_atomically(path, lock)
        except LockFolderError as error:
            self._failed(str(error))
        except OSError as error:
            self._failed(f"{path} cannot be written ({error.strerror})")
        else:
            if self._trouble:
                logger.info("= %s is written again", path)
            self._trouble = ""

    def _failed(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._tell(f"{self._agent} cannot find Neovim: {trouble}")
        self._trouble = trouble
