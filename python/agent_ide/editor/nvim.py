"""Neovim as an editor: the only file that knows pynvim.

Owns:     the table of calls that Neovim has not answered yet; the reading of what Lua sends.
Not here: what a call does (lua/agent_ide), who asks (protocols), the pushed state (state.py).
Source:   doc/channel.md. Only notifications cross the channel: a synchronous request from an
          asyncio task fails in pynvim, so a coroutine sends a call with an id, and Lua answers
          with that id.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import mmap
import os
import tempfile
from collections.abc import Mapping
from io import BufferedReader
from typing import Any, TypeVar

import msgspec
import pynvim

from agent_ide.editor.diagnosed import Diagnosed
from agent_ide.editor.port import CloseReason, Level, ReviewEvent
from agent_ide.errors import EditorError
from agent_ide.model import (
    Changes,
    NotebookTarget,
    OpenBuffer,
    OpenedFile,
    OpenFile,
    Position,
    Proposal,
    Range,
    ReviewId,
    SavedFile,
    Selection,
)

__all__ = [
    "NvimEditor",
    "clean",
    "read_buffers",
    "read_diagnostics",
    "read_selection",
]

T = TypeVar("T")

DISPATCH = "require('agent_ide.rpc').dispatch(...)"

INLINE_BYTES = 256 * 1024
"""Above this a text travels through a file (doc/channel.md)."""

DEADLINE_S = 10.0
"""For every call but those that wait for the user; a prompt may hold Neovim that long."""

READ_S = 3.0
"""For what is read while the user waits in the agent's terminal."""


class NvimEditor:
    """Editor port on the channel of this host."""

    def __init__(self, nvim: pynvim.Nvim, runtime_dir: str) -> None:
        self._nvim = nvim
        self._runtime_dir = runtime_dir
        self._channel: int = nvim.channel_id
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._opening: dict[ReviewId, object] = {}
        """Reviews that Lua has not been asked to show yet, each with the attempt that counts."""

    def receive_reply(self, call_id: int, ok: bool, value: Any) -> None:
        """Lua's answer; a late one finds nobody and is dropped."""
        future = self._waiting.pop(call_id, None)
        if future is None or future.done():
            return
        if ok:
            future.set_result(value if isinstance(value, dict) else {})
        else:
            future.set_exception(EditorError(str(value)))

    async def open_file(self, request: OpenFile) -> OpenedFile:
        args = {
            "path": request.path,
            "preview": request.preview,
            "make_frontmost": request.make_frontmost,
            "select_to_end_of_line": request.select_to_end_of_line,
        }
        if request.start_text is not None:
            args["start_text"] = request.start_text
        if request.end_text is not None:
            args["end_text"] = request.end_text
        return _convert(await self._call("files.open", args), OpenedFile)

    async def save_file(self, path: str) -> SavedFile:
        return _convert(await self._call("files.save", {"path": path}), SavedFile)

    async def reload_file(self, path: str, base: bytes) -> None:
        args = {"path": path, "base": self._pack(base)}
        await self._call("files.reload", args, deadline_s=None)

    async def merge_into_buffer(self, path: str, base: str, theirs: str) -> int:
        args = {"path": path, "base": self.pack_text(base), "theirs": self.pack_text(theirs)}
        value = await self._call("files.merge", args, deadline_s=None)
        return int(value.get("conflicts", 0))

    async def read_selection(self) -> Selection | None:
        value = await self._call("selection.read", {})
        return read_selection(value["selection"]) if value.get("selection") else None

    async def read_notebook(self) -> NotebookTarget | None:
        value = await self._call("notebook.read", {})
        if not value.get("path"):
            return None
        return NotebookTarget(str(value["path"]), value.get("kernel_name"))

    async def show_review(
        self, review: ReviewId, proposal: Proposal, is_new: bool
    ) -> Changes | None:
        args = {
            "id": review,
            "agent": proposal.title,
            "path": proposal.path,
            "tab_name": proposal.tab_name,
            "is_new": is_new,
            "closing": proposal.closing,
            "writes": proposal.writes,
            **await self._pack_to_show(review, proposal.text),
        }
        value = await self._call("review.show", args, deadline_s=None)
        return _convert(value, Changes) if value else None

    async def _pack_to_show(self, review: ReviewId, text: str) -> dict[str, str | bytes]:
        """Beside the loop where it is large: 10 MB take 20 ms, on a slow disk seconds."""
        if len(text) <= INLINE_BYTES:
            return self.pack_text(text)
        opening = self._opening[review] = object()
        packed = await asyncio.to_thread(self.pack_text, text)
        if self._opening.get(review) is not opening:
            self.unpack_text(packed)  # its file goes
            raise EditorError("closed before it was shown")
        del self._opening[review]
        return packed

    async def close_review(self, review: ReviewId, reason: CloseReason) -> None:
        self._opening.pop(review, None)
        await self._call("review.close", {"id": review, "reason": reason}, deadline_s=None)

    async def resume_review(self, review: ReviewId) -> None:
        await self._call("review.resume", {"id": review})

    async def read_review(self, review: ReviewId) -> str | None:
        value = await self._call("review.read", {"id": review}, READ_S)
        return self.unpack_text(value) if value else None

    async def paste(self, agent: str, text: str) -> None:
        await self._call("terminal.paste", {"agent": agent, "text": text})

    async def keep_text(self, proposal: Proposal, text: str) -> None:
        args = {"path": proposal.path, "tab_name": proposal.tab_name, **self.pack_text(text)}
        await self._call("review.keep", args)

    async def confirm(self, question: str) -> bool:
        value = await self._call("confirm", {"question": question}, deadline_s=None)
        return value.get("yes") is True

    def notify(self, message: str, level: Level = "info") -> None:
        self._send(0, "notify", {"message": message, "level": level})

    def announce(self, review: ReviewId, event: ReviewEvent, facts: Mapping[str, Any]) -> None:
        self._send(0, "review.event", {"id": review, "event": event, **facts})

    def track(self, enabled: bool) -> None:
        self._send(0, "track", {"enabled": enabled})

    def publish(self, status: dict[str, Any]) -> None:
        self._send(0, "status", status)

    def hello(self, version: str) -> None:
        """Tell Lua that the host is up, and which version it is."""
        self._send(0, "hello", {"version": version, "pid": os.getpid()})

    def pack_text(self, text: str) -> dict[str, str | bytes]:
        """A text's members in a payload: itself, or a private file that the receiver deletes."""
        return self._pack(text.encode("utf-8", "replace"))

    def _pack(self, data: bytes) -> dict[str, str | bytes]:
        if len(data) <= INLINE_BYTES:
            return {"text": data}
        try:
            fd, path = tempfile.mkstemp(prefix="text-", dir=self._runtime_dir)
            with os.fdopen(fd, "wb") as out:
                out.write(data)
        except OSError as error:
            size_mb = len(data) / 1e6
            raise EditorError(
                f"{size_mb:.1f} MB did not reach Neovim by a file: {error.strerror}"
            ) from error
        return {"text_file": path}

    def unpack_text(self, payload: dict[str, Any]) -> str:
        """A payload's text; a file that carried it is deleted."""
        if "text" in payload:
            return clean(str(payload["text"]))
        path = str(payload["text_file"])
        with open(path, "rb") as source:
            text = _decoded(source)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # a Neovim that ends has removed the whole folder by now
        return text

    async def _call(
        self, name: str, args: dict[str, Any], deadline_s: float | None = DEADLINE_S
    ) -> dict[str, Any]:
        call_id = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = future
        try:
            self._send(call_id, name, args)
            async with asyncio.timeout(deadline_s):
                return await future
        except TimeoutError:
            raise EditorError(f"Neovim did not answer within {deadline_s:.0f} s") from None
        finally:
            self._waiting.pop(call_id, None)

    def _send(self, call_id: int, name: str, args: dict[str, Any]) -> None:
        try:
            self._nvim.exec_lua(DISPATCH, self._channel, call_id, name, args, async_=True)
        except OSError as error:
            raise EditorError("Neovim is gone") from error


