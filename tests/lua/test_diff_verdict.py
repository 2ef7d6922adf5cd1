"""Which writes of a proposal are a verdict of the user, and which are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .reviews import OLD, PROPOSED, Reviews

ACCEPTING = [
    ":w<CR>",
    ":w!<CR>",
    ":wq<CR>",
    ":x<CR>",
    ":update<CR>",
    "ZZ",
    "gw",  # mapped to <Cmd>w<CR>
    ":silent! write<CR>",
    ":w | echo 1<CR>",
    "i<C-o>:w<CR>",
    "\\y",
]

NOT_ACCEPTING = [
    ":wa<CR>",
    ":wqa<CR>",
    ":xa<CR>",
    "ga",  # mapped to <Cmd>wall<CR>
    "gl",  # mapped to a Lua function that writes
    ":lua vim.cmd.write()<CR>",
    ":lua vim.api.nvim_command('write')<CR>",
    ":call WriteIt()<CR>",
    ":windo w<CR>",
    ":saveas other<CR>",
    ":w other<CR>",
    ":1w<CR>",
    ":2,3w! %<CR>",
]

MAPS = """
vim.g.maplocalleader = '\\\\'
vim.keymap.set('n', 'gw', '<Cmd>w<CR>')
vim.keymap.set('n', 'ga', '<Cmd>wall<CR>')
vim.keymap.set('n', 'gl', function() vim.cmd.write() end)
vim.cmd('function! WriteIt()\\nwrite\\nendfunction')
vim.cmd.cd(...)
"""


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as reviews:
        reviews.nvim.lua(MAPS, str(reviews.project))
        yield reviews


@pytest.mark.parametrize("keys", ACCEPTING)
def test_a_typed_write_accepts(bed: Reviews, keys: str) -> None:
    bed.show()
    bed.nvim.feed("Goend<Esc>" + keys)
    assert bed.wait_accepted() == PROPOSED + "end\n"
    assert bed.file.read_text() == OLD, "the agent writes the file, not Neovim"
    bed.close("accepted")
    bed.nvim.feed("<Esc>")
    bed.is_gone()
    assert [event["event"] for event in bed.events()] == ["accept"]


@pytest.mark.parametrize("keys", NOT_ACCEPTING)
def test_another_write_does_not_accept(bed: Reviews, keys: str) -> None:
    bed.show()
    bed.nvim.feed("Goend<Esc>" + keys + "<CR>")
    assert bed.nvim.eval("1") == 1
    assert bed.events() == []
    assert bed.nvim.lua("return vim.bo[...].modified", bed.proposal())
    assert bed.lines(bed.proposal())[-1] == "end"
    # and it can still be accepted
    bed.nvim.feed("<C-w>t<C-w>l:w<CR>")
    assert bed.wait_accepted() == PROPOSED + "end\n"
