"""Reads the golden wire transcripts in tests/golden.

Owns:     the file format (tests/golden/README.md): one JSON object a line -> one typed `Line`.
Not here: what a session must answer (tests/sessions), sockets.

    for line in read_golden("claude", "edit_saved"):
        if line.from_cli and line.kind == "message":
            session.receive(session.read(line.text.encode()))
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ["Json", "Kind", "Line", "golden_names", "read_golden"]

Json: TypeAlias = dict[str, Any]
"""A JSON object from the wire; tests look into it by key, so its values stay untyped."""

Kind: TypeAlias = Literal["upgrade", "message", "close", "drop", "http", "sse", "sse_end", "note"]

_KINDS = frozenset({"upgrade", "message", "close", "drop", "http", "sse", "sse_end", "note"})
_FOLDER = Path(__file__).resolve().parent.parent / "golden"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a transcript; a field that this kind of line does not have is None or empty."""

    file: str
    """`agent/name` of the transcript, for messages of failed tests."""
    number: int
    """1-based line number in the file."""
    t_ms: int
    """Milliseconds since the first line."""
    sender: Literal["cli", "ide"]
    kind: Kind
    conn: int
    """Number of the connection; 1 where the file has only one."""
    msg: Json | None
    """JSON-RPC message of a `message` or `sse` line, and of an `http` request's body."""
    headers: tuple[tuple[str, str], ...]
    """As on the wire: order and case kept, doubles possible."""
    method: str
    """HTTP method of an `upgrade` or `http` request."""
    path: str
    """HTTP path of the same."""
    status: int | None
    """HTTP status of an answer."""
    body: str | None
    """Text of an `http` answer's body."""
    req: int | None
    """Ties an `http` answer, `sse` and `sse_end` to their request."""
    code: int | None
    """Code of a `close`; None: the CLOSE frame had none."""
    note: str
    """What the user or the script did."""
    raw: Json
    """The whole line, for the rare keys (`rebuilt`, `trimmed`, `also_conn`, ...)."""

    @property
    def from_cli(self) -> bool:
        return self.sender == "cli"

    @property
    def text(self) -> str:
        """The message as the CLI writes it: compact JSON, keys in the recorded order."""
        if self.msg is None:
            raise ValueError(f"{self.where}: a line of kind {self.kind} has no message")
        return json.dumps(self.msg, ensure_ascii=False, separators=(",", ":"))

    @property
    def where(self) -> str:
        return f"{self.file}:{self.number}"

    def header(self, name: str) -> str | None:
        """First value of a header, by its name in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def tool(self) -> str | None:
        """Name of the tool when the line is a tools/call."""
        if self.msg is None or self.msg.get("method") != "tools/call":
            return None
        name: str = self.msg["params"]["name"]
        return name


def golden_names(agent: str) -> list[str]:
    """Names of all transcripts of an agent (`claude`, `copilot`), sorted."""
    return sorted(path.stem for path in (_FOLDER / agent).glob("*.jsonl"))


def read_golden(agent: str, name: str) -> list[Line]:
    """All lines of `tests/golden/<agent>/<name>.jsonl`, oldest first.

    Raises:
        ValueError: a line is not of the format.
    """
    text = (_FOLDER / agent / f"{name}.jsonl").read_text(encoding="utf-8")
    # Not splitlines(): a message may hold U+2028, which is no line break in JSON lines.
    rows = [row for row in text.split("\n") if row]
    return [_line(f"{agent}/{name}", number, json.loads(row)) for number, row in enumerate(rows, 1)]


def _line(file: str, number: int, raw: Json) -> Line:
    if raw.get("kind") not in _KINDS or raw.get("from") not in ("cli", "ide"):
        raise ValueError(f"{file}:{number}: not a line of a transcript")
    body = raw.get("body")
    return Line(
        file=file,
        number=number,
        t_ms=raw["t_ms"],
        sender=raw["from"],
        kind=raw["kind"],
        conn=raw.get("conn", 1),
        msg=raw.get("msg") or (body if isinstance(body, dict) else None),
        headers=tuple((name, value) for name, value in raw.get("headers", [])),
        method=raw.get("method", ""),
        path=raw.get("path", ""),
        status=raw.get("status"),
        body=body if isinstance(body, str) else None,
        req=raw.get("req"),
        code=raw.get("code"),
        note=raw.get("text", ""),
        raw=raw,
    )
