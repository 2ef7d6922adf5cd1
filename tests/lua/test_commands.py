"""The commands themselves: what is defined, what start-up costs, status, statusline, health."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import REVIEW, SERVER, push_status
from tests.support.neovim import REPO, Neovim, find_nvim, wait_until

from .bed import Bed, bed

CLIENT = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}
OTHER = {**REVIEW, "id": 2, "path": "/p/b.txt", "tab_name": "edit of b.txt"}

FAMILY = ["", "Open", "Close", "Focus", "Start", "Stop", "Status", "Send", "SendText", "Add"]
FAMILY += ["TreeAdd", "DiffAccept", "DiffDeny", "CloseAllDiffs", "SelectModel"]

PICK = """
_G.offered = nil
local pick = ...
vim.ui.select = function(items, opts, on_choice)
  _G.offered = vim.tbl_map(opts.format_item or tostring, items)
  on_choice(items[pick], pick)
end
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def test_the_family_of_an_agent_is_complete_and_described(desk: Bed) -> None:
    commands = desk.nvim.api.api.get_commands({})
    for suffix in FAMILY:
        assert commands[f"ClaudeCode{suffix}"]["definition"].startswith("Claude Code: ")
    assert commands["AgentIde"]["definition"].startswith("agent_ide: ")
    agents = desk.nvim.lua("return require('agent_ide.agents').names()")
    for name in agents:
        prefix = desk.nvim.lua("return require('agent_ide.agents').get(...).prefix", name)
        assert [command for command in commands if command.startswith(prefix)], name


def test_no_key_is_mapped_by_default(tmp_path: Path) -> None:
    code = """
    local all = {}
    for _, mode in ipairs({ "n", "x", "s", "o", "i", "c", "t" }) do
      for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do all[mode .. map.lhs] = true end
    end
    return all
    """
    with Neovim(tmp_path / "nvim") as nvim:
        before = nvim.lua(code)
        nvim.command("let g:agent_ide = {'auto_start': v:false}")
        nvim.command("runtime plugin/agent_ide.lua")
        added = set(nvim.lua(code)) - set(before)
    assert added
    assert all(lhs[1:].startswith("<Plug>(") for lhs in added)


def test_maps_have_descriptions(desk: Bed) -> None:
    for found in desk.nvim.api.api.get_keymap("n"):
        if re.match(r"<Plug>\((ClaudeCode|AgentIde)", found["lhs"]):
            assert found["desc"]


def test_loading_the_plugin_requires_nothing_and_takes_no_time(tmp_path: Path) -> None:
    code = """
    local function ours()
      return vim.tbl_filter(function(name) return name:find("^agent_ide") end,
        vim.tbl_keys(package.loaded))
    end
    local best = math.huge
    for _ = 1, 20 do
      vim.g.loaded_agent_ide = nil
      local from = vim.uv.hrtime()
      dofile(...)
      best = math.min(best, vim.uv.hrtime() - from)
    end
    return { best / 1e6, ours() }
    """
    with Neovim(tmp_path / "nvim") as nvim:
        nvim.command("let g:agent_ide = {'auto_start': v:false}")
        spent_ms, loaded = nvim.lua(code, str(REPO / "plugin/agent_ide.lua"))
    assert loaded == []
    assert spent_ms < 2


def test_the_plugin_is_loaded_once(desk: Bed) -> None:
    before = len(desk.nvim.api.api.get_autocmds({"group": "agent_ide"}))
    desk.nvim.command("runtime plugin/agent_ide.lua")
    assert len(desk.nvim.api.api.get_autocmds({"group": "agent_ide"})) == before


@pytest.mark.parametrize("auto_start", [True, False])
@pytest.mark.parametrize("lazily", [True, False])
def test_the_host_is_started_after_neovim_or_when_loaded_later(
    tmp_path: Path, auto_start: bool, lazily: bool
) -> None:
    prepare = tmp_path / "prepare.lua"
    lua_bool = str(auto_start).lower()
    prepare.write_text(f"""
        vim.opt.rtp:prepend("{REPO}")
        vim.g.agent_ide = {{ auto_start = {lua_bool} }}
        vim.g.loaded_agent_ide = {str(lazily).lower()}
        require("agent_ide.host").start = function() _G.at = vim.v.vim_did_enter end
    """)
    args = ["--cmd", f"luafile {prepare}"]
    with Neovim(tmp_path / "nvim", args=args, plugin=True) as nvim:
        if lazily:
            assert nvim.lua("return _G.at") is None
            nvim.command("unlet g:loaded_agent_ide | runtime plugin/agent_ide.lua")
        if auto_start:
            wait_until(lambda: nvim.lua("return _G.at == 1"), "the start")
        else:
            nvim.lua("vim.wait(30)")
            assert nvim.lua("return _G.at") is None


