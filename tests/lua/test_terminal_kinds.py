"""Where terminals run: floats, other programs, the user's own functions; several of one agent."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import push_status
from tests.support.neovim import wait_until
from tests.support.plugins import use_plugins

from .bed import Bed, bed

OWN_PROVIDER = """
_G.calls = {}
local function note(name)
  return function(handle, more)
    table.insert(_G.calls, { name, handle, more })
    return name == "write"
  end
end
require("agent_ide").setup({ terminal = { provider = {
  start = function(request)
    _G.request = request
    return "mine"
  end,
  show = note("show"),
  visible = function() return _G.shown == true end,
  hide = note("hide"),
  write = note("write"),
} } })
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def windows_of_terminals(desk: Bed) -> list[str]:
    code = """
    local names = {}
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local buf = vim.api.nvim_win_get_buf(win)
      table.insert(names, vim.b[buf].agent_ide_terminal_title)
    end
    table.sort(names)
    return names
    """
    return list(desk.nvim.lua(code))


# -- floats --------------------------------------------------------------------------------------


def test_a_float_is_hidden_and_shown_as_it_was(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"side": "float", "border": "single"}}) as desk:
        path = desk.edit("a.txt", "one\n")
        desk.open_agent()
        config = desk.nvim.lua("return vim.api.nvim_win_get_config(0)")
        assert config["relative"] == "editor"
        assert (config["width"], config["height"]) == (83, 22)
        assert config["title"][0][0] == " Claude Code "
        desk.nvim.lua("vim.o.columns = 60")
        assert desk.nvim.eval("winwidth(0)") == 49
        desk.nvim.command("ClaudeCode")
        assert desk.terminal_windows() == []
        assert desk.nvim.eval("expand('%:p')") == str(path)
        assert desk.cli.alive()
        desk.nvim.command("ClaudeCode")
        wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
        desk.nvim.feed("exit0")
        wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
        assert desk.nvim.eval("winnr('$')") == 1


# -- several -------------------------------------------------------------------------------------


def test_terminals_by_name_are_apart(desk: Bed) -> None:
    desk.open_agent()
    desk.cli.forget()
    desk.nvim.command("ClaudeCode name=refactor --resume")
    started = desk.cli.started()
    assert started["argv"] == ["--permission-mode", "manual", "--resume"]
    wait_until(lambda: len(windows_of_terminals(desk)) == 2, "two terminals")
    assert windows_of_terminals(desk) == ["Claude Code", "Claude Code: refactor"]
    # what is sent goes to the one that was used last
    assert desk.nvim.lua("return require('agent_ide.terminal').pid('claude')") == started["pid"]
    names = desk.nvim.lua("return vim.fn.getcompletion('ClaudeCode ', 'cmdline')")
    assert names == ["name=refactor"]
    desk.nvim.command("ClaudeCodeClose name=refactor")
    assert windows_of_terminals(desk) == ["Claude Code"]
    desk.nvim.command("ClaudeCodeFocus")
    assert desk.nvim.lua("return require('agent_ide.terminal').pid('claude')") != started["pid"]
    desk.nvim.command("ClaudeCode")
    desk.nvim.command("ClaudeCode name=refactor")
    assert windows_of_terminals(desk) == ["Claude Code: refactor"]


def test_terminals_per_tab_page(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"per_tab": True}}) as desk:
        desk.open_agent()
        first = desk.cli.started()["pid"]
        desk.nvim.feed("<C-\\><C-n>")
        desk.nvim.command("tabnew")
        desk.cli.forget()
        desk.open_agent()
        second = desk.cli.started()["pid"]
        assert second != first
        desk.nvim.feed("<C-\\><C-n>")
        desk.nvim.command("ClaudeCode")
        assert windows_of_terminals(desk) == []
        desk.nvim.command("tabclose")
        assert windows_of_terminals(desk) == ["Claude Code"]
        # one whose tab page is gone is taken over by the next that wants one
        desk.nvim.command("tabnew | tabfirst | tabclose")
        desk.nvim.command("ClaudeCodeOpen")
        assert windows_of_terminals(desk) == ["Claude Code"]
        assert desk.nvim.lua("return #require('agent_ide.terminal.sessions').list()") == 2


