"""Options: defaults, merging, and what a user who got one wrong is told."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import REPO, Neovim, find_nvim

GET = "return require('agent_ide.config').get()"
RECORD = "_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end"


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path) as nvim:
        nvim.lua(RECORD)
        yield nvim


def setup(nvim: Neovim, opts: Any) -> Any:
    return nvim.lua("return require('agent_ide.config').setup(...)", opts)


def told(nvim: Neovim) -> list[str]:
    return list(nvim.lua("return _G.told"))


KEYS = {
    "accept": "<localleader>y",
    "reject": "<localleader>n",
    "accept_hunk": "<localleader>hy",
    "reject_hunk": "<localleader>hn",
}


def test_everything_has_a_default_without_setup(nvim: Neovim) -> None:
    config = nvim.lua(GET)
    assert config["install"] == "auto"
    assert config["terminal"]["side"] == "right"
    assert config["terminal"]["keys"]["newline"] == "<S-CR>"
    assert config["diff"]["keys"] == KEYS
    assert config["claude"]["command"] == "claude"
    assert "python" not in config
    assert told(nvim) == []


def test_an_empty_map_does_not_become_a_list_on_its_way_to_the_host(nvim: Neovim) -> None:
    assert nvim.lua(GET)["claude"]["env"] == {}
    nvim.lua("vim.g.agent_ide = { claude = { env = {} } }")
    assert setup(nvim, {})["claude"]["env"] == {}


def test_setup_goes_over_the_global_over_the_defaults(nvim: Neovim) -> None:
    nvim.lua("vim.g.agent_ide = { terminal = { side = 'left', size = 0.5 }, log_level = 'debug' }")
    config = setup(nvim, {"terminal": {"size": 0.2}})
    assert (config["terminal"]["side"], config["terminal"]["size"]) == ("left", 0.2)
    assert config["terminal"]["auto_insert"] is True
    assert config["log_level"] == "debug"
    assert nvim.lua(GET) == config


def test_a_second_setup_starts_from_the_defaults(nvim: Neovim) -> None:
    setup(nvim, {"log_level": "debug"})
    assert setup(nvim, {})["log_level"] == "info"


def test_the_global_is_read_without_setup(nvim: Neovim) -> None:
    nvim.lua("vim.g.agent_ide = { auto_start = false }")
    assert nvim.lua(GET)["auto_start"] is False


def test_lists_are_replaced_and_groups_are_merged(nvim: Neovim) -> None:
    config = setup(nvim, {"do_not_share": ["*.secret"], "diff": {"keys": {"accept": False}}})
    assert config["do_not_share"] == ["*.secret"]
    assert config["diff"]["keys"] == {**KEYS, "accept": False}


def test_a_group_can_be_switched_off_and_on_again(nvim: Neovim) -> None:
    nvim.lua("vim.g.agent_ide = { diff = { keys = false } }")
    assert setup(nvim, {})["diff"]["keys"] is False
    config = setup(nvim, {"diff": {"keys": {"reject": "x"}}})
    assert config["diff"]["keys"] == {**KEYS, "reject": "x"}


def test_the_users_own_table_is_not_shared(nvim: Neovim) -> None:
    code = """
    local mine = { claude = { args = { "a" } } }
    require("agent_ide").setup(mine)
    table.insert(mine.claude.args, "b")
    return require("agent_ide.config").get().claude.args
    """
    assert nvim.lua(code) == ["a"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"zzz": 1}, r"unknown option zzz, expected one of auto_start, claude, .*track_selection"),
    (
        {"terminal": {"sise": 1}},
        r"unknown option terminal\.sise, expected one of auto_insert, .*size, snacks",
    ),
    ({"auto_start": "yes"}, r'option auto_start is "yes", expected boolean'),
    (
        {"install": "later"},
        r'option install is "later", expected one of "auto", "ask", "never"',
    ),
    (
        {"terminal": {"provider": "kitty"}},
        r'option terminal\.provider is "kitty", expected one of .*"none" or table of functions',
    ),
    ({"terminal": {"provider": {}}}, r"option terminal\.provider is vim.empty_dict"),
    ({"terminal": {"cwd": "home"}}, r'expected one of "nvim", "git" or function'),
    ({"terminal": 5}, r"option terminal is 5, expected a table"),
    ({"terminal": False}, r"option terminal is false, expected a table"),
    (
        {"terminal": {"size": 2}},
        r"option terminal\.size is 2, expected number from 0\.05 to 0\.95",
    ),
    (
        {"claude": {"port_min": 10000.5}},
        r"option claude\.port_min is 10000\.5, expected integer from 1024 to 65535",
    ),
    (
        {"claude": {"port_min": 30000, "port_max": 20000}},
        r"option claude\.port_min is 30000, expected at most claude\.port_max \(20000\)",
    ),
    ({"do_not_share": ["a", 1]}, r'option do_not_share is { "a", 1 }, expected string\[\]'),
    ({"do_not_share": ".env"}, r'option do_not_share is "\.env", expected string\[\]'),
    (
        {"claude": {"env": {"A": 1}}},
        r"option claude\.env is .*, expected table<string, string>",
    ),
    (
        {"claude": {"models": [{"name": "x"}]}},
        r"option claude\.models is .*, expected model\[\]",
    ),
    ({"diff": {"keys": "y"}}, r'option diff\.keys is "y", expected a table or false'),
    (
        {"diff": {"keys": {"accept": True}}},
        r"option diff\.keys\.accept is true, expected string or false",
    ),
    ({"claude": {"command": ""}}, r'option claude\.command is "", expected string or string\[\]'),
    ({"python": 3}, r"option python is 3, expected string"),
    (
        {"copilot": {"trust": "~/work"}},
        r'option copilot\.trust is "~/work", expected string\[\] or function',
    ),
    (
        {"copilot": {"on_close": "accept"}},
        r'option copilot\.on_close is "accept", expected one of "reject", "terminal"',
    ),
    (
        {"copilot": {"diff_timeout_s": 0}},
        r"option copilot\.diff_timeout_s is 0, expected number from 1 to 604800",
    ),
]


@pytest.mark.parametrize(("opts", "message"), WRONG)
def test_a_wrong_option_is_named_and_left_at_its_default(
    nvim: Neovim, opts: dict[str, Any], message: str
) -> None:
    defaults = nvim.lua("return require('agent_ide.config').defaults()")
    assert setup(nvim, opts) == defaults
    (line,) = told(nvim)
    assert re.search(message, line)
    assert ":help agent_ide-config" in line


def test_all_that_is_wrong_is_told_at_once_and_the_rest_counts(nvim: Neovim) -> None:
    nvim.lua("vim.g.agent_ide = { install = 1 }")
    config = setup(nvim, {"zzz": 1, "log_level": "warn"})
    assert config["log_level"] == "warn"
    (line,) = told(nvim)
    assert "option install" in line
    assert "zzz" in line
    assert len(nvim.lua("return require('agent_ide.config').problems()")) == 2
    nvim.lua(GET)
    assert len(told(nvim)) == 1


def test_something_that_is_no_table_is_named(nvim: Neovim) -> None:
    nvim.lua("vim.g.agent_ide = 'x'")
    setup(nvim, 3)
    assert 'vim.g.agent_ide is "x", expected a table; setup()\'s argument is 3' in told(nvim)[0]


def class_fields(text: str, name: str) -> list[tuple[str, str]]:
    """(field, type) of a LuaCATS class in types.lua."""
    block = re.search(rf"---@class \(exact\) {re.escape(name)}\n((?:---@field .*\n)+)", text)
    assert block, name
    return re.findall(r"---@field (\w+\??) (\S+)", block.group(1))


@pytest.mark.parametrize("optional", [False, True])
def test_the_classes_name_what_the_schema_names(nvim: Neovim, optional: bool) -> None:
    text = (REPO / "lua/agent_ide/types.lua").read_text()

    def compare(options: list[dict[str, Any]], name: str) -> None:
        fields = {field.rstrip("?"): kind for field, kind in class_fields(text, name)}
        assert [option["name"] for option in options] == list(fields)
        for option in options:
            if "options" in option:
                kind = fields[option["name"]].removeprefix("false|")
                compare(option["options"], kind)

    schema = nvim.lua("return require('agent_ide.schema')")
    compare(schema, "agent_ide.SetupOpts" if optional else "agent_ide.Config")


def test_the_help_is_what_the_schema_says() -> None:
    argv = [find_nvim(), "--clean", "-l", str(REPO / "scripts/gen_help.lua"), "--check"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