# -- :AgentIde ---------------------------------------------------------------------------


def test_subcommands_are_completed(desk: Bed) -> None:
    def complete(line: str) -> list[str]:
        return list(desk.nvim.api.funcs.getcompletion(line, "cmdline"))

    assert complete("AgentIde re") == ["recover", "reject", "restart"]
    assert complete("AgentIde kernel ") == ["restart", "stop"]
    assert complete("AgentIde status ") == []
    assert complete("AgentIde nonsense ") == []
    push_status(desk.nvim, reviews=[REVIEW, OTHER, {**OTHER, "id": 3, "state": "accepted"}])
    assert complete("AgentIde accept ") == ["edit of a.txt", "edit of b.txt"]
    assert complete("AgentIde accept edit of b") == ["b.txt"]


def test_an_unknown_subcommand_names_the_known(desk: Bed) -> None:
    desk.nvim.command("AgentIde nonsense")
    assert "no :AgentIde nonsense, only accept, add, changes, diffs" in desk.told()[0]


@pytest.mark.parametrize(
    ("command", "module", "name"),
    [
        ("AgentIde start", "host", "start"),
        ("AgentIde stop", "host", "stop"),
        ("AgentIde restart", "host", "restart"),
        ("ClaudeCodeStart", "host", "start"),
        ("ClaudeCodeStop", "host", "stop"),
        ("AgentIde install", "install", "run"),
        ("AgentIde uninstall", "install", "uninstall"),
        ("AgentIde recover", "diff.kept", "pick"),
    ],
)
def test_a_command_reaches_the_module_that_does_it(
    desk: Bed, command: str, module: str, name: str
) -> None:
    code = """
    local module, name = ...
    local found = require("agent_ide." .. module)
    assert(type(found[name]) == "function")
    found[name] = function() _G.reached = true end
    """
    desk.nvim.lua(code, module, name)
    desk.nvim.command(command)
    assert desk.nvim.lua("return _G.reached") is True


def test_the_kernel_is_told(desk: Bed) -> None:
    desk.nvim.command("AgentIde kernel restart")
    assert desk.nvim.wait_event("kernel") == {"action": "restart"}
    desk.nvim.command("AgentIde kernel")
    assert "kernel restart" in desk.told()[0]


def test_what_needs_the_host_says_so_without_one(desk: Bed) -> None:
    desk.nvim.lua("require('agent_ide.rpc').detach()")
    for command in ("AgentIde kernel stop", "ClaudeCodeCloseAllDiffs"):
        desk.nvim.command(command)
    assert [":AgentIde start" in message for message in desk.told()] == [True, True]


def test_close_all_diffs_is_told(desk: Bed) -> None:
    desk.nvim.command("ClaudeCodeCloseAllDiffs")
    assert desk.nvim.wait_event("close_diffs") == {}


def test_log_opens_the_log(desk: Bed) -> None:
    desk.nvim.command("AgentIde log")
    assert "nothing has been logged yet" in desk.told()[0]
    desk.nvim.lua("require('agent_ide.log').error('a %s line', 'first')")
    desk.nvim.command("AgentIde log")
    assert "a first line" in desk.nvim.eval("getline('$')")
    assert desk.nvim.eval("&readonly") == 1


# -- verdicts ----------------------------------------------------------------------------


def show(desk: Bed, review: dict[str, Any]) -> None:
    """Open the diff of a review: old text "old", proposal "new"."""
    path = desk.project / Path(review["path"]).name
    path.write_text("old\n")
    names = ("id", "agent", "tab_name", "is_new")
    call = {name: review[name] for name in names}
    desk.nvim.call("review.show", {**call, "path": str(path), "text": "new\n"})


def verdicts(desk: Bed) -> list[tuple[int, str]]:
    return [(payload["id"], payload["event"]) for payload in desk.nvim.named("review")]


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("ClaudeCodeDiffAccept", "accept"),
        ("ClaudeCodeDiffDeny", "reject"),
        ("AgentIde accept", "accept"),
        ("AgentIde reject", "reject"),
    ],
)
def test_a_verdict_counts_with_what_the_user_changed(desk: Bed, command: str, verdict: str) -> None:
    push_status(desk.nvim, reviews=[REVIEW])
    show(desk, REVIEW)
    desk.nvim.lua("require('agent_ide.diff').focus(1)")
    desk.nvim.feed("Anew and mine<Esc>")
    desk.nvim.command("wincmd t")
    desk.nvim.command(command)
    sent = desk.nvim.wait_event("review")
    assert sent["event"] == verdict
    if verdict == "accept":
        assert sent["text"] == "newnew and mine\n"
    assert desk.nvim.named(verdict) == []