# -- working directory ---------------------------------------------------------------------------


def test_the_working_directory_can_be_the_git_root(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"cwd": "git"}}) as desk:
        (desk.project / ".git").mkdir()
        (desk.project / "deep/er").mkdir(parents=True)
        desk.edit("deep/er/a.txt", "one\n")
        desk.nvim.command("cd deep")
        desk.nvim.command("ClaudeCode")
        assert desk.cli.started()["cwd"] == str(desk.project)


@pytest.mark.parametrize(("body", "fine"), [("return ...", True), ("error('x')", False)])
def test_the_working_directory_can_be_a_function(desk: Bed, body: str, fine: bool) -> None:
    (desk.project / "claude").mkdir()
    code = "require('agent_ide').setup({ terminal = { cwd = function(...) %s end } })"
    command = f"claude = {{ command = {json.dumps(desk.cli.command)} }}"
    desk.nvim.lua((code % body).replace("terminal =", f"{command}, terminal ="))
    desk.nvim.command("ClaudeCode name=b")
    cwd = desk.cli.started()["cwd"]
    if fine:
        assert cwd == str(desk.project / "claude")
        assert desk.told() == []
    else:
        assert cwd == str(desk.project)
        assert "terminal.cwd failed" in desk.wait_told("Neovim's own")


# -- other programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["string", "placed", "list", "function"])
def test_an_external_program_gets_the_command_line(tmp_path: Path, kind: str) -> None:
    emulator = tmp_path / "emulator"
    seen = tmp_path / "seen"
    emulator.write_text(f"#!/bin/sh\npwd > {seen}.cwd\nprintf '%s\\n' \"$@\" > {seen}\nsleep 60\n")
    emulator.chmod(0o755)
    wanted = {
        "string": f"{emulator} -e",
        "placed": f"{emulator} -d {{cwd}} -e {{command}}",
        "list": [str(emulator), "-e"],
        "function": None,
    }[kind]
    outer = {"TERM_PROGRAM": "vscode"}
    with bed(tmp_path, {"terminal": {"provider": "external"}}, env=outer) as desk:
        lua = (
            f"function(argv) return vim.list_extend({{ '{emulator}', '-e' }}, argv) end"
            if kind == "function"
            else f"vim.json.decode([==[{json.dumps(wanted)}]==])"
        )
        desk.nvim.lua(
            "local mine = vim.g.agent_ide; mine.terminal.external = nil; vim.g.agent_ide = mine\n"
            f"require('agent_ide').setup({{ terminal = {{ external = {lua} }} }})"
        )
        desk.nvim.command("ClaudeCode --resume")
        words = wait_until(
            lambda: seen.read_text().splitlines() if seen.exists() else [], "the command line"
        )
        assert (tmp_path / "seen.cwd").read_text().strip() == str(desk.project)
        if kind == "placed":
            assert words[:2] == ["-d", str(desk.project)]
            words = words[2:]
        assert words[:6] == ["-e", "env", "-u", "TERM_PROGRAM", "-u", "TERM_PROGRAM_VERSION"]
        assert "CLAUDE_CODE_SSE_PORT=12345" in words
        command = words.index(desk.cli.command)
        assert words[command + 1 :] == ["--permission-mode", "manual", "--resume"]
        desk.nvim.command("ClaudeCode")
        assert "cannot show or hide" in desk.wait_told("runs in a window")
        # a text cannot be typed there
        desk.nvim.command("ClaudeCodeSendText hello")
        assert desk.nvim.lua("return require('agent_ide.terminal').stop('claude')")


def test_an_external_program_that_fails_is_told(tmp_path: Path) -> None:
    terminal = {"provider": "external", "external": "echo no display >&2; exit 3; :"}
    with bed(tmp_path, {"terminal": terminal}) as desk:
        desk.nvim.command("ClaudeCode")
        assert "(no display)" in desk.wait_told("exit code 3")
    missing = {"provider": "external", "external": ["no-such-emulator"]}
    (tmp_path / "b").mkdir()
    with bed(tmp_path / "b", {"terminal": missing}) as desk:
        desk.nvim.command("ClaudeCode")
        assert "did not start" in desk.wait_told("no-such-emulator")


