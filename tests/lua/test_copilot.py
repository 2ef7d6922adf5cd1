"""Copilot CLI's commands, options and names: the same tables as Claude's, other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import REVIEW, SERVER, push_status
from tests.support.neovim import wait_until

from .bed import Bed, bed

COPILOT_SERVER = {
    "agent": "copilot",
    "title": "Copilot CLI",
    "address": "/run/mcp-1.sock",
    "files": [],
    "env": {},
}
CLAUDE = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}
COPILOT = {"id": "copilot-1", "agent": "copilot", "name": "copilot-cli", "version": "1.0.102"}
SERVERS = [SERVER, COPILOT_SERVER]
OF_CLAUDE = REVIEW
OF_COPILOT = {
    **REVIEW,
    "id": 2,
    "agent": "copilot",
    "title": "Copilot CLI",
    "client": "copilot-1",
    "path": "/p/b.txt",
    "tab_name": "[Copilot CLI] - b.txt (a00001)",
}


def start_bed(tmp_path: Path, **options: Any) -> Any:
    # the stand-in is whoever it is started as
    command = str(tmp_path / "cli" / "claude")
    return bed(tmp_path, {"copilot": {"command": command, **options}})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    """Both agents are served, and nobody is connected."""
    with start_bed(tmp_path) as desk:
        push_status(desk.nvim, servers=SERVERS)
        yield desk


def test_the_family_is_complete_and_described(desk: Bed) -> None:
    commands = desk.nvim.api.api.get_commands({})
    suffixes = ["", "Open", "Close", "Focus", "Status", "Send", "SendText", "Add", "TreeAdd"]
    suffixes += ["DiffAccept", "DiffDeny", "CloseAllDiffs"]
    ours = {name for name in commands if name.startswith("CopilotCli")}
    assert ours == {f"CopilotCli{suffix}" for suffix in suffixes}
    assert all(commands[name]["definition"].startswith("Copilot CLI: ") for name in ours)
    for name in ours:
        namesake = commands[name.replace("CopilotCli", "ClaudeCode")]
        for attribute in ("nargs", "range", "bang", "complete"):
            assert commands[name][attribute] == namesake[attribute], name
    maps = {found["lhs"] for found in desk.nvim.api.api.get_keymap("n")}
    maps = {lhs for lhs in maps if "CopilotCli" in lhs}
    wanted = ["Toggle", "Focus", "Send", "Add", "TreeAdd", "DiffAccept", "DiffDeny"]
    assert maps == {f"<Plug>(CopilotCli{name})" for name in wanted}
    assert desk.nvim.eval("maparg('<Plug>(CopilotCliToggle)', 'n')") == "<Cmd>CopilotCli<CR>"


def test_start_with_arguments_and_environment(tmp_path: Path) -> None:
    options = {"args": ["--banner"], "env": {"COPILOT_HOME": "/c"}}
    with start_bed(tmp_path, **options) as desk:
        push_status(desk.nvim, servers=SERVERS)
        desk.nvim.lua("vim.env.TERM_PROGRAM = 'vscode'")
        desk.nvim.command("CopilotCli --resume")
        started = desk.cli.started()
        assert desk.cli.asked() == ["--banner --resume"], "it is not asked for its modes first"
    assert started["env"]["COPILOT_HOME"] == "/c"
    assert "TERM_PROGRAM" not in started["env"]
    assert "localhost" in started["env"]["NO_PROXY"]
    assert started["cwd"] == str(desk.project)


def test_each_agent_has_its_own_terminal(desk: Bed) -> None:
    desk.nvim.command("CopilotCliOpen")
    desk.cli.started()
    wait_until(lambda: desk.nvim.eval("get(b:, 'agent_ide_terminal', '')") == "copilot", "it")
    desk.nvim.command("stopinsert | ClaudeCode")
    code = """
    local names = {}
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      table.insert(names, vim.b[buf].agent_ide_terminal)
    end
    table.sort(names)
    return names
    """
    wait_until(lambda: desk.nvim.lua(code) == ["claude", "copilot"], "both terminals")
    desk.nvim.command("CopilotCliClose")
    assert desk.nvim.lua("return require('agent_ide.terminal').visible('copilot')") is False
    assert desk.nvim.lua("return require('agent_ide.terminal').running('copilot')") is True


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        ("ClaudeCodeSend", "claude"),
        ("CopilotCliSend", "copilot"),
        ("ClaudeCodeAdd %", "claude"),
        ("CopilotCliAdd %", "copilot"),
    ],
)
def test_with_both_connected_each_family_sends_to_its_own(
    desk: Bed, command: str, agent: str
) -> None:
    push_status(desk.nvim, servers=SERVERS, clients=[CLAUDE, COPILOT])
    desk.edit("a.txt", "one\n")
    desk.nvim.lua(
        """
        _G.sent = {}
        vim.api.nvim_create_autocmd("User", { pattern = "*SendComplete", callback = function(event)
          table.insert(_G.sent, event.match)
        end })
        """
    )
    desk.nvim.command(command)
    assert desk.nvim.wait_event("mention")["agent"] == agent
    prefix = {"claude": "ClaudeCode", "copilot": "CopilotCli"}[agent]
    assert desk.nvim.lua("return _G.sent") == [f"{prefix}SendComplete"]
    assert desk.terminal_buffer() == 0, "both are connected from elsewhere"


def test_text_is_refused_only_while_its_own_diff_waits(desk: Bed) -> None:
    desk.nvim.command("CopilotCliOpen")
    desk.cli.started()
    push_status(desk.nvim, servers=SERVERS, clients=[COPILOT], reviews=[OF_COPILOT])
    desk.nvim.command("CopilotCliSendText hello")
    assert "Copilot CLI waits for your verdict on b.txt" in desk.told()[-1]
    push_status(desk.nvim, servers=SERVERS, clients=[COPILOT], reviews=[OF_CLAUDE])
    desk.nvim.command("CopilotCliSendText! hello")
    wait_until(lambda: desk.cli.typed() == b"\x1b[200~hello\x1b[201~\r", "the text")


@pytest.mark.parametrize("command", ["ClaudeCodeDiffAccept", "CopilotCliDiffAccept"])
@pytest.mark.parametrize("review", [OF_CLAUDE, OF_COPILOT], ids=["Claude's", "Copilot's"])
def test_the_diff_under_the_cursor_is_meant_whoever_opened_it(
    desk: Bed, command: str, review: dict[str, Any]
) -> None:
    reviews = [OF_CLAUDE, OF_COPILOT]
    push_status(desk.nvim, servers=SERVERS, clients=[CLAUDE, COPILOT], reviews=reviews)
    for each in reviews:
        path = desk.project / Path(each["path"]).name
        path.write_text("old\n")
        call = {name: each[name] for name in ("id", "agent", "tab_name", "is_new")}
        desk.nvim.call("review.show", {**call, "path": str(path), "text": "new\n"})
    desk.nvim.lua("require('agent_ide.diff').focus(...)", review["id"])
    desk.nvim.command(command)
    sent = desk.nvim.wait_event("review")
    assert (sent["id"], sent["event"]) == (review["id"], "accept")


def test_close_all_diffs_is_told(desk: Bed) -> None:
    desk.nvim.command("CopilotCliCloseAllDiffs")
    assert desk.nvim.wait_event("close_diffs") == {}


# -- how it is spoken of -------------------------------------------------------------------


def statusline(desk: Bed) -> str:
    return str(desk.nvim.lua("return require('agent_ide').statusline()"))


def test_the_statusline_has_the_sessions_name(desk: Bed) -> None:
    both = {"servers": SERVERS, "clients": [CLAUDE, COPILOT]}
    push_status(desk.nvim, **both)
    assert statusline(desk) == "Claude Code, Copilot CLI"
    named = {**COPILOT, "session_name": "fix the parser"}
    push_status(desk.nvim, servers=SERVERS, clients=[named], reviews=[OF_COPILOT])
    assert statusline(desk) == "Copilot CLI (fix the parser), 1 diff"
    push_status(desk.nvim, servers=SERVERS, clients=[named, {**named, "id": "copilot-2"}])
    assert statusline(desk) == "Copilot CLI x2"


def test_a_sessions_name_is_short_and_evaluates_nothing(desk: Bed) -> None:
    name = "%{execute('let g:owned = 1')}%1@Owned@" + "x" * 60
    push_status(desk.nvim, servers=SERVERS, clients=[{**COPILOT, "session_name": name}])
    text = statusline(desk)
    assert "%" not in text
    assert len(text) < 40
    # as some plugins do: the text itself becomes 'statusline'
    desk.nvim.lua("vim.o.statusline = require('agent_ide').statusline()")
    desk.nvim.command("redrawstatus!")
    assert desk.nvim.eval("exists('g:owned')") == 0


def test_the_status_window_has_the_sessions_name(desk: Bed) -> None:
    named = {**COPILOT, "pid": 7, "session_name": "fix the parser"}
    push_status(desk.nvim, servers=SERVERS, clients=[named], reviews=[OF_COPILOT])
    desk.nvim.command("CopilotCliStatus")
    shown = desk.nvim.wait_screen("Host: running")
    assert "Copilot CLI  at /run/mcp-1.sock" in shown
    assert 'copilot-1  copilot-cli 1.0.102  pid 7  "fix the parser"' in shown
    assert "pending  /p/b.txt  from copilot-1" in shown


def test_health_knows_both(desk: Bed) -> None:
    push_status(desk.nvim, servers=SERVERS, clients=[COPILOT])
    desk.nvim.command("checkhealth agent_ide")
    report = "\n".join(desk.nvim.api.current.buffer[:])
    assert "OK Copilot CLI is served at /run/mcp-1.sock" in report
    assert "OK connected: copilot-cli 1.0.102 (copilot-1)" in report
    assert re.search(r"agent_ide: Claude Code .*agent_ide: Copilot CLI ", report, re.DOTALL)
    assert report.count("OK 9.9.9 (Stand-in)") == 2
    assert "ask_permission" not in report


def test_health_names_how_to_get_it(tmp_path: Path) -> None:
    with start_bed(tmp_path, command="no-such-copilot", enabled=False) as desk:
        desk.nvim.command("checkhealth agent_ide")
        report = "\n".join(desk.nvim.api.current.buffer[:])
    assert 'WARNING there is no program "no-such-copilot"' in report
    assert "npm install -g @github/copilot" in report
    assert "the option copilot.enabled is false" in report


# -- whom the user trusts ------------------------------------------------------------------


TRUST = """
vim.g.agent_ide = { auto_start = false }
require("agent_ide").setup({ copilot = { trust = function(folders)
  _G.asked = (_G.asked or 0) + 1
  _G.folders = folders
  %s
end } })
require("agent_ide.folders").watch()
"""


@pytest.mark.parametrize(
    ("body", "trusted"),
    [
        ("return true", True),
        ("return false", False),
        ("return", False),
        ("return 'yes'", False),
        ("error('no')", False),
    ],
)
def test_a_function_says_whether_folders_are_trusted(desk: Bed, body: str, trusted: bool) -> None:
    (desk.project / "link").symlink_to(desk.project)
    desk.nvim.lua("vim.cmd.cd(...)", str(desk.project / "link"))
    desk.nvim.lua(TRUST % body)
    event = desk.nvim.wait_event("folders")
    assert event["trusted"] == {"copilot": trusted}
    assert desk.nvim.lua("return _G.folders") == [str(desk.project.resolve())]
    assert any("copilot.trust failed" in text for text in desk.told()) == ("error" in body)
    desk.nvim.command("cd .")
    assert desk.nvim.lua("return _G.asked") == 1


def test_patterns_are_the_hosts_business(desk: Bed) -> None:
    desk.nvim.lua("require('agent_ide').setup({ copilot = { trust = { '~/work' } } })")
    desk.nvim.lua("require('agent_ide.folders').watch()")
    assert "trusted" not in desk.nvim.wait_event("folders")
