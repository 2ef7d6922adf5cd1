"""What a kernel's messages amount to: the text and images of one execution.

Owns:     order, merging, bounds and cleaning of the outputs of one execution.
Not here: the kernel (jupyter.py), the form on the agent's wire (protocols/*/messages.py).
Source:   "Messages on the IOPub channel" of Jupyter's messaging specification, version 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Collector", "Image", "Output", "Text"]

TEXT_BYTES = 1024 * 1024
"""Text of one execution beyond this is left out."""

ERROR_BYTES = 64 * 1024
"""A traceback has room of its own: after a megabyte of prints it is what the agent needs."""

ENTRY_BYTES = 64
"""What one output costs on the wire besides its text, as counted here: a loop may show millions."""

IMAGE_BYTES = 8 * 1024 * 1024
"""Images of one execution, as base64. With the text, each byte of which JSON may spell as six
("\\u0000"), an answer stays below the 16 MiB at which a CLI drops the connection."""

IMAGE_TYPES = ("image/png", "image/jpeg")

TEXT_TYPES = ("text/plain", "text/markdown", "text/latex", "text/html")
"""In the order of what a model reads best; text/plain is nearly always there."""

ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: links, titles
    r"|[@-Z\\^_])"
)


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """data: base64 without line breaks."""

    mime: str
    data: str


Output = Text | Image


@dataclass(slots=True)
class Entry:
    """One output while it grows.

    stream:     "stdout" or "stderr" when the next chunk of that stream continues it.
    display_id: by which the kernel may replace it later.
    """

    parts: list[str]
    image: Image | None = None
    stream: str | None = None
    display_id: object = None


class Collector:
    """Takes the messages of one execution in, gives its outputs."""

    def __init__(self) -> None:
        self._clear_before_next = False  # clear_output(wait=True): keeps a progress from flickering
        self._clear()

    def receive(self, kind: str, content: Mapping[str, object]) -> None:
        """Take in one message; a kind that shows nothing is ignored."""
        if kind == "clear_output":
            self._clear_before_next = bool(content.get("wait"))
            if not self._clear_before_next:
                self._clear()
            return
        if kind not in ("stream", "error", "display_data", "execute_result", "update_display_data"):
            return
        if self._clear_before_next:
            self._clear_before_next = False
            self._clear()
        if kind == "stream":
            self._receive_stream(str(content.get("name")), _string(content.get("text")))
        elif kind == "error":
            self._receive_error(content)
        else:
            self._receive_display(kind, content)

    def outputs(self) -> list[Output]:
        """Everything so far, in order; the last one says what was left out."""
        found: list[Output] = []
        for entry in self._entries:
            if entry.image:
                found.append(entry.image)
            elif text := _clean("".join(entry.parts)):
                found.append(Text(text))
        note = self._note()
        return [*found, Text(note)] if note else found

    def _clear(self) -> None:
        self._entries: list[Entry] = []
        self._text_room = TEXT_BYTES
        self._image_room = IMAGE_BYTES
        self._bytes_left_out = 0
        self._images_left_out = 0

    def _receive_stream(self, name: str, text: str) -> None:
        last = self._entries[-1] if self._entries else None
        if last and last.stream == name:
            last.parts.append(self._fit(text))
        elif entry := self._text_entry(text):
            entry.stream = name
            self._entries.append(entry)

    def _receive_error(self, content: Mapping[str, object]) -> None:
        lines = content.get("traceback")
        text = "\n".join(_string(line) for line in lines) if isinstance(lines, list) else ""
        if not text:
            text = f"{_string(content.get('ename'))}: {_string(content.get('evalue'))}"
        kept, left_out = _cut(text, ERROR_BYTES)
        self._bytes_left_out += left_out
        self._entries.append(Entry([kept]))

    def _receive_display(self, kind: str, content: Mapping[str, object]) -> None:
        data, transient = content.get("data"), content.get("transient")
        if not isinstance(data, dict):
            return
        display_id = transient.get("display_id") if isinstance(transient, dict) else None
        if kind == "update_display_data":
            self._replace(display_id, data)
        elif entry := self._display_entry(data):
            entry.display_id = display_id
            self._entries.append(entry)

    def _replace(self, display_id: object, data: dict[str, object]) -> None:
        for index, old in enumerate(self._entries):
            if old.display_id is not None and old.display_id == display_id:
                # its room is free again: a progress that runs for an hour is one line
                if old.image:
                    self._image_room += ENTRY_BYTES + len(old.image.data)
                elif old.parts:
                    self._text_room += ENTRY_BYTES + len("".join(old.parts).encode())
                entry = self._display_entry(data) or Entry([])
                entry.display_id = old.display_id
                self._entries[index] = entry

    def _display_entry(self, data: dict[str, object]) -> Entry | None:
        for mime in IMAGE_TYPES:
            if encoded := "".join(_string(data.get(mime)).split()):
                return self._image_entry(mime, encoded)
        for mime in TEXT_TYPES:
            if text := _string(data.get(mime)):
                return self._text_entry(text)
        return None

    def _image_entry(self, mime: str, encoded: str) -> Entry | None:
        cost = len(encoded) + ENTRY_BYTES
        if cost > self._image_room:
            self._images_left_out += 1
            return None
        self._image_room -= cost
        return Entry([], image=Image(mime, encoded))

    def _text_entry(self, text: str) -> Entry | None:
        self._text_room -= ENTRY_BYTES
        kept = self._fit(text)
        if kept:
            return Entry([kept])
        self._text_room += ENTRY_BYTES
        return None

    def _fit(self, text: str) -> str:
        kept, left_out = _cut(text, max(self._text_room, 0))
        self._text_room -= len(kept.encode())
        self._bytes_left_out += left_out
        return kept

    def _note(self) -> str:
        what = []
        if self._bytes_left_out:
            what.append(f"{self._bytes_left_out} bytes of text")
        if self._images_left_out:
            what.append(f"{self._images_left_out} image(s)")
        return f"[left out, too large: {' and '.join(what)}]" if what else ""


def _string(value: object) -> str:
    """A kernel of any make wrote it: what is no string is nothing. Never a lone surrogate."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _cut(text: str, room: int) -> tuple[str, int]:
    """The start of a text that fits, and how many bytes do not."""
    raw = text.encode()
    if len(raw) <= room:
        return text, 0
    kept = raw[:room].decode(errors="ignore")
    return kept, len(raw) - len(kept.encode())


def _clean(text: str) -> str:
    """As a terminal would show it: no colours, and of a progress bar only its last state."""
    text = ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
