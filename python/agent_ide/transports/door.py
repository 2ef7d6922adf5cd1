"""The websockets library's connection, as this server wants it.

Owns:     how many fragments a message may have, what goes out in one write, when a peer is not
          heard.
Not here: who is let in, whole messages (websocket.py), how long a stranger may stay
          (strangers.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http
from collections import deque
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import Event
from websockets.server import ServerProtocol

from agent_ide.transports.strangers import Strangers

__all__ = ["MAX_FRAGMENTS", "TOGETHER_BYTES", "Door"]

MAX_FRAGMENTS = 4096
"""Of a message; an empty one costs no size, but memory all the same. The library's own limit in its
newer versions; older ones have none."""

KEPT_BYTES = 64 * 1024
"""What the library's parser may keep of a frame until the next one comes."""

TOGETHER_BYTES = 32 * 1024
"""As much goes out in one write at the most, unless it is one frame."""


class Door(ServerConnection):
    """The library's connection, which is a stranger's until it is admitted."""

    def __init__(self, strangers: Strangers, protocol: ServerProtocol, *args: Any, **options: Any):
        super().__init__(protocol, *args, **options)
        self._strangers = strangers
        self.kinds: deque[Opcode] = deque()
        """Of the messages that have begun and were not taken yet."""
        self._fragments = 0
        self._outgoing = bytearray()
        self._refusing: asyncio.Task[None] | None = None
        # the library's own refusals say what is wrong, which helps a scan
        self.protocol.reject = self._reject  # type: ignore[method-assign]

    def _reject(self, status: http.HTTPStatus | int, text: str) -> Response:
        return ServerProtocol.reject(self.protocol, status, "")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._strangers.arrived(self.transport)

    def data_received(self, data: bytes) -> None:
        self._strangers.heard(self.transport)
        super().data_received(data)

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame):
            if not self._takes(event):
                return
            if len(event.data) > KEPT_BYTES:
                kept, event = event, dataclasses.replace(event)
                kept.data = b""
        super().process_event(event)

    def _takes(self, frame: Frame) -> bool:
        """Whether a frame is listened to; not any more once a message has too many."""
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self.kinds.append(frame.opcode)
            self._fragments = 0
        elif frame.opcode is Opcode.CONT:
            self._fragments += 1
        if self._fragments >= MAX_FRAGMENTS and self._refusing is None:
            refusal = self.close(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
            self._refusing = self.loop.create_task(refusal)
        return self._refusing is None

    def send_data(self) -> None:
        """While more of the peer's messages are here, their answers go out together: a write for
        each of a thousand is a quarter of the host's work (doc/decisions/010)."""
        frames = self.protocol.data_to_send()
        # an empty one stands for the end
        ends, data = b"" in frames, b"".join(frames)
        more = len(self.recv_messages.frames) > 0 and not ends
        if more and len(self._outgoing) + len(data) <= TOGETHER_BYTES:
            if data and not self._outgoing:
                # a message that has no answer may be the last one
                self.loop.call_soon(self._send_outgoing)
            self._outgoing += data
            return
        self._send_outgoing()
        if data:
            self.transport.write(data)
        if ends and self.transport.can_write_eof():
            with contextlib.suppress(OSError, RuntimeError):
                self.transport.write_eof()

    def _send_outgoing(self) -> None:
        if self._outgoing:
            outgoing, self._outgoing = self._outgoing, bytearray()
            self.transport.write(outgoing)

    def pause_writing(self) -> None:
        """A peer that does not read is not heard either: pings and errors have answers, too."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.recv_messages.paused:
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._strangers.forget(self.transport)
        super().connection_lost(exc)
