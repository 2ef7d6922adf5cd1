"""The transcripts are whole: every line is of the format and every answer has its request."""

from __future__ import annotations

import pytest

from tests.support.golden import Line, golden_names, read_golden

ALL = [(agent, name) for agent in ("claude", "copilot") for name in golden_names(agent)]


def test_both_agents_have_transcripts() -> None:
    assert {"handshake", "edit_saved", "diagnostics"} <= set(golden_names("claude"))
    assert {"startup", "open_diff_saved"} <= set(golden_names("copilot"))


@pytest.mark.parametrize(("agent", "name"), ALL)
def test_every_answer_has_its_request(agent: str, name: str) -> None:
    lines = read_golden(agent, name)
    assert [line.t_ms for line in lines] == sorted(line.t_ms for line in lines)
    asked: set[tuple[int, str, object]] = set()
    for line in lines:
        if line.msg is None or "id" not in line.msg:
            continue
        if "method" in line.msg:
            asked.add((line.conn, line.sender, line.msg["id"]))
        else:
            other = "ide" if line.from_cli else "cli"
            assert (line.conn, other, line.msg["id"]) in asked, line.where


def test_headers_and_tools_are_found() -> None:
    lines = read_golden("claude", "edit_saved")
    assert lines[0].header("x-claude-code-ide-authorization") == "01" * 16
    assert tools(lines)[:3] == ["closeAllDiffTabs", "openDiff", "close_tab"]
    assert '"method":"initialize"' in lines[2].text


def tools(lines: list[Line]) -> list[str]:
    return [line.tool for line in lines if line.tool is not None]