def _decoded(source: BufferedReader) -> str:
    """A file of ours, which nobody cuts: 10 MB more of fresh memory would take longer than it."""
    if os.fstat(source.fileno()).st_size == 0:
        return ""
    with mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return str(data, "utf-8", "replace")


def clean(text: str) -> str:
    """Without lone surrogates: pynvim brings bytes that are not UTF-8 as such, JSON has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


def read_selection(payload: dict[str, Any]) -> Selection | None:
    """The payload of event `selection`; None when it names no file."""
    path = str(payload.get("path", ""))
    if not path:
        return None
    text = clean(str(payload["text"]))
    return Selection(clean(path), _range(payload), text, payload.get("truncated") is True)


def read_buffers(payload: dict[str, Any]) -> list[OpenBuffer]:
    """The payload of event `buffers`."""
    return [
        OpenBuffer(
            path=clean(str(item["path"])),
            active=item["active"] is True,
            dirty=item["dirty"] is True,
            untitled=item["untitled"] is True,
            language_id=clean(str(item["language_id"])),
            line_count=int(item["line_count"]),
            last_used_s=int(item["last_used"]),
        )
        for item in payload["buffers"]
    ]


def read_diagnostics(payload: dict[str, Any]) -> Diagnosed:
    """The items of event `diagnostics`."""
    return Diagnosed(clean(str(payload["items"])))


def _range(payload: dict[str, Any]) -> Range:
    return Range(
        Position(int(payload["start_line"]), int(payload["start_character"])),
        Position(int(payload["end_line"]), int(payload["end_character"])),
    )


def _convert(value: dict[str, Any], shape: type[T]) -> T:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise EditorError(f"Neovim's answer has another shape than agreed: {error}") from None
