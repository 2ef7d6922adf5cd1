"""The agents' terminals: start, environment, hiding and showing, the end of a CLI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import push_status
from tests.support.neovim import wait_until

from .bed import Bed, bed


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def test_the_first_toggle_starts_the_cli_in_a_split_and_goes_there(desk: Bed) -> None:
    desk.nvim.command("ClaudeCode --resume abc")
    started = desk.cli.started()
    assert started["argv"] == ["--permission-mode", "manual", "--resume", "abc"]
    assert started["cwd"] == str(desk.project)
    wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
    assert desk.in_terminal()
    assert desk.nvim.eval("winnr('$')") == 2
    assert desk.nvim.eval("winwidth(0)") == 35
    assert desk.nvim.eval("winnr()") == 2
    assert desk.told() == []


def test_the_environment_leads_to_this_neovim_and_nowhere_else(tmp_path: Path) -> None:
    outer = {"TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1", "NO_PROXY": "corp,localhost"}
    with bed(tmp_path, {"claude": {"env": {"MINE": "1"}}}, env=outer) as desk:
        desk.open_agent()
        env = desk.cli.started()["env"]
        assert env["CLAUDE_CODE_SSE_PORT"] == "12345"
        assert env["ENABLE_IDE_INTEGRATION"] == "true"
        assert env["MINE"] == "1"
        assert "TERM_PROGRAM" not in env
        assert "TERM_PROGRAM_VERSION" not in env
        assert env["NO_PROXY"] == env["no_proxy"] == "corp,localhost,127.0.0.1,::1"
        # Neovim's own is as it was
        assert desk.nvim.eval("$TERM_PROGRAM") == "vscode"
        assert desk.nvim.eval("$NO_PROXY") == "corp,localhost"


@pytest.mark.parametrize(
    ("side", "layout"),
    [
        ("right", ["row", "file", "agent"]),
        ("left", ["row", "agent", "file"]),
        ("top", ["col", "agent", "file"]),
        ("bottom", ["col", "file", "agent"]),
    ],
)
def test_the_side_is_an_option(tmp_path: Path, side: str, layout: list[str]) -> None:
    with bed(tmp_path, {"terminal": {"side": side, "size": 0.5}}) as desk:
        desk.open_agent()
        kind, leaves = desk.nvim.eval("winlayout()")
        terminals = desk.terminal_windows()
        names = ["agent" if win in terminals else "file" for _, win in leaves]
        assert [kind, *names] == layout
        size = desk.nvim.eval("winwidth(0)" if kind == "row" else "winheight(0)")
        assert size == (50 if kind == "row" else 15)


def test_hiding_keeps_the_cli_and_showing_restores_the_mode(desk: Bed) -> None:
    path = desk.edit("a.txt", "one\ntwo\nthree\n")
    desk.nvim.command("call cursor(2, 2)")
    desk.open_agent()
    buf = desk.terminal_buffer()
    desk.nvim.command("ClaudeCode")
    assert desk.terminal_windows() == []
    assert desk.cli.alive()
    assert desk.nvim.eval("expand('%:p')") == str(path)
    assert desk.nvim.eval("getpos('.')[1:2]") == [2, 2]
    assert desk.nvim.mode() == "n"
    desk.nvim.command("ClaudeCode")
    assert desk.terminal_buffer() == buf
    wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
    assert desk.cli.asked().count("--permission-mode manual") == 1


def test_toggling_from_a_file_does_not_move_the_cursor(desk: Bed) -> None:
    desk.edit("a.txt", "one\ntwo\nthree\n")
    desk.open_agent()
    desk.nvim.command("wincmd p")
    desk.nvim.command("call cursor(3, 1)")
    before = desk.nvim.eval("[win_getid(), getpos('.')]")
    for shown in (0, 1, 0, 1):
        desk.nvim.command("ClaudeCode")
        assert len(desk.terminal_windows()) == shown
        assert desk.nvim.eval("[win_getid(), getpos('.')]") == before
        assert desk.nvim.mode() == "n"


def test_hiding_gives_the_other_windows_their_sizes_back(desk: Bed) -> None:
    desk.nvim.command("vsplit | vertical resize 20 | split | resize 5")
    before = desk.nvim.eval("winrestcmd()")
    desk.open_agent()
    desk.nvim.command("ClaudeCode")
    assert desk.nvim.eval("winrestcmd()") == before
    desk.nvim.command("ClaudeCode")
    wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
    desk.nvim.feed("exit0")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    assert desk.nvim.eval("winrestcmd()") == before


def test_in_the_command_line_window_nothing_breaks(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("wincmd p")
    desk.nvim.feed("q:")
    wait_until(lambda: desk.nvim.eval("getcmdwintype()") == ":", "the command-line window")
    for command in ("ClaudeCode", "ClaudeCodeOpen", "ClaudeCodeClose"):
        desk.nvim.command(command)
    assert ["command-line window" in message for message in desk.told()] == [True] * 3
    desk.nvim.lua("require('agent_ide.terminal').write('claude', 'exit0')")
    wait_until(lambda: not desk.nvim.lua("return require('agent_ide.terminal').running('claude')"))
    desk.nvim.feed(":q<CR>")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    assert desk.nvim.eval("winnr('$')") == 1


def test_showing_restores_a_terminal_that_was_scrolled_back(desk: Bed) -> None:
    desk.open_agent()
    # the pty echoes nothing: the job's output comes from Neovim writing into the terminal
    chan = desk.nvim.lua("return vim.bo.channel")
    desk.nvim.lua("vim.api.nvim_chan_send(..., ('x\\r\\n'):rep(3))", chan)
    desk.nvim.feed("<C-\\><C-n>")
    wait_until(lambda: desk.nvim.mode() == "nt", "normal mode")
    # the CLI's first line comes when it has started
    wait_until(lambda: len(desk.nvim.eval("getline(1)")) >= 3, "the CLI's output")
    desk.nvim.command("call cursor(1, 3)")
    desk.nvim.command("ClaudeCode")
    desk.nvim.command("ClaudeCode")
    assert desk.in_terminal()
    assert desk.nvim.mode() == "nt"
    assert desk.nvim.eval("getpos('.')[1:2]") == [1, 3]


def test_close_hides_and_focus_goes_there(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.command("ClaudeCodeClose")
    assert desk.terminal_windows() == []
    assert desk.cli.alive()
    desk.nvim.command("ClaudeCodeFocus")
    assert desk.in_terminal()
    wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")


def test_auto_insert_is_an_option(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"auto_insert": False}}) as desk:
        desk.nvim.command("ClaudeCodeOpen")
        desk.cli.started()
        wait_until(desk.in_terminal, "the terminal")
        assert desk.nvim.mode() == "nt"


def test_a_cli_that_ends_takes_its_window_along(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.feed("exit0")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    assert desk.nvim.eval("winnr('$')") == 1
    assert desk.nvim.mode() == "n"
    assert desk.told() == []


def test_a_failure_is_told_with_the_last_words_and_the_cure(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.feed("exit3")
    message = desk.wait_told("exit code 3")
    assert "the last words" in message
    assert ":ClaudeCode starts it again" in message
    assert desk.terminal_buffer() == 0
    desk.cli.forget()
    desk.open_agent()


def test_the_only_window_is_not_closed_but_given_another_buffer(desk: Bed) -> None:
    path = desk.edit("a.txt", "one\n")
    desk.open_agent()
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("only")
    desk.nvim.command("ClaudeCodeClose")
    assert desk.nvim.eval("winnr('$')") == 1
    assert desk.terminal_windows() == []
    assert desk.nvim.eval("expand('%:p')") in (str(path), "")
    desk.nvim.command("ClaudeCodeOpen")
    wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("only | startinsert")
    desk.nvim.feed("exit0")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    assert desk.nvim.eval("winnr('$')") == 1


def test_a_missing_program_is_one_line_with_the_cure(tmp_path: Path) -> None:
    with bed(tmp_path, {"claude": {"command": "no-such-claude"}}) as desk:
        desk.nvim.command("ClaudeCode")
        (message,) = desk.told()
        assert '"no-such-claude"' in message
        assert "npm install" in message
        assert "claude.command" in message
        assert desk.nvim.eval("winnr('$')") == 1


@pytest.mark.parametrize(
    ("help_text", "expected"),
    [
        (
            '--permission-mode <mode>  (choices: "acceptEdits",\n   "default")\n  --x "manual"\n',
            "default",
        ),
        ("--model <model>\n", ""),
        ('--permission-mode <mode>  (choices: "auto")\n  -p  "default" "manual"\n', ""),
    ],
)
def test_the_asking_mode_is_read_from_the_help(
    tmp_path: Path, help_text: str, expected: str
) -> None:
    with bed(tmp_path) as desk:
        (desk.cli.folder / "help").write_text("Options:\n  " + help_text)
        desk.open_agent()
        argv = ["--permission-mode", expected] if expected else []
        assert desk.cli.started()["argv"] == argv


@pytest.mark.parametrize("typed", ["--permission-mode plan", "--permission-mode=plan"])
def test_the_users_own_permission_mode_wins(desk: Bed, typed: str) -> None:
    desk.nvim.command(f"ClaudeCode {typed}")
    assert desk.cli.started()["argv"] == typed.split()
    assert desk.cli.asked() == [typed]


def test_options_can_choose_the_mode_or_none(tmp_path: Path) -> None:
    with bed(tmp_path, {"claude": {"args": ["-c"], "ask_permission": False}}) as desk:
        desk.nvim.command("ClaudeCode x")
        assert desk.cli.started()["argv"] == ["-c", "x"]


def test_the_help_is_asked_once_per_binary(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.feed("exit0")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    (desk.cli.folder / "started").unlink()
    desk.open_agent()
    assert desk.cli.asked().count("--help") == 1
    desk.nvim.feed("exit0")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    desk.cli.path.write_text(desk.cli.path.read_text() + "\n# an update\n")
    desk.cli.forget()
    desk.open_agent()
    assert desk.cli.asked().count("--help") == 1


def test_the_start_waits_for_the_server_without_blocking(desk: Bed) -> None:
    push_status(desk.nvim, servers=[])
    desk.nvim.command("ClaudeCode")
    assert desk.terminal_buffer() == 0
    assert desk.nvim.eval("1 + 1") == 2
    push_status(desk.nvim)
    assert desk.cli.started()["env"]["CLAUDE_CODE_SSE_PORT"] == "12345"
    wait_until(desk.in_terminal, "the cursor in the terminal")


def test_without_a_host_that_can_start_the_cli_starts_unconnected(tmp_path: Path) -> None:
    options = {"install": "never", "python": str(tmp_path / "no-python")}
    with bed(tmp_path, options) as desk:
        desk.nvim.lua("require('agent_ide.rpc').detach()")
        desk.nvim.command("ClaudeCode")
        assert desk.cli.started()["argv"] == ["--permission-mode", "manual"]
        assert ":checkhealth agent_ide" in desk.wait_told("starts without a connection")
        assert desk.wait_told("no-python")


def test_a_user_who_went_elsewhere_meanwhile_keeps_the_cursor(desk: Bed) -> None:
    push_status(desk.nvim, servers=[])
    desk.nvim.command("ClaudeCode")
    desk.nvim.feed("ihello")
    push_status(desk.nvim)
    desk.cli.started()
    assert len(desk.terminal_windows()) == 1
    assert desk.nvim.mode() == "i"
    desk.nvim.feed(" world")
    assert desk.nvim.eval("getline(1)") == "hello world"


def test_a_second_toggle_takes_the_wish_back(desk: Bed) -> None:
    push_status(desk.nvim, servers=[])
    desk.nvim.command("ClaudeCode")
    desk.nvim.command("ClaudeCode")
    push_status(desk.nvim)
    desk.nvim.lua("vim.wait(50)")
    assert desk.terminal_buffer() == 0
    assert "--permission-mode manual" not in desk.cli.asked()


def test_a_server_that_failed_is_told_and_the_cli_runs_all_the_same(desk: Bed) -> None:
    failed = {"agent": "claude", "title": "Claude Code", "address": "", "files": [], "env": {}}
    push_status(desk.nvim, servers=[{**failed, "error": "no port is free"}])
    desk.nvim.command("ClaudeCode")
    desk.cli.started()
    assert "no port is free" in desk.wait_told("without a connection")


def test_stop_ends_the_cli_without_a_complaint(desk: Bed) -> None:
    desk.open_agent()
    pid = desk.cli.started()["pid"]
    assert desk.nvim.lua("return require('agent_ide.terminal').pid('claude')") == pid
    assert desk.nvim.lua("return require('agent_ide.terminal').stop('claude')")
    wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
    assert desk.told() == []
    assert desk.nvim.lua("return require('agent_ide.terminal').pid('claude')") is None


def test_arguments_for_a_running_cli_are_not_swallowed_silently(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.command("ClaudeCodeOpen --resume")
    assert "running already" in desk.wait_told("next start")


def test_the_terminal_shows_in_each_tab_page_by_itself(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("tabnew")
    desk.nvim.command("ClaudeCode")
    assert len(desk.terminal_windows()) == 2
    desk.nvim.command("ClaudeCodeClose")
    assert len(desk.terminal_windows()) == 1
    assert desk.nvim.eval("tabpagenr()") == 2
