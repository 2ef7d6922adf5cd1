"""A client on Neovim's socket whose every request has a deadline.

Owns:     the socket, the ids of requests.
Not here: what is asked (editor.py).

pynvim's own client waits for ever while Neovim stands in a prompt; here that fails the test and
names the request.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]

from tests.support.neovim import LIMIT_S

__all__ = ["Client", "RequestFailed"]


class RequestFailed(Exception):
    """Neovim refused a request; the text is its error."""


class Client:
    """Calls of Neovim's API, one at a time."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._unpacker = msgpack.Unpacker(
            ext_hook=lambda kind, data: msgpack.unpackb(data),
            unicode_errors="surrogateescape",
            strict_map_key=False,
        )
        self._last_id = 0

    def close(self) -> None:
        self._socket.close()

    def send(self, name: str, *arguments: object) -> None:
        """Call an API function without waiting for its value."""
        self._write([2, name, arguments])

    def call(self, name: str, *arguments: object, limit_s: float = 2 * LIMIT_S) -> Any:
        """Call an API function; handles of buffers, windows and tabpages are integers.

        Raises:
            RequestFailed:  Neovim says that it failed.
            AssertionError: no answer in `limit_s`: it blocks, for example in a hit-enter prompt.
            OSError:        it has ended.
        """
        self._last_id += 1
        self._write([0, self._last_id, name, arguments])
        end = time.monotonic() + limit_s
        while True:
            for message in self._unpacker:
                if message[0] == 1 and message[1] == self._last_id:
                    if message[2] is not None:
                        raise RequestFailed(f"{name}: {message[2][1]}")
                    return message[3]
            self._read(end, name)

    def _write(self, message: list[object]) -> None:
        self._socket.settimeout(LIMIT_S)
        self._socket.sendall(msgpack.packb(message, unicode_errors="surrogateescape"))

    def _read(self, end: float, name: str) -> None:
        self._socket.settimeout(max(0.001, end - time.monotonic()))
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            raise AssertionError(f"Neovim does not answer {name}: it blocks") from None
        if not data:
            raise ConnectionResetError("Neovim has closed its socket")
        self._unpacker.feed(data)