def test_none_says_how_to_start_it(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"provider": "none"}}) as desk:
        desk.nvim.command("ClaudeCode")
        assert ":AgentIde env" in desk.wait_told("a terminal of yours")
        desk.edit("a.txt", "one\n")
        desk.nvim.command("ClaudeCodeSend")
        client = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2"}
        push_status(desk.nvim, clients=[client])
        desk.nvim.wait_event("mention")
        assert len(desk.told()) == 1


def test_a_provider_of_ones_own(desk: Bed) -> None:
    code = OWN_PROVIDER.replace(
        "{ terminal", f"{{ claude = {{ command = {json.dumps(desk.cli.command)} }}, terminal"
    )
    desk.nvim.lua(code)
    desk.nvim.command("ClaudeCode name=x --resume")
    code = "return { _G.request.name, _G.request.argv, _G.request.cwd, _G.request.focus }"
    name, argv, cwd, focus = wait_until(
        lambda: desk.nvim.lua(f"if _G.request then {code} end"), "the start"
    )
    assert (name, cwd, focus) == ("x", str(desk.project), True)
    assert argv == [desk.cli.command, "--permission-mode", "manual", "--resume"]
    desk.nvim.command("ClaudeCode name=x")
    desk.nvim.command("ClaudeCodeOpen name=x")
    desk.nvim.lua("_G.shown = true")
    desk.nvim.command("ClaudeCode name=x")
    desk.nvim.command("ClaudeCodeSendText hello")
    calls = desk.nvim.lua("return _G.calls")
    assert calls[:3] == [
        ["show", "mine", "as_before"],
        ["show", "mine", "take"],
        ["hide", "mine"],
    ]
    assert calls[3:] == [
        ["show", "mine", "keep"],
        ["write", "mine", "\x1b[200~hello\x1b[201~"],
    ]
    desk.nvim.lua("_G.request.on_exit(2, 'oh')")
    assert "(oh)" in desk.wait_told("exit code 2")
    assert not desk.nvim.lua("return require('agent_ide.terminal').running('claude')")


def test_a_provider_that_raises_is_told_once_and_logged(desk: Bed) -> None:
    code = "{ claude = { command = 'true' }, terminal = { provider = { %s } } }"
    start = "start = function() return 1 end, show = function() error('broken') end"
    desk.nvim.lua(f"require('agent_ide').setup({code % start})")
    desk.nvim.command("ClaudeCode")
    wait_until(lambda: desk.nvim.lua("return require('agent_ide.terminal').running('claude')"))
    desk.nvim.command("ClaudeCode")
    assert ":AgentIde log" in desk.wait_told("provider failed in show")


# -- the environment for a terminal outside ------------------------------------------------------


def test_env_prints_what_a_shell_outside_needs(desk: Bed) -> None:
    text = desk.nvim.lua("return vim.api.nvim_exec2('AgentIde env', { output = true }).output")
    shell = ["sh", "-c", f'{text}\necho "$CLAUDE_CODE_SSE_PORT/$no_proxy/${{TERM_PROGRAM-gone}}"']
    outer = {"TERM_PROGRAM": "vscode", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(shell, capture_output=True, text=True, env=outer, check=True)
    assert done.stdout.strip() == "12345/127.0.0.1,localhost,::1/gone"
    fish = desk.nvim.lua("return require('agent_ide').env('fish')")
    assert "set -gx CLAUDE_CODE_SSE_PORT '12345'" in fish.splitlines()
    told = json.loads(desk.nvim.lua("return require('agent_ide').env('json')"))
    assert told["env"]["ENABLE_IDE_INTEGRATION"] == "true"
    assert told["unset"] == ["TERM_PROGRAM", "TERM_PROGRAM_VERSION"]
    desk.nvim.command("AgentIde env csh")
    assert "fish, json, sh" in desk.wait_told("expected one of")
    assert desk.nvim.lua("return vim.fn.getcompletion('AgentIde env ', 'cmdline')") == [
        "fish",
        "json",
        "sh",
    ]
    assert shlex.split(text)  # it is one that a shell can read


# -- keys and pastes -----------------------------------------------------------------------------


def test_shift_enter_is_a_line_break(desk: Bed) -> None:
    desk.open_agent()
    desk.nvim.feed("a<S-CR>b<CR>")
    wait_until(lambda: desk.cli.typed() == b"a\x1b\rb\r", "the keys")


def test_window_keys_leave_the_terminal_and_come_back_to_its_mode(desk: Bed) -> None:
    desk.edit("a.txt", "one\n")
    desk.open_agent()
    desk.nvim.feed("<M-l>")
    assert desk.in_terminal()
    assert desk.nvim.mode() == "t"
    desk.nvim.feed("<M-h>")
    assert not desk.in_terminal()
    assert desk.nvim.mode() == "n"
    desk.nvim.command("wincmd l")
    wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")


def test_a_map_of_the_users_own_and_false_win(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"keys": {"newline": False}}}) as desk:
        desk.nvim.command("tnoremap <M-h> mine")
        desk.open_agent()
        desk.nvim.feed("<M-h>")
        wait_until(lambda: desk.cli.typed() == b"mine", "the map")
        assert not desk.nvim.eval("maparg('<S-CR>', 't')")


