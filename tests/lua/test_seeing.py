"""What the user sees: statusline, status, events, progress; health has a file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import REVIEW, SERVER, push_status
from tests.support.neovim import wait_until
from tests.support.plugins import use_plugins

from .bed import Bed, bed

CLIENT = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}
COPILOT = {"id": "copilot-1", "agent": "copilot", "name": "copilot", "version": "1"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def statusline(desk: Bed) -> str:
    return str(desk.nvim.lua("return require('agent_ide').statusline()"))


def status(desk: Bed) -> str:
    return "\n".join(desk.nvim.lua("return require('agent_ide.status_text').lines()"))


def test_events_say_who_came_and_went(desk: Bed) -> None:
    code = """
    _G.seen = {}
    vim.api.nvim_create_autocmd("User", {
      pattern = { "AgentIdeConnected", "AgentIdeDisconnected" },
      callback = function(event)
        table.insert(_G.seen, { event.match, event.data.agent, event.data.version })
      end,
    })
    """
    desk.nvim.lua(code)
    push_status(desk.nvim, clients=[CLIENT])
    push_status(desk.nvim, clients=[CLIENT, COPILOT], reviews=[REVIEW])
    push_status(desk.nvim, clients=[COPILOT])
    desk.nvim.lua("require('agent_ide.status').host_gone()")
    assert desk.nvim.lua("return _G.seen") == [
        ["AgentIdeConnected", "claude", "2.1.332"],
        ["AgentIdeConnected", "copilot", "1"],
        ["AgentIdeDisconnected", "claude", "2.1.332"],
        ["AgentIdeDisconnected", "copilot", "1"],
    ]


def test_an_agent_lost_with_the_host_is_named_with_the_cure(desk: Bed) -> None:
    here = {**CLIENT, "pid": os.getpid()}
    dead = {**CLIENT, "id": "claude-2", "pid": 2**22 - 1}
    push_status(desk.nvim, clients=[here, dead])
    desk.nvim.lua("require('agent_ide.status').host_gone()")
    assert statusline(desk) == "Claude Code is gone"
    text = status(desk)
    assert f"claude-code 2.1.332 (pid {os.getpid()}) lost its connection" in text
    assert "type /ide in it" in text
    assert str(2**22 - 1) not in text
    # it came back by itself
    push_status(desk.nvim, clients=[{**here, "id": "claude-7"}])
    assert statusline(desk) == "Claude Code"
    assert "Lost" not in status(desk)
    # one that ended on its own is not missed
    push_status(desk.nvim, clients=[])
    assert statusline(desk) == ""


def test_status_has_folders_files_terminals_and_the_selection(desk: Bed) -> None:
    path = desk.edit("a.txt", "one\ntwo\nthree\n")
    server = {**SERVER, "files": ["/run/x/1.lock"]}
    push_status(desk.nvim, servers=[server], clients=[CLIENT])
    assert "Selection: none was told" in status(desk)
    desk.nvim.call("track", {"enabled": True})
    desk.nvim.wait_event("selection", lambda payload: payload["path"] == str(path))
    assert "Selection: none, the cursor is in line 1 of a.txt" in status(desk)
    desk.nvim.feed("Vj")
    desk.nvim.wait_event("selection", lambda payload: "two" in payload["text"])
    text = status(desk)
    assert "Selection: lines 1 to 2 of a.txt" in text
    assert "    /run/x/1.lock" in text
    assert f"Folders\n  {desk.project}" in text
    desk.nvim.feed("<Esc>")
    desk.open_agent()
    assert "Terminals\n  Claude Code" in status(desk)


def test_the_lualine_component(desk: Bed) -> None:
    use_plugins(desk.nvim, "lualine.nvim")
    sections = "{ lualine_a = { 'agent_ide' } }"
    desk.nvim.lua(f"require('lualine').setup({{ sections = {sections} }})")
    push_status(desk.nvim, clients=[CLIENT], reviews=[REVIEW])
    desk.nvim.lua("require('lualine').refresh()")
    desk.nvim.wait_screen("Claude Code, 1 diff")


def test_drawing_the_statusline_costs_nothing_while_nothing_changes(desk: Bed) -> None:
    push_status(desk.nvim, clients=[CLIENT])
    code = """
    local text = require("agent_ide").statusline
    text()
    local from = vim.uv.hrtime()
    for _ = 1, 10000 do text() end
    return (vim.uv.hrtime() - from) / 1e9
    """
    assert desk.nvim.lua(code) < 0.1  # 10 us each; the text itself takes 30


def test_what_takes_long_is_progress_where_neovim_has_it(desk: Bed) -> None:
    if not desk.nvim.eval("has('nvim-0.12')"):
        desk.nvim.lua("require('agent_ide.progress').begin('work').done('done')")
        assert desk.wait_told("done")
        assert desk.told() == ["agent_ide: work", "agent_ide: done"]
        return
    desk.nvim.lua("_G.work = require('agent_ide.progress').begin('work')")
    desk.nvim.wait_screen("work")
    desk.nvim.lua("_G.work.done('it is done')")
    desk.nvim.wait_screen("it is done")
    assert desk.told() == []


def test_the_statusline_says_who_works(desk: Bed) -> None:
    push_status(desk.nvim, clients=[CLIENT])
    desk.open_agent()
    buf = desk.terminal_buffer()
    for title, text in [
        ("✳ Claude Code", "Claude Code"),
        ("◐ Claude Code", "Claude Code works"),
        ("⠂ fix the parser", "Claude Code works"),
        ("✳ fix the parser", "Claude Code"),
        ("claude", "Claude Code"),
        ("◑ Claude Code", "Claude Code works"),
    ]:
        desk.nvim.lua("local buf, title = ... vim.b[buf].term_title = title", buf, title)
        assert statusline(desk) == text, title
    desk.nvim.feed("exit0")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    assert statusline(desk) == "Claude Code"
