"""Coming from claudecode.nvim: its option names, its Lua functions, both at once; default keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import push_status
from tests.support.neovim import Neovim, wait_until

from .bed import RECORD_MESSAGES, Bed, bed

CLIENT = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path) as nvim:
        nvim.lua(RECORD_MESSAGES)
        yield nvim


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def setup(nvim: Neovim, options: Any) -> Any:
    nvim.lua("require('claudecode').setup(...)", options)
    return nvim.lua("return require('agent_ide.config').get()")


ALL = {
    "auto_start": False,
    "port_range": {"min": 20000, "max": 30000},
    "terminal_cmd": "claude --debug",
    "env": {"A": "1"},
    "log_level": "trace",
    "track_selection": False,
    "focus_after_send": True,
    "visual_demotion_delay_ms": 50,
    "connection_timeout": 1,
    "terminal": {
        "split_side": "left",
        "split_width_percentage": 0.3,
        "provider": "native",
        "auto_close": True,
        "git_repo_cwd": True,
        "snacks_win_opts": {"wo": {"winbar": "x"}},
        "provider_opts": {"external_terminal_cmd": "kitty -e %s"},
    },
    "diff_opts": {"layout": "horizontal", "keep_terminal_focus": True},
    "models": [{"name": "X", "value": "x"}],
}


def test_its_options_are_taken_with_a_note(nvim: Neovim) -> None:
    config = setup(nvim, ALL)
    claude, terminal = config["claude"], config["terminal"]
    assert (claude["port_min"], claude["port_max"]) == (20000, 30000)
    assert claude["command"] == ["claude", "--debug"]
    assert claude["env"] == {"A": "1"}
    assert claude["models"] == [{"name": "X", "value": "x"}]
    assert (terminal["side"], terminal["size"], terminal["cwd"]) == ("left", 0.3, "git")
    assert terminal["external"] == "kitty -e {command}"
    assert terminal["snacks"] == {"wo": {"winbar": "x"}}
    assert (config["diff"]["layout"], config["diff"]["focus"]) == ("horizontal", False)
    assert (config["log_level"], config["auto_start"]) == ("debug", False)
    assert config["focus_after_send"] is True
    (note,) = nvim.lua("return _G.told")
    assert "terminal_cmd is claude.command" in note
    assert "visual_demotion_delay_ms is not needed" in note
    assert ":help agent_ide-claudecode" in note
    assert nvim.lua("return require('agent_ide.config').problems()") == []


def test_names_of_ours_go_over_its_and_wrong_values_are_named(nvim: Neovim) -> None:
    config = setup(nvim, {"terminal": {"split_side": "left", "side": "top"}})
    assert config["terminal"]["side"] == "top"
    setup(nvim, {"terminal": {"split_side": "up"}})
    (problem,) = nvim.lua("return require('agent_ide.config').problems()")
    assert 'terminal.side is "up"' in problem
    # what is ours already is said nothing about
    nvim.lua("_G.told = {}")
    setup(nvim, {"terminal": {"side": "left"}, "zzz": 1})
    (note,) = nvim.lua("return _G.told")
    assert "unknown option zzz" in note
    assert "claudecode" not in note


def test_its_functions_for_folders_and_external_programs(desk: Bed) -> None:
    code = """
    require("claudecode").setup({
      terminal_cmd = ...,
      terminal = {
        cwd_provider = function(ctx) _G.ctx = ctx; return ctx.cwd .. "/sub" end,
        provider = "external",
        provider_opts = { external_terminal_cmd = function(command, env)
          return { "sh", "-c", "true; " .. command .. " < /dev/null" }
        end },
      },
    })
    """
    (desk.project / "sub").mkdir()
    desk.nvim.lua(code, desk.cli.command)
    desk.nvim.command("ClaudeCode")
    wait_until(lambda: any("manual" in line for line in desk.cli.asked()), "the command line")
    assert desk.nvim.lua("return _G.ctx.cwd") == str(desk.project)


def test_its_functions(desk: Bed) -> None:
    assert desk.nvim.lua("return require('claudecode').is_claude_connected()") is False
    push_status(desk.nvim, clients=[CLIENT])
    assert desk.nvim.lua("return require('claudecode').is_claude_connected()") is True
    path = desk.edit("a.txt", "one\ntwo\n")
    assert desk.nvim.lua("return require('claudecode').send_at_mention('a.txt', 0, 1)")
    sent = desk.nvim.wait_event("mention")
    assert (sent["path"], sent["start_line"], sent["end_line"]) == (str(path), 0, 1)
    desk.nvim.lua("require('claudecode.terminal').simple_toggle({}, '--resume')")
    assert "--resume" in desk.cli.started()["argv"]
    wait_until(desk.in_terminal, "the terminal")
    buf = desk.nvim.lua("return require('claudecode.terminal').get_active_terminal_bufnr()")
    assert buf == desk.terminal_buffer()
    desk.nvim.lua("require('claudecode.terminal').focus_toggle()")
    assert desk.terminal_windows() == []
    desk.nvim.lua("require('claudecode.terminal').ensure_visible()")
    assert len(desk.terminal_windows()) == 1


def test_both_at_once_are_told(tmp_path: Path) -> None:
    prepare = tmp_path / "prepare.lua"
    prepare.write_text(f"vim.g.loaded_claudecode = 1\n{RECORD_MESSAGES}")
    args = ["--cmd", f"luafile {prepare}", "--cmd", "let g:agent_ide = {'auto_start': v:false}"]
    with Neovim(tmp_path / "nvim", args=args, plugin=True) as nvim:
        told = wait_until(lambda: nvim.lua("return _G.told"), "the message")
    assert "remove it" in told[0]


# -- default keys --------------------------------------------------------------------------------


@pytest.mark.parametrize(("keymaps", "prefix"), [(True, r"\a"), ("<space>x", "<Space>x")])
def test_default_keys(tmp_path: Path, keymaps: object, prefix: str) -> None:
    value = "v:true" if keymaps is True else f"'{keymaps}'"
    options = f"let g:agent_ide = {{'auto_start': v:false, 'keymaps': {value}}}"
    args = ["--cmd", options, "--cmd", f"nnoremap {prefix}c mine"]
    with Neovim(tmp_path / "nvim", args=args, plugin=True) as nvim:
        wait_until(lambda: nvim.api.funcs.maparg(f"{prefix}s", "x"), "the maps")
        keys = nvim.lua(
            "return vim.tbl_map(function(m) return m[2] end, require('agent_ide.keymaps').list)"
        )
        assert len(set(keys)) == len(keys)
        for key in keys:
            assert nvim.api.funcs.maparg(f"{prefix}{key}", "n"), key
        assert nvim.api.funcs.maparg(f"{prefix}c", "n") == "mine"


def test_default_keys_by_setup_later(nvim: Neovim) -> None:
    nvim.lua("require('agent_ide').setup({ keymaps = true })")
    assert nvim.api.funcs.maparg("\\as", "n") == "<Cmd>AgentIde send<CR>"
