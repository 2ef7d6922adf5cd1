"""What an HTTP server of MCP answers: whole bodies, streams of events, refusals.

Owns:     the headers and framing of answers.
Not here: which answer when (streamable_http.py).
Source:   MCP 2025-11-25, "Streamable HTTP"; the WHATWG's "Server-sent events".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

from aiohttp import web

__all__ = [
    "EVENT_HEADERS",
    "accepted",
    "event",
    "event_stream",
    "json_answer",
    "refused",
    "whole_reply",
    "with_heartbeat",
]

HEARTBEAT_S = 15.0
"""A comment goes out on a silent push stream this often, so that a dead peer is found."""

SERVED_BY = {"Server": ""}
"""In place of aiohttp's own header, which tells a scan every version."""

EVENT_HEADERS = {"Cache-Control": "no-cache"}


def refused(status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer without a body, which tells a scan nothing; the connection ends with it."""
    response = web.Response(status=status, headers={**SERVED_BY, **(headers or {})})
    response.force_close()
    return response


def accepted(headers: Mapping[str, str]) -> web.Response:
    return web.Response(status=202, text="Accepted", headers={**SERVED_BY, **headers})


def whole_reply(reply: bytes | None, as_event: bool, headers: Mapping[str, str]) -> web.Response:
    """A whole answer; None: the client has said that it wants none any more."""
    if not as_event:
        return json_answer(reply, headers=headers) if reply is not None else accepted(headers)
    response = web.Response(
        body=event(reply) if reply is not None else b"",
        headers={**SERVED_BY, **headers, **EVENT_HEADERS, "Content-Type": "text/event-stream"},
    )
    # as a stream that takes its time
    response.enable_chunked_encoding()
    return response


def json_answer(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=body,
        status=status,
        content_type="application/json",
        headers={**SERVED_BY, **(headers or {})},
    )


async def event_stream(request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={**SERVED_BY, **headers, "Content-Type": "text/event-stream"}
    )
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


def event(message: bytes) -> bytes:
    # JSON has no raw line break: one data line is the whole message
    return b"event: message\ndata: " + message + b"\n\n"


async def with_heartbeat(messages: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Events, and a comment whenever nothing was said for a while."""
    upcoming = asyncio.ensure_future(anext(messages, None))
    try:
        while True:
            done, _ = await asyncio.wait({upcoming}, timeout=HEARTBEAT_S)
            if not done:
                yield b": \n\n"
                continue
            message = upcoming.result()
            if message is None:
                return
            yield event(message)
            upcoming = asyncio.ensure_future(anext(messages, None))
    finally:
        upcoming.cancel()
        await asyncio.gather(upcoming, return_exceptions=True)
        await messages.aclose()