def test_a_review_without_a_view_is_settled_by_the_host(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[{**REVIEW, "state": "hidden"}])
    desk.nvim.command("ClaudeCodeDiffDeny")
    assert desk.nvim.wait_event("reject") == {"id": 1}


def test_a_name_chooses_the_review(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[REVIEW, OTHER])
    show(desk, REVIEW)
    show(desk, OTHER)
    desk.nvim.command("AgentIde accept edit of b.txt")
    desk.nvim.wait_event("review")
    assert verdicts(desk) == [(2, "accept")]
    desk.nvim.command("AgentIde accept edit of c.txt")
    assert "no open diff is called edit of c.txt" in desk.told()[-1]


def test_the_review_under_the_cursor_is_meant(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[REVIEW, OTHER])
    show(desk, REVIEW)
    show(desk, OTHER)
    desk.nvim.lua("require('agent_ide.diff').focus(1)")
    desk.nvim.command("ClaudeCodeDiffAccept")
    desk.nvim.wait_event("review")
    assert verdicts(desk) == [(1, "accept")]


def test_a_queued_review_is_not_mistaken_for_the_shown_one(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[{**REVIEW, "state": "queued"}, OTHER])
    show(desk, OTHER)
    desk.nvim.command("tabnew")
    desk.nvim.command("ClaudeCodeDiffAccept")
    desk.nvim.wait_event("review")
    assert verdicts(desk) == [(2, "accept")]


def test_where_it_is_not_clear_the_user_is_asked(desk: Bed) -> None:
    desk.nvim.lua(PICK, 2)
    push_status(desk.nvim, reviews=[REVIEW, OTHER])
    show(desk, REVIEW)
    show(desk, OTHER)
    desk.nvim.command("tabnew")
    desk.nvim.command("ClaudeCodeDiffAccept")
    desk.nvim.wait_event("review")
    assert desk.nvim.lua("return _G.offered") == [
        "pending: /p/a.txt (Claude Code)",
        "pending: /p/b.txt (Claude Code)",
    ]
    assert verdicts(desk) == [(2, "accept")]


def test_a_verdict_without_a_diff_is_told(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[{**REVIEW, "state": "accepted"}])
    desk.nvim.command("ClaudeCodeDiffAccept")
    assert "no diff awaits a verdict" in desk.told()[0]


def test_diffs_says_whose_they_are_and_goes_there(desk: Bed) -> None:
    desk.nvim.command("AgentIde diffs")
    assert "no diff is open" in desk.told()[0]
    desk.nvim.lua(PICK, 2)
    gone = {**OTHER, "state": "accepted", "client_gone": True}
    push_status(desk.nvim, reviews=[REVIEW, gone])
    desk.nvim.command("AgentIde diffs")
    assert desk.nvim.lua("return _G.offered") == [
        "pending: /p/a.txt (Claude Code)",
        "accepted: /p/b.txt (Claude Code, which is gone)",
    ]
    assert "has no window" in desk.told()[1]
    show(desk, OTHER)
    desk.nvim.command("wincmd t")
    desk.nvim.command("AgentIde diffs")
    assert desk.nvim.eval("b:agent_ide_review") == 2


# -- models ------------------------------------------------------------------------------


def test_a_model_is_given_to_the_start_and_typed_into_a_running_cli(desk: Bed) -> None:
    desk.nvim.lua(PICK, 2)
    desk.nvim.command("ClaudeCodeSelectModel")
    assert desk.cli.started()["argv"] == ["--permission-mode", "manual", "--model", "opus"]
    wait_until(desk.in_terminal, "the terminal")
    desk.nvim.command("ClaudeCodeSelectModel")
    expected = b"\x1b[200~/model opus\x1b[201~\r"
    wait_until(lambda: desk.cli.typed() == expected, "the model's name")


# -- status ------------------------------------------------------------------------------


