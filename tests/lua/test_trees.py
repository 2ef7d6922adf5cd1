"""Files sent from a file tree; each tree is the real plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import push_status
from tests.support.neovim import wait_until
from tests.support.plugins import use_plugins

from .bed import Bed, bed

CLIENT = {"id": "claude-1", "agent": "claude", "name": "claude-code", "version": "2.1.332"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    """A project with a folder and files, one of them secret; Claude is connected from elsewhere."""
    with bed(tmp_path) as desk:
        push_status(desk.nvim, clients=[CLIENT])
        (desk.project / "sub").mkdir()
        (desk.project / "sub/deep.txt").write_text("")
        for name in ("a é.txt", "b.txt", "c.key"):
            (desk.project / name).write_text("")
        yield desk


def sent(desk: Bed, count: int = 1) -> list[str]:
    wait_until(lambda: len(desk.nvim.named("mention")) >= count, f"{count} mentions")
    paths = [item["path"].removeprefix(f"{desk.project}/") for item in desk.nvim.named("mention")]
    assert len(paths) == count
    desk.nvim.events.clear()
    return paths


def go_to(desk: Bed, name: str) -> int:
    """Put the cursor on a name; its line."""

    def look() -> int:
        return int(desk.nvim.api.funcs.search(rf"\V{name}", "w"))

    return wait_until(look, f"{name} in the tree")


def open_netrw(desk: Bed) -> None:
    desk.nvim.command("runtime plugin/netrwPlugin.vim")
    desk.nvim.command("silent! packadd netrw")
    desk.nvim.lua("vim.cmd.edit(...)", str(desk.project))
    assert desk.nvim.eval("&filetype") == "netrw"


@pytest.mark.parametrize("style", [0, 1, 2, 3])
def test_netrw(desk: Bed, style: int) -> None:
    desk.nvim.command(f"let g:netrw_liststyle = {style}")
    open_netrw(desk)
    for name in ("a é.txt", "sub"):
        go_to(desk, name.split(" ")[0])
        desk.nvim.command("ClaudeCodeTreeAdd")
        assert sent(desk) == [name]
    # Send does the same in a tree
    desk.nvim.command("ClaudeCodeSend")
    assert sent(desk) == ["sub"]
    go_to(desk, "c.key")
    desk.nvim.command("ClaudeCodeSend")
    assert "do_not_share" in desk.wait_told("c.key is not sent")


def test_netrw_marks_and_ranges(desk: Bed) -> None:
    open_netrw(desk)
    for name in ("b.txt", "a é"):
        go_to(desk, name)
        desk.nvim.feed("mf")
    desk.nvim.command("AgentIde send")
    assert sorted(sent(desk, 2)) == ["a é.txt", "b.txt"]
    # a range goes before what is marked
    line = go_to(desk, "a é")
    desk.nvim.command("xnoremap gs <Cmd>ClaudeCodeTreeAdd<CR>")
    desk.nvim.feed("Vjgs")
    assert sent(desk, 2) == ["a é.txt", "b.txt"]
    assert desk.nvim.eval("line('.')") in (line, line + 1)
    assert desk.nvim.mode() == "n"


def test_mini_files(desk: Bed) -> None:
    use_plugins(desk.nvim, "mini.nvim")
    desk.nvim.lua("require('mini.files').setup()")
    desk.nvim.lua("require('mini.files').open(...)", str(desk.project))
    first = go_to(desk, "sub")
    desk.nvim.command("ClaudeCodeSend")
    assert sent(desk) == ["sub"]
    desk.nvim.command(f"{first},{first + 2}ClaudeCodeTreeAdd")
    assert sent(desk, 3) == ["sub", "a é.txt", "b.txt"]


def test_neo_tree(desk: Bed) -> None:
    use_plugins(desk.nvim, "plenary.nvim", "nui.nvim", "neo-tree.nvim")
    desk.nvim.command("runtime plugin/neo-tree.lua")
    desk.nvim.command("Neotree")
    wait_until(lambda: desk.nvim.eval("&filetype") == "neo-tree", "the tree")
    first = go_to(desk, "sub")
    desk.nvim.command("ClaudeCodeSend")
    assert sent(desk) == ["sub"]
    desk.nvim.command(f"{first},{first + 2}ClaudeCodeTreeAdd")
    assert sent(desk, 3) == ["sub", "a é.txt", "b.txt"]


EXPLORED = """
local picker = require("snacks").picker.get({ source = "explorer" })[1]
local item = picker and picker:current()
return item and item.file or ""
"""


def explored(desk: Bed, name: str) -> bool:
    if str(desk.nvim.lua(EXPLORED)).endswith(name):
        return True
    go_to(desk, name)
    desk.nvim.feed("kj")
    return False


def test_snacks_explorer(desk: Bed) -> None:
    use_plugins(desk.nvim, "snacks.nvim")
    desk.nvim.lua("require('snacks').setup({ explorer = {}, picker = {} })")
    desk.nvim.lua("require('snacks').explorer()")
    wait_until(lambda: desk.nvim.eval("&filetype") == "snacks_picker_list", "the explorer")
    # it follows the cursor once that moves, a moment later, and begins again as files come in
    wait_until(lambda: explored(desk, "b.txt"), "the explorer's own cursor")
    desk.nvim.command("ClaudeCodeSend")
    assert sent(desk) == ["b.txt"]
    # its own way to mark
    desk.nvim.feed("k<Tab><Tab>")
    desk.nvim.command("AgentIde send")
    assert sorted(sent(desk, 2)) == ["a é.txt", "b.txt"]


def test_snacks_picker(desk: Bed) -> None:
    use_plugins(desk.nvim, "snacks.nvim")
    desk.nvim.lua("require('snacks').setup({ picker = {} })")
    desk.nvim.lua("require('snacks').picker.files({ cwd = ..., cmd = 'find' })", str(desk.project))
    wait_until(lambda: desk.nvim.eval("&filetype") == "snacks_picker_input", "the picker")
    desk.nvim.feed("deep")
    # on the screen it was before, too
    current = """
    local picker = require("snacks").picker.get()[1]
    local item = picker and picker:current()
    return item and item.file or ""
    """
    wait_until(lambda: desk.nvim.lua(current).endswith("deep.txt"), "the match")
    desk.nvim.command("AgentIde send")
    assert sent(desk) == ["sub/deep.txt"]


def test_elsewhere_it_says_where_it_works(desk: Bed) -> None:
    desk.edit("d.txt", "x\n")
    desk.nvim.command("ClaudeCodeTreeAdd")
    for name in ("netrw", "oil", "NvimTree", "neo-tree", "minifiles", "snacks_picker_list"):
        assert name in desk.told()[0]


def test_a_tree_whose_functions_have_changed_is_named(desk: Bed) -> None:
    desk.nvim.command("enew | setlocal filetype=oil")
    desk.nvim.lua("package.loaded.oil = {}")
    desk.nvim.command("ClaudeCodeTreeAdd")
    assert "its functions may have changed" in desk.wait_told("oil did not say")
