"""Diagnostics as Lua tells them, and answers that list more of them than fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_ide.editor.diagnosed import Diagnosed
from agent_ide.editor.state import EditorState
from agent_ide.model import Diagnostic, Position, Range, Severity
from agent_ide.wire import diagnosed
from agent_ide.wire.mcp import ToolResult

SPAN = Range(Position(1, 2), Position(3, 4))
WORDS = {severity: severity.name for severity in Severity}


def item(**more: Any) -> dict[str, Any]:
    return {
        "message": "odd",
        "severity": 2,
        "range": {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}},
        **more,
    }


def problem(message: str = "bad") -> Diagnostic:
    return Diagnostic(message, Severity.WARNING, SPAN)


def listed(*files: tuple[str, list[Diagnostic]]) -> tuple[list[Any], str]:
    """The files of an answer, and what it says beside them."""
    result: ToolResult = diagnosed.listing(files, lambda path: {"uri": path}, WORDS)
    first, *rest = (block.text for block in result.content if block.type == "text")
    assert len(first.encode()) <= diagnosed.MAX_BYTES
    return json.loads(first), " ".join(rest)


def test_items_are_read_when_asked() -> None:
    read = Diagnosed(json.dumps([item(source="lint", code="E1"), item(severity=4)]))
    first = Diagnostic("odd", Severity.WARNING, SPAN, "lint", "E1")
    second = Diagnostic("odd", Severity.HINT, SPAN)
    assert list(read) == [first, second]
    assert (len(read), read[0], read[1], read[-1]) == (2, first, second, second)
    assert read[1:] == [second]
    with pytest.raises(IndexError):
        Diagnosed("[]")[0]


@pytest.mark.parametrize("text", ["[{}]", "{", json.dumps([item(severity=5)])])
def test_what_cannot_be_read_is_refused_at_once(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        Diagnosed(text)


def test_the_state_tells_what_changed_only() -> None:
    state, told = EditorState(), list[str]()
    state.on_diagnostics(told.append)
    for text in ("[]", "[]"):
        state.diagnose("/a", Diagnosed(text))
    assert told == []
    for text in (json.dumps([item()]), json.dumps([item()]), json.dumps([item(), item()]), "[]"):
        state.diagnose("/a", Diagnosed(text))
    assert told == ["/a", "/a", "/a"]
    assert state.diagnostics == {}


def test_a_file_is_found_by_another_spelling(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    state = EditorState()
    for name in ("x", "y"):
        state.diagnose(f"{tmp_path}/link/{name}.py", [problem(name)])
    state.diagnose(f"{tmp_path}/link/x.py", [])
    assert state.diagnostics_of(f"{tmp_path}/real/x.py") == ()
    assert state.diagnostics_of(f"{tmp_path}/real/y.py") == [problem("y")]
    assert state.diagnostics_of(f"{tmp_path}/link/y.py") == [problem("y")]


def test_files_with_errors_come_first() -> None:
    state = EditorState()
    for path, severity in (("/c", 2), ("/b", 4), ("/a", 2), ("/d", 1)):
        state.diagnose(path, [Diagnostic("m", Severity(severity), SPAN)])
    assert state.worst_files() == ["/d", "/a", "/c", "/b"]


def test_all_that_fits_is_listed() -> None:
    files, said = listed(("/a", [problem("one"), problem("two")]), ("/b", []))
    assert [(it["uri"], [d["message"] for d in it["diagnostics"]]) for it in files] == [
        ("/a", ["one", "two"]),
        ("/b", []),
    ]
    assert said == ""


def test_whole_files_then_a_part_of_one() -> None:
    files, said = listed(*((f"/{n}", [problem("x" * 50_000)] * 9) for n in range(5)))
    assert [len(it["diagnostics"]) for it in files] == [9, 9, 2]
    assert said == (
        "7 more diagnostics of /2 were left out. "
        "2 more files have diagnostics; ask for one by its uri."
    )


def test_one_file_is_too_large_alone() -> None:
    files, said = listed(("/a", [problem("é" * 1000)] * 2000))
    (only,) = files
    count = len(only["diagnostics"])
    assert 450 < count < 524, "as many as fit"
    assert said == f"{2000 - count} more diagnostics of /a were left out."


def test_one_message_is_too_large_alone() -> None:
    files, said = listed(("/a", [problem("x" * 2_000_000)]), ("/b", [problem()]))
    assert files == []
    assert said == "2 more files have diagnostics; ask for one by its uri."


def test_lengths_differ_much() -> None:
    short, long = [problem("x")] * 100, [problem("x" * 500_000)] * 3
    files, said = listed(("/a", [*long, *short]))
    assert len(files[0]["diagnostics"]) == 2
    assert said == "101 more diagnostics of /a were left out."