def test_status_is_a_window_that_follows_changes_and_q_closes(desk: Bed) -> None:
    desk.nvim.command("ClaudeCodeStatus")
    assert "Claude Code  at 127.0.0.1:12345" in desk.nvim.wait_screen("Host: running")
    assert desk.nvim.api.api.get_mode() == {"mode": "n", "blocking": False}
    gone = {**OTHER, "state": "accepted", "client_gone": True}
    client = {**CLIENT, "pid": 42, "cwd": "/p"}
    push_status(desk.nvim, clients=[client], reviews=[REVIEW, gone], kernel="python3")
    shown = desk.nvim.wait_screen("Notebook kernel: python3")
    assert "claude-1  claude-code 2.1.332  pid 42  /p" in shown
    assert "pending  /p/a.txt  from claude-1" in shown
    assert "accepted  /p/b.txt  from claude-1 (gone)" in shown
    desk.nvim.feed("q")
    assert desk.nvim.eval("winnr('$')") == 1
    push_status(desk.nvim)


def test_leaving_the_status_window_closes_it(desk: Bed) -> None:
    desk.nvim.command("AgentIde status")
    desk.nvim.command("wincmd p")
    wait_until(lambda: desk.nvim.eval("winnr('$')") == 1, "its end")
    desk.nvim.command("AgentIde")
    desk.nvim.command("AgentIde status")
    floats = "filter(nvim_list_wins(), 'nvim_win_get_config(v:val).relative != \"\"')"
    assert len(desk.nvim.eval(floats)) == 1


def test_status_without_a_host_names_the_cure(desk: Bed) -> None:
    desk.nvim.lua("require('agent_ide.rpc').detach()")
    desk.nvim.command("AgentIde status")
    assert ":AgentIde start" in desk.nvim.wait_screen("not running")


def test_the_statusline_says_who_is_connected_and_what_waits(desk: Bed) -> None:
    def text() -> str:
        return str(desk.nvim.lua("return require('agent_ide').statusline()"))

    assert text() == ""
    push_status(desk.nvim, clients=[CLIENT])
    assert text() == "Claude Code"
    accepted = {**OTHER, "state": "accepted"}
    push_status(desk.nvim, clients=[CLIENT], reviews=[REVIEW, accepted])
    assert text() == "Claude Code, 1 diff"
    push_status(desk.nvim, clients=[CLIENT, {**CLIENT, "id": "claude-2"}], reviews=[REVIEW, OTHER])
    assert text() == "Claude Code x2, 2 diffs"


def test_status_gives_a_copy(desk: Bed) -> None:
    code = """
    require("agent_ide").status().servers[1].title = "changed"
    return require("agent_ide").status().servers[1].title
    """
    assert desk.nvim.lua(code) == SERVER["title"]


# -- health ------------------------------------------------------------------------------


def health(nvim: Neovim) -> str:
    nvim.command("checkhealth agent_ide")
    return "\n".join(nvim.api.current.buffer[:])


def test_health_finds_what_is_there(desk: Bed) -> None:
    lock = desk.project / "1.lock"
    lock.write_text("")
    lock.chmod(0o600)
    open_lock = desk.project / "2.lock"
    open_lock.write_text("")
    open_lock.chmod(0o644)
    server = {**SERVER, "files": [str(lock), str(open_lock)]}
    push_status(desk.nvim, servers=[server], clients=[CLIENT])
    report = health(desk.nvim)
    assert "OK Neovim" in report
    assert "OK Claude Code is served at 127.0.0.1:12345" in report
    assert f"OK {lock} is private" in report
    assert f"ERROR {open_lock} has mode 0644" in report
    assert f"chmod 600 {open_lock}" in report
    assert "OK connected: claude-code 2.1.332" in report
    assert "OK 9.9.9 (Stand-in)" in report
    assert "Error" not in report


def test_health_names_the_cures(tmp_path: Path) -> None:
    wrong = {"claude": {"command": "no-such-claude"}, "python": "/no/python", "zzz": 1}
    with bed(tmp_path, wrong) as desk:
        push_status(desk.nvim, servers=[])
        report = health(desk.nvim)
    assert 'WARNING there is no program "no-such-claude"' in report
    assert "npm install" in report
    assert "mend the option python" in report
    assert "unknown option zzz" in report
    assert ":AgentIde start" in report


def test_health_reads_the_versions_of_the_packages(tmp_path: Path) -> None:
    with bed(tmp_path, {"python": sys.executable}) as desk:
        report = health(desk.nvim)
    assert re.search(r"OK Python 3\.\d+\.\d+, pynvim \S+, websockets \S+, aiohttp", report)


# -- leaving -----------------------------------------------------------------------------


def test_leaving_without_ever_using_it_is_silent(tmp_path: Path) -> None:
    argv = [find_nvim(), "--clean", "-n", "--headless", "--cmd", f"set rtp^={REPO}"]
    argv += ["--cmd", "let g:agent_ide = {'auto_start': v:false}", "+qa"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
