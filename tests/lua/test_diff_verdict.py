"""Which writes of a proposal are a verdict of the user, and which are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import wait_until

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
    ":!true<CR>",  # 'autowriteall'
    ":make<CR>",  # 'autowrite'
    ":edit<CR>",  # 'autowriteall'
    ":qa<CR>",  # 'autowriteall'
    "<C-z>",  # 'autowriteall'
    "ix<Esc>u",  # autocommands on InsertLeave and TextChanged
]

MAPS = """
vim.g.maplocalleader = '\\\\'
vim.keymap.set('n', 'gw', '<Cmd>w<CR>')
vim.keymap.set('n', 'ga', '<Cmd>wall<CR>')
vim.keymap.set('n', 'gl', function() vim.cmd.write() end)
vim.cmd('function! WriteIt()\\nwrite\\nendfunction')
vim.o.makeprg = 'true'
vim.cmd.cd(...)
"""

AUTO_SAVE = """
vim.o.autowrite = true
vim.o.autowriteall = true
vim.cmd('autocmd InsertLeave * silent! write')
vim.api.nvim_create_autocmd({ 'TextChanged', 'FocusLost' }, {
  callback = function(event)
    vim.cmd('silent! wall')
    -- as auto-save plugins do
    vim.defer_fn(function()
      vim.api.nvim_buf_call(event.buf, function() vim.cmd('silent! write') end)
      vim.api.nvim_buf_call(event.buf, function() vim.cmd.write() end)
      _G.auto_saved = (_G.auto_saved or 0) + 1
    end, 10)
  end,
})
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
    bed.nvim.lua("vim.o.autowrite, vim.o.autowriteall = true, true")
    bed.nvim.feed("Goend<Esc>" + keys + "<CR>")
    assert bed.events() == []
    assert bed.nvim.lua("return vim.bo[...].modified", bed.proposal())
    assert bed.lines(bed.proposal())[-1] == "end"
    # and it can still be accepted
    bed.nvim.feed("<C-w>t<C-w>l:w<CR>")
    assert bed.wait_accepted() == PROPOSED + "end\n"


def test_a_plugin_that_saves_by_itself_does_not_accept(bed: Reviews) -> None:
    bed.show()
    bed.nvim.lua(AUTO_SAVE)
    bed.nvim.feed("Goend<Esc>x")
    wait_until(lambda: bed.nvim.lua("return _G.auto_saved"), "the plugin's save")
    bed.nvim.command("doautocmd FocusLost")
    bed.nvim.command("write")
    bed.nvim.api.api.command("wall")
    assert bed.events() == []
    bed.nvim.feed(":w<CR>")
    assert bed.wait_accepted() == PROPOSED + "en\n"


def test_one_line_says_that_nothing_was_accepted(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed(":wa<CR>")
    assert bed.told() == ["the proposal for a.txt was not accepted: only :w typed there does"]


def test_a_macro_accepts(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("qaGoend<Esc>:w<CR>q")
    assert bed.wait_accepted() == PROPOSED + "end\n"


def test_reject_by_key(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("\\n")
    assert bed.nvim.wait_event("review") == {"id": 1, "event": "reject"}
    bed.nvim.feed(":w<CR>")
    bed.close("rejected")
    bed.is_gone()
    assert [event["event"] for event in bed.events()] == ["reject"]
    # nothing is left that Neovim would ask about
    bed.nvim.api.api.input(":qa<CR>")
    wait_until(lambda: not is_alive(bed), "the exit")


def is_alive(bed: Reviews) -> bool:
    try:
        return bool(bed.nvim.eval("1"))
    except (OSError, EOFError):
        return False


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_decided_from_anywhere_by_its_id(bed: Reviews, verdict: str) -> None:
    bed.show()
    bed.nvim.feed("Goend<Esc><C-w>t")
    bed.nvim.command("tabnew")
    assert bed.nvim.lua("return require('agent_ide.diff').decide(...)", 1, verdict) is True
    event = bed.nvim.wait_event("review")
    assert event["event"] == verdict
    assert event.get("text") == (PROPOSED + "end\n" if verdict == "accept" else None)
    assert bed.nvim.lua("return require('agent_ide.diff').decide(...)", 7, verdict) is False


def test_only_the_first_verdict_counts(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed(":w<CR>:w<CR>\\n:wq<CR>")
    bed.wait_accepted()
    assert bed.told()[0] == "accepted: waiting for Claude Code to write the file"
    bed.nvim.feed(":q<CR>")
    wait_until(lambda: bed.proposal() == 0, "the view's end")
    assert len(bed.events()) == 1


def test_an_accepted_text_is_not_edited_any_more(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    bed.nvim.feed("Goend<Esc>")
    assert bed.lines(bed.proposal())[-1] == "three"


def test_without_a_host_it_stays_and_says_so(bed: Reviews) -> None:
    bed.show()
    bed.nvim.lua("require('agent_ide.rpc').detach()")
    bed.nvim.feed(":w<CR>")
    assert bed.told() == ["the host is not running, nobody waits for this review"]
    assert bed.window("review")


def test_quitting_is_refused_as_for_a_modified_buffer(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed(":qa<CR>")
    bed.nvim.wait_screen("E162")
    bed.nvim.feed("<CR>")
    assert bed.window("review")["current"]
    assert bed.events() == []


def test_quitting_with_confirm_asks_about_the_proposal_once(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed(":confirm qa<CR>")
    screen = bed.nvim.wait_screen("Save changes to")
    assert 'Save changes to "agent-ide://review/1/a.txt"' in screen.replace("\n", "")
    bed.nvim.feed("y")
    assert bed.nvim.mode() == "n"
    assert bed.events() == []
    # "no" ends Neovim without another question
    bed.nvim.feed(":confirm qa<CR>")
    bed.nvim.wait_screen("Save changes to")
    bed.nvim.api.api.input("n")
    wait_until(lambda: not is_alive(bed), "the exit")


def test_edit_brings_the_proposal_back(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("ggdG:e!<CR>")
    assert bed.lines(bed.proposal()) == ["one", "TWO", "three"]
    bed.nvim.feed(":w<CR>")
    assert bed.wait_accepted() == PROPOSED


def test_undo_does_not_go_behind_the_proposal(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("xuuu")
    assert bed.lines(bed.proposal()) == ["one", "TWO", "three"]
    bed.nvim.feed(":x<CR>")
    assert bed.wait_accepted() == PROPOSED


def test_keys_can_be_others_or_none(tmp_path: Path) -> None:
    with Reviews(tmp_path, config="{ diff = { keys = { accept = 'gy', reject = false } } }") as bed:
        bed.show()
        assert "gy or :w accepts, :q rejec" in bed.nvim.screen_text()
        bed.nvim.feed("<C-w>hgy")
        assert bed.wait_accepted() == PROPOSED
