""":checkhealth agent_ide: what keeps diffs away from Neovim, and who else is an IDE here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import push_status

from .bed import Bed, bed

GONE_PID = 2**22 - 1


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def health(desk: Bed) -> str:
    desk.nvim.command("checkhealth agent_ide")
    text = "\n".join(desk.nvim.api.current.buffer[:])
    desk.nvim.command("bwipeout!")
    # Neovim breaks long lines
    return " ".join(text.split())


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def claude_folder(desk: Bed) -> Path:
    return desk.nvim.home / "home/.claude"


def copilot_folder(desk: Bed) -> Path:
    return desk.nvim.home / "home/.copilot"


def test_a_fresh_machine_has_nothing_to_say(desk: Bed) -> None:
    report = health(desk)
    assert "may begin in a mode that does not ask" in report
    for word in ("Diff tool", "openDiffOnEdit", "as well", "process that is gone", "Lua error"):
        assert word not in report


@pytest.mark.parametrize("place", ["user", "project", "local"])
def test_claudes_permission_mode(desk: Bed, place: str) -> None:
    path = {
        "user": claude_folder(desk) / "settings.json",
        "project": desk.project / ".claude/settings.json",
        "local": desk.project / ".claude/settings.local.json",
    }[place]
    write(path, {"permissions": {"defaultMode": "acceptEdits"}})
    report = health(desk)
    assert f"is in mode acceptEdits, in which it shows no diffs ({path})" in report
    assert "Shift-Tab" in report
    write(path, {"permissions": {"defaultMode": "default"}})
    assert "shows no diffs" not in health(desk)


@pytest.mark.parametrize(
    "args", [["--dangerously-skip-permissions"], ["--permission-mode", "auto"]]
)
def test_claudes_arguments(tmp_path: Path, args: list[str]) -> None:
    with bed(tmp_path, {"claude": {"args": args}}) as desk:
        assert "take the mode out of claude.args" in health(desk)


def test_claudes_diff_tool_and_auto_connect(tmp_path: Path) -> None:
    with bed(tmp_path, env={"CLAUDE_CODE_AUTO_CONNECT_IDE": "false"}) as desk:
        write(claude_folder(desk) / ".claude.json", {"diffTool": "terminal"})
        report = health(desk)
    assert 'set "Diff tool" to "auto"' in report
    assert "CLAUDE_CODE_AUTO_CONNECT_IDE is false" in report


def test_copilots_settings(tmp_path: Path) -> None:
    options = {"copilot": {"args": ["--yolo"], "command": "true"}}
    with bed(tmp_path, options, env={"COPILOT_ALLOW_ALL": "true"}) as desk:
        settings = '// mine\n{"ide": {"openDiffOnEdit": false, "autoConnect": false}}'
        write(copilot_folder(desk) / "settings.json", settings)
        report = health(desk)
    assert "ide.openDiffOnEdit is false" in report
    assert "ide.autoConnect is false" in report
    assert "COPILOT_ALLOW_ALL is set" in report
    assert "copilot.args has --yolo" in report


def test_settings_that_are_broken_are_passed_over(desk: Bed) -> None:
    for content in ("{", "[]", '"x"', '{"permissions": 5}', '{"permissions": null}', "\0"):
        write(claude_folder(desk) / "settings.json", content)
        write(claude_folder(desk) / ".claude.json", content)
        write(claude_folder(desk) / "ide/1.lock", content)
        write(copilot_folder(desk) / "settings.json", content)
        report = health(desk)
        assert "may begin in a mode" in report
        assert "Failed to run healthcheck" not in report


def test_locks_of_the_dead_and_of_other_editors(desk: Bed) -> None:
    folder = claude_folder(desk) / "ide"
    lock = {"ideName": "Code", "workspaceFolders": [str(desk.project.parent)], "pid": os.getpid()}
    mine = folder / "12345.lock"
    write(mine, {**lock, "ideName": "Neovim", "pid": desk.nvim.pid})
    write(folder / "1.lock", lock)
    write(folder / "2.lock", {**lock, "workspaceFolders": ["/elsewhere"], "ideName": "Zed"})
    write(folder / "3.lock", {**lock, "pid": GONE_PID, "ideName": "Dead"})
    report = health(desk)
    assert f"Code (pid {os.getpid()}) is an IDE for this folder too" in report
    assert "/ide in Claude Code" in report
    assert "Zed" not in report
    assert f"3.lock is a lock of a process that is gone (Dead, pid {GONE_PID})" in report
    assert "Neovim (pid" not in report


def test_a_cli_with_another_configuration_folder(desk: Bed, tmp_path: Path) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc here")
    program = tmp_path / "claude"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    other = str(tmp_path / "other")
    desk.nvim.command(f"let $CLAUDE_CONFIG_DIR = '{tmp_path}/mine'")
    with subprocess.Popen([program, "60"], env={"CLAUDE_CONFIG_DIR": other}) as process:
        try:
            report = health(desk)
        finally:
            process.kill()
    assert f"a claude (pid {process.pid}) has the configuration folder {other}" in report
    assert "the same CLAUDE_CONFIG_DIR" in report


def test_claudecode_nvim_at_the_same_time(desk: Bed, tmp_path: Path) -> None:
    write(tmp_path / "claudecode.nvim/lua/claudecode/init.lua", "return {}")
    desk.nvim.lua("vim.opt.rtp:append(...)", str(tmp_path / "claudecode.nvim"))
    report = health(desk)
    assert "claudecode.nvim is installed as well" in report
    assert "agent_ide-claudecode" in report


def test_an_agent_that_was_lost(desk: Bed) -> None:
    client = {
        "id": "c",
        "agent": "claude",
        "name": "claude-code",
        "version": "2",
        "pid": os.getpid(),
    }
    push_status(desk.nvim, clients=[client])
    desk.nvim.lua("require('agent_ide.status').host_gone()")
    report = health(desk)
    assert "claude-code 2 lost its connection" in report
    assert "type /ide in it" in report
