"""The host's half of the log file, which Lua writes to as well.

Owns:     the handler.
Not here: rotation (lua/agent_ide/log.lua does it; the handler follows). Never a token, a prompt
          or a file's content: lengths instead.
"""

from __future__ import annotations

import logging
import logging.handlers
import os

__all__ = ["open"]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}


def open(path: str, level: str) -> None:
    """Send every record of this process to the file, created 0600."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = logging.handlers.WatchedFileHandler(path, encoding="utf-8", errors="replace")
    handler.setFormatter(
        logging.Formatter("%(asctime)s host %(levelname)-5s %(name)s: %(message)s", "%F %T")
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(_LEVELS.get(level, logging.INFO))
    # the library tells of every port scan with a traceback; who is refused is no error of ours
    logging.getLogger("agent_ide.transports.websocket.library").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
