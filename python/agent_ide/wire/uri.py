"""Paths and file URIs, either way.

Owns:     percent-encoding, drive letters, the raw form that the Claude CLI compares.
Not here: which form a message wants (protocols/*/messages.py).
"""

from __future__ import annotations

import re
from pathlib import PurePath, PureWindowsPath
from urllib.parse import quote, unquote

from agent_ide.errors import RpcError

__all__ = ["from_uri", "require_path", "to_raw_uri", "to_uri"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_FLAVOUR: type[PurePath] = type(PurePath())


def to_uri(path: str, flavour: type[PurePath] = _FLAVOUR) -> str:
    """`file:///` URI, percent-encoded; on Windows with a lower-case drive letter and %3A."""
    if issubclass(flavour, PureWindowsPath):
        pure = flavour(path)
        drive, rest = pure.drive, pure.as_posix()[len(pure.drive) :]
        if drive.startswith("\\\\"):
            return "file:" + quote(drive.replace("\\", "/") + rest)
        return "file:///" + quote(drive.lower(), safe="") + quote(rest)
    return "file://" + quote(path, safe="/", errors="replace")


def to_raw_uri(path: str) -> str:
    """`file://` + the path as it is: the Claude CLI compares diagnostics' URIs without decoding."""
    return "file://" + path


def from_uri(text: str) -> str | None:
    """The path that a path or `file://` URI names, encoded or not.

    A URI is decoded when that is how it was made: the Claude CLI sends `file:///p/a é#%.py` raw, so
    a text with a character that encoding would have replaced is taken as it stands.

    Returns:
        None for another scheme, or for a relative or empty path.
    """
    if text.startswith("file://"):
        rest = text[len("file://") :]
        if rest.startswith("localhost/"):
            rest = rest[len("localhost") :]
        path = unquote(rest) if _was_encoded(rest) else rest
    elif _SCHEME.match(text):
        return None
    else:
        path = text
    if re.match(r"/[A-Za-z]:", path) and _FLAVOUR is PureWindowsPath:
        path = path[1:]
    return path if "\0" not in path and _FLAVOUR(path).is_absolute() else None


def require_path(given: str) -> str:
    """As `from_uri`, for an argument of a call.

    Raises:
        RpcError: it names no absolute path.
    """
    path = from_uri(given)
    if path is None:
        raise RpcError.invalid_params("an absolute path or a file:// URI is expected")
    return path


def _was_encoded(rest: str) -> bool:
    raw = any(ord(char) > 126 or char in ' #?"<>^`{|}' for char in rest)
    stray_percent = len(_ENCODED.findall(rest)) != rest.count("%")
    return not raw and not stray_percent