def test_a_large_paste_arrives_whole(desk: Bed) -> None:
    desk.open_agent()
    wait_until(lambda: "stand-in ready" in desk.nvim.screen_text(), "bracketed paste")
    lines = [f"line {number} {'x' * 60}" for number in range(20000)]
    text = "\n".join(lines)
    chunks = [text[at : at + 60000] for at in range(0, len(text), 60000)]
    for number, chunk in enumerate(chunks):
        phase = 1 if number == 0 else 3 if number == len(chunks) - 1 else 2
        assert desk.nvim.api.api.paste(chunk, True, phase)
    expected = text.replace("\n", "\r").encode()

    def arrived() -> bytes:
        typed = desk.cli.typed().replace(b"\n", b"\r")
        return typed if typed.endswith(b"\x1b[201~") else b""

    typed = wait_until(arrived, "the whole paste", 30)
    assert typed == b"\x1b[200~" + expected + b"\x1b[201~"
    # and elsewhere a paste is what it was
    desk.nvim.feed("<C-\\><C-n>")
    desk.nvim.command("wincmd p")
    for phase, chunk in ((1, "a"), (2, "b\n"), (3, "c")):
        desk.nvim.api.api.paste(chunk, True, phase)
    assert desk.nvim.eval("getline(1, '$')") == ["ab", "c"]


# -- snacks.nvim ---------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["right", "float"])
def test_a_window_of_snacks(tmp_path: Path, side: str) -> None:
    terminal = {"provider": "auto", "side": side, "snacks": {"width": 0.5}}
    with bed(tmp_path, {"terminal": terminal}) as desk:
        use_plugins(desk.nvim, "snacks.nvim")
        path = desk.edit("a.txt", "one\n")
        desk.open_agent()
        assert desk.nvim.eval("exists('w:snacks_win')")
        assert abs(desk.nvim.eval("winwidth(0)") - 50) <= 2
        for _ in range(2):
            desk.nvim.command("ClaudeCode")
            assert desk.terminal_windows() == []
            assert desk.nvim.eval("expand('%:p')") == str(path)
            assert desk.cli.alive()
            desk.nvim.command("ClaudeCode")
            wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
        # its own key hides it, too
        desk.nvim.feed("<C-\\><C-n>q")
        wait_until(lambda: desk.terminal_windows() == [], "the window's end")
        assert desk.cli.alive()
        desk.nvim.command("ClaudeCodeOpen")
        wait_until(lambda: desk.nvim.mode() == "t", "terminal mode")
        desk.nvim.feed("exit0")
        wait_until(lambda: desk.terminal_buffer() == 0, "the end of the terminal")
        assert desk.nvim.eval("winnr('$')") == 1
        assert desk.told() == []


def test_snacks_that_is_missing_is_told_and_replaced(tmp_path: Path) -> None:
    with bed(tmp_path, {"terminal": {"provider": "snacks"}}) as desk:
        desk.open_agent()
        assert "terminal.provider" in desk.wait_told("snacks.nvim is not installed")
