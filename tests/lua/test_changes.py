"""Files that an agent changes without a diff: taken up, told once, and listed since the prompt."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import REVIEW, push_status
from tests.support.neovim import wait_until

from .bed import Bed, bed

CLIENT = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}
COPILOT = {"id": "copilot-1", "agent": "copilot", "name": "copilot", "version": "1"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    """A desk to which nobody is connected."""
    with bed(tmp_path) as desk:
        yield desk


def connect(desk: Bed, prompts: int | None = 1, **more: Any) -> None:
    client = {**CLIENT, "cwd": str(desk.project), **more}
    if prompts is not None:
        client["prompts"] = prompts
    push_status(desk.nvim, clients=[client])
    desk.nvim.call("track", {"enabled": True})


def git(desk: Bed, *args: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = ["-c", "user.name=n", "-c", "user.email=e@x"]
    argv = ["git", "-C", str(desk.project), *who, *args]
    return subprocess.run(argv, capture_output=True, text=True, env=env, check=True).stdout


def quickfix(desk: Bed) -> list[tuple[str, int, str]]:
    code = """
    return vim.tbl_map(function(item)
      return { vim.fs.basename(vim.fn.bufname(item.bufnr)), item.lnum, item.text }
    end, vim.fn.getqflist())
    """
    return sorted(tuple(item) for item in desk.nvim.lua(code))


def wait_snapshot(desk: Bed) -> None:
    """Until the state at the prompt is known."""
    code = "return require('agent_ide.changes').is_known()"
    wait_until(lambda: desk.nvim.lua(code), "the snapshot")


# -- taking up -----------------------------------------------------------------------------------


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_an_unmodified_buffer_is_read_again_within_a_second(desk: Bed, autoread: str) -> None:
    desk.nvim.command(f"set {autoread}")
    path = desk.edit("a.txt", "one\n")
    desk.edit("b.txt", "two\n")
    connect(desk)
    path.write_text("one\nmore\n")
    text = "getbufline('a.txt', 1, '$')"
    wait_until(lambda: desk.nvim.eval(text) == ["one", "more"], "the new text", 1)
    # also a file that is replaced instead of written
    fresh = desk.project / "fresh"
    fresh.write_text("replaced\n")
    fresh.rename(path)
    wait_until(lambda: desk.nvim.eval(text) == ["replaced"], "the new text", 1)
    assert desk.nvim.mode() == "n"
    assert desk.nvim.eval("expand('%:t')") == "b.txt"
    # one that is opened later is watched, too
    later = desk.edit("c.txt", "three\n")
    later.write_text("drei\n")
    wait_until(lambda: desk.nvim.eval("getline(1)") == "drei", "the new text", 1)


def test_unsaved_changes_are_kept_without_a_question(desk: Bed) -> None:
    path = desk.edit("a.txt", "one\n")
    connect(desk)
    desk.nvim.feed("ixx<Esc>")
    path.write_text("other\n")
    assert "unsaved changes are kept" in desk.wait_told("a.txt was changed on disk")
    assert desk.nvim.eval("getline(1)") == "xxone"
    assert not desk.nvim.api.api.get_mode()["blocking"]
    path.unlink()
    desk.nvim.command("checktime")
    desk.wait_told("a.txt is gone from disk")


def test_without_an_agent_nothing_is_watched(desk: Bed) -> None:
    connect(desk)
    desk.edit("a.txt", "one\n")
    desk.nvim.call("track", {"enabled": False})
    groups = "return vim.api.nvim_get_autocmds({ group = 'agent_ide_outside' })"
    assert desk.nvim.lua(groups) == []
    (desk.project / "a.txt").write_text("two\n")
    desk.nvim.lua("vim.wait(600)")
    assert desk.nvim.eval("getline(1)") == "one"


def test_what_is_typed_meanwhile_is_not_lost(desk: Bed) -> None:
    path = desk.edit("a.txt", "one\n")
    connect(desk)
    desk.nvim.feed(":echo 'x")
    path.write_text("two\n")
    wait_until(lambda: desk.nvim.eval("getline(1)") == "two", "the new text")
    assert desk.nvim.mode() == "c"
    assert desk.nvim.eval("getcmdline()") == "echo 'x"


# -- telling -------------------------------------------------------------------------------------


def test_the_first_write_without_asking_is_told_once_with_the_cure(desk: Bed) -> None:
    path = desk.edit("a.txt", "one\n")
    connect(desk)
    for text in ("two\n", "three\n"):
        path.write_text(text)
        wait_until(lambda text=text: desk.nvim.eval("getline(1)") == text.strip(), "the text")
    desk.nvim.lua("vim.wait(50)")
    (message,) = desk.told()
    assert "a.txt was changed without a diff" in message
    assert "Shift-Tab" in message


@pytest.mark.parametrize("why", ["no prompt yet", "reviewed", "elsewhere", "by Neovim"])
def test_what_an_agent_did_not_write_unasked_is_not_told(desk: Bed, why: str) -> None:
    path = desk.edit("a.txt", "one\n")
    cwd = "/elsewhere" if why == "elsewhere" else str(desk.project)
    connect(desk, prompts=0 if why == "no prompt yet" else 1, cwd=cwd)
    if why == "reviewed":
        client = {**CLIENT, "cwd": cwd, "prompts": 1}
        review = {**REVIEW, "path": str(path), "state": "accepted"}
        push_status(desk.nvim, clients=[client], reviews=[review])
        push_status(desk.nvim, clients=[client])
    if why == "by Neovim":
        desk.nvim.command("call setline(1, 'two') | write")
        desk.nvim.lua("vim.wait(900)")
    else:
        path.write_text("two\n")
        wait_until(lambda: desk.nvim.eval("getline(1)") == "two", "the new text")
    assert desk.told() == []


# -- the list ------------------------------------------------------------------------------------


def test_changes_since_the_prompt_by_git(desk: Bed) -> None:
    (desk.project / ".gitignore").write_text("*.log\n")
    for name in ("kept.txt", "edited.txt", "gone.txt", "mine.txt"):
        (desk.project / name).write_text("one\ntwo\nthree\n")
    git(desk, "init", "-q")
    git(desk, "add", ".")
    git(desk, "commit", "-qm", "x")
    # what the user had changed before the prompt is not the agent's
    (desk.project / "mine.txt").write_text("mine\n")
    (desk.project / "edited.txt").write_text("one\ntwo, by me\nthree\n")
    (desk.project / "untracked.txt").write_text("before\n")
    before = git(desk, "status", "--porcelain"), git(desk, "count-objects")
    connect(desk)
    wait_snapshot(desk)
    (desk.project / "edited.txt").write_text("one\ntwo, by me\nthree, by it\n")
    (desk.project / "gone.txt").unlink()
    (desk.project / "ä new.txt").write_text("new\n")
    (desk.project / "untracked.txt").write_text("after\n")
    (desk.project / "noise.log").write_text("x\n")
    desk.nvim.command("AgentIde changes")
    wait_until(lambda: desk.nvim.eval("&filetype") == "qf", "the list")
    assert quickfix(desk) == [
        ("edited.txt", 3, "changed"),
        ("gone.txt", 1, "deleted"),
        ("untracked.txt", 1, "changed"),
        ("ä new.txt", 1, "new"),
    ]
    title = desk.nvim.lua("return vim.fn.getqflist({ title = 1 }).title")
    assert title == "Changed since Claude Code's last prompt"
    # the repository itself was not touched
    assert git(desk, "count-objects") == before[1]
    # beside what it was at the prompt
    desk.nvim.lua("vim.cmd.edit(...)", str(desk.project / "edited.txt"))
    desk.nvim.command("AgentIde changes diff")
    wait_until(lambda: desk.nvim.eval("winnr('$')") == 3, "the window")
    assert desk.nvim.eval("[&diff, getline(3)]") == [1, "three, by it"]
    assert desk.nvim.eval("getbufline(winbufnr(winnr('#')), 1, '$')") == [
        "one",
        "two, by me",
        "three",
    ]
    desk.nvim.command("wincmd p | close")
    assert desk.nvim.eval("&diff") == 0
    # the next prompt starts anew
    connect(desk, prompts=2)
    wait_snapshot(desk)
    desk.nvim.command("AgentIde changes")
    desk.wait_told("no file has changed since Claude Code's last prompt")


def test_changes_without_git_are_told_by_time(desk: Bed) -> None:
    old = desk.project / "old.txt"
    old.write_text("x")
    os.utime(old, (1, 1))
    (desk.project / "sub").mkdir()
    push_status(desk.nvim, clients=[{**COPILOT, "cwd": str(desk.project)}])
    desk.nvim.call("track", {"enabled": True})
    (desk.project / "sub/new.txt").write_text("x")
    desk.nvim.command("AgentIde changes")
    wait_until(lambda: desk.nvim.eval("&filetype") == "qf", "the list")
    assert quickfix(desk) == [("new.txt", 1, "changed")]
    title = desk.nvim.lua("return vim.fn.getqflist({ title = 1 }).title")
    assert title == "Changed since Copilot CLI's connection"
    desk.nvim.lua("vim.cmd.edit(...)", str(desk.project / "sub/new.txt"))
    desk.nvim.command("AgentIde changes diff")
    desk.wait_told("not in a git repository")


def test_changes_before_any_agent_say_so(desk: Bed) -> None:
    desk.nvim.command("AgentIde changes")
    desk.wait_told("no agent has been connected yet")
    desk.nvim.command("AgentIde changes x")
    desk.wait_told("changes diff")
