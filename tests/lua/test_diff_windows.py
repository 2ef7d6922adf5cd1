"""Where a review opens, who has the cursor, how it goes, and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import wait_until

from .reviews import OLD, PROPOSED, Reviews

# the agent's terminal; cat echoes what is typed
TERMINAL = "botright vertical 40split | terminal cat"


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as reviews:
        yield reviews


def layout(bed: Reviews) -> Any:
    """All that a user sees of the windows, and where the cursor is."""
    state = bed.nvim.lua(
        """
        return {
          tree = vim.fn.winlayout(),
          tabs = #vim.api.nvim_list_tabpages(),
          alternate = vim.fn.bufnr("#"),
          jumps = vim.fn.getjumplist(),
          views = vim.tbl_map(function(win)
            return vim.api.nvim_win_call(win, vim.fn.winsaveview)
          end, vim.api.nvim_tabpage_list_wins(0)),
          equalalways = vim.o.equalalways,
          mode = vim.api.nvim_get_mode().mode,
        }
        """
    )
    return state, bed.windows(), [bed.options(win["win"]) for win in bed.windows()]


def busy_editor(bed: Reviews) -> None:
    """Several windows with sizes, options, folds, jumps and an alternate file of their own."""
    nvim = bed.nvim
    other = bed.project / "other.txt"
    other.write_text("".join(f"line {number}\n" for number in range(300)))
    nvim.command(f"edit {other}")
    nvim.command(f"edit {bed.file}")
    nvim.command(f"botright 7split {other}")
    nvim.command("setlocal foldmethod=manual number nowrap winbar=mine")
    nvim.feed("100Gzz10Gzfj50Gzfj80G")
    nvim.command("wincmd t")
    nvim.command("topleft vertical 20split | enew | setlocal buftype=nofile winfixwidth")
    nvim.command("wincmd l")
    nvim.command("setlocal relativenumber scrolloff=3 statusline=mine")
    nvim.feed("Gggj")


CLOSING = {
    "accepted by the host": lambda bed: bed.close("accepted"),
    "withdrawn by the host": lambda bed: bed.close("withdrawn"),
    ":q": lambda bed: bed.nvim.feed(":q<CR>"),
    "<C-w>c": lambda bed: bed.nvim.feed("<C-w>c"),
    ":q in the old side": lambda bed: bed.nvim.feed("<C-w>h:q<CR>"),
    "ZQ": lambda bed: bed.nvim.feed("ZQ"),
    ":bwipeout!": lambda bed: bed.nvim.feed(":bwipeout!<CR>"),
    ":bdelete!": lambda bed: bed.nvim.feed(":bdelete!<CR>"),
    ":bwipeout the old side": lambda bed: bed.nvim.feed("<C-w>h:bwipeout!<CR>"),
    "by a client": lambda bed: bed.nvim.api.api.win_close(bed.window("review")["win"], True),
}


@pytest.mark.parametrize("how", CLOSING)
def test_afterwards_all_is_as_before(bed: Reviews, how: str) -> None:
    busy_editor(bed)
    before, windows, options = layout(bed)
    bed.show()
    assert bed.window("review")["current"]
    assert len(bed.windows()) == len(windows) + 1
    CLOSING[how](bed)
    if how.endswith("host"):
        assert bed.events() == []
    else:
        bed.wait_closed()
        assert [event["event"] for event in bed.events()] == ["closed"]
    after, windows_after, options_after = layout(bed)
    if how in (":q in the old side", ":bwipeout the old side"):
        # the window itself is gone: the proposal's took its place
        for win in [*windows, *windows_after]:
            del win["win"]
        del before["tree"], after["tree"]
    assert windows_after == windows
    assert after == before
    assert options_after == options
    bed.is_gone()


@pytest.mark.parametrize("how", ["accepted by the host", ":q", "<C-w>c", ":bwipeout!"])
def test_afterwards_all_is_as_before_inline_too(bed: Reviews, how: str) -> None:
    busy_editor(bed)
    bed.nvim.lua("require('agent_ide.diff.view').choose('inline')")
    before = layout(bed)
    bed.show()
    assert len(bed.windows()) == len(before[1])
    bed.nvim.feed("Gomore<Esc>")
    CLOSING[how](bed)
    wait_until(lambda: bed.proposal() == 0, "its end")
    after = layout(bed)
    if not how.endswith("host"):
        # the window itself is gone: another took its place
        for win in [*before[1], *after[1]]:
            del win["win"]
        del before[0]["tree"], after[0]["tree"]
    if how == ":bwipeout!":
        # too late to make a window with the same jumps
        del before[0]["jumps"], after[0]["jumps"]
    assert after[1] == before[1]
    assert after[0] == before[0]
    assert after[2] == before[2]
    bed.is_gone()


def test_inline_in_the_only_window(bed: Reviews) -> None:
    bed.nvim.lua("require('agent_ide.diff.view').choose('inline')")
    for keys in (":q<CR>", ":q!<CR>", "ZQ"):
        bed.nvim.events.clear()
        bed.show()
        bed.nvim.feed("Gomore<Esc>" + keys)
        bed.wait_closed()
        assert [win["name"] for win in bed.windows()] == [str(bed.file)]
    bed.show()
    bed.nvim.feed(":qa<CR>")
    bed.nvim.wait_screen("E162")
    bed.nvim.feed("<CR>")
    assert [win["buf"] for win in bed.windows()] == [bed.proposal()]
    bed.nvim.events.clear()
    bed.nvim.feed("ZZ")
    assert bed.wait_accepted() == PROPOSED
    bed.close("accepted")
    assert [win["name"] for win in bed.windows()] == [str(bed.file)]


@pytest.mark.parametrize("how", CLOSING)
def test_closing_an_accepted_review_is_no_event(bed: Reviews, how: str) -> None:
    bed.show()
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    CLOSING[how](bed)
    wait_until(lambda: bed.proposal() == 0, "the end")
    assert [event["event"] for event in bed.events()] == ["accept"]
    bed.is_gone()


@pytest.mark.parametrize("keys", [":only<CR>", "<C-w>h:only<CR>"])
def test_only(bed: Reviews, keys: str) -> None:
    bed.nvim.command(TERMINAL)
    bed.nvim.command("wincmd t")
    bed.show()
    bed.nvim.feed(keys)
    bed.wait_closed()
    assert [win["name"] for win in bed.windows()] == [str(bed.file)]
    bed.is_gone()


def test_only_from_elsewhere(bed: Reviews) -> None:
    bed.nvim.command(TERMINAL)
    bed.nvim.command("wincmd t")
    bed.show()
    bed.nvim.command("wincmd b | only")
    bed.wait_closed()
    assert len(bed.windows()) == 1
    bed.is_gone()


def test_tabclose(bed: Reviews) -> None:
    bed.nvim.command("tabnew")
    bed.nvim.command("tabprevious")
    bed.show()
    bed.nvim.feed(":tabclose<CR>")
    bed.wait_closed()
    assert len(bed.events()) == 1
    bed.is_gone()


def test_another_file_in_its_window_closes_it_and_stays(bed: Reviews) -> None:
    bed.show()
    other = bed.project / "b.txt"
    bed.nvim.command(f"edit {other}")
    bed.wait_closed()
    assert sorted(win["name"] for win in bed.windows()) == [str(bed.file), str(other)]
    bed.is_gone()


def test_closing_it_in_the_command_line_window(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("q:")
    bed.close("rejected")
    assert bed.proposal() != 0
    bed.nvim.feed(":q<CR>")
    wait_until(lambda: bed.proposal() == 0, "the end")
    assert [win["name"] for win in bed.windows()] == [str(bed.file)]


def test_opening_it_in_the_command_line_window(bed: Reviews) -> None:
    bed.nvim.feed("q:")
    call = bed.nvim.begin_call("review.show", bed.request())
    assert bed.nvim.reply(call) is None
    bed.nvim.feed(":q<CR>")
    wait_until(lambda: bed.nvim.reply(call), "the view")
    assert bed.window("review")


def test_closing_an_unknown_one_is_fine(bed: Reviews) -> None:
    bed.close("rejected", 99)


def test_closed_while_another_stays(bed: Reviews) -> None:
    bed.show()
    bed.show(number=2)
    bed.close("rejected", 1)
    assert bed.proposal(2) != 0
    bed.nvim.lua("require('agent_ide.diff').focus(2)")
    bed.nvim.feed(":w<CR>")
    assert bed.wait_accepted(2) == PROPOSED


# -- hidden and shown again ----------------------------------------------------------------


def test_hidden_and_shown_again(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("Goend<Esc>")
    bed.close("hidden")
    assert [win["name"] for win in bed.windows()] == [str(bed.file)]
    assert bed.events() == []
    bed.show()
    assert bed.lines(bed.proposal())[-1] == "end"
    bed.nvim.feed(":w<CR>")
    assert bed.wait_accepted() == PROPOSED + "end\n"


def test_a_hidden_one_comes_back_for_the_user(bed: Reviews) -> None:
    bed.show()
    bed.close("hidden")
    assert bed.nvim.lua("return require('agent_ide.diff').focus(1)") is True
    assert bed.window("review")["current"]
    assert bed.nvim.lua("return require('agent_ide.diff').focus(7)") is False


def test_a_hidden_one_is_withdrawn(bed: Reviews) -> None:
    bed.show()
    bed.close("hidden")
    bed.close("withdrawn")
    bed.is_gone()


# -- the cursor ----------------------------------------------------------------------------

MODES = {
    "insert": ("ix", "i", "y"),
    "replace": ("R", "R", "y"),
    "visual": ("Gv", "v", "<Esc>iy"),
    "visual line": ("GV", "V", "<Esc>iy"),
    "visual block": ("G<C-v>", "\x16", "<Esc>iy"),
    "select": ("Ggh", "s", "y"),
    "command line": (":let g:typed = 'x", "c", "y'<CR>"),
    "search": ("/on", "c", "e<CR>iy"),
    "operator": ("ggd", "no", "w"),
}


WAITS = "Claude Code proposes a change of a.txt: it opens when you are back in Normal mode"


@pytest.mark.parametrize("mode", MODES)
def test_who_types_is_not_interrupted(bed: Reviews, mode: str) -> None:
    begin, name, go_on = MODES[mode]
    bed.nvim.feed(begin)
    assert bed.nvim.mode() == name
    before = bed.windows()
    call = bed.nvim.begin_call("review.show", bed.request())
    assert bed.nvim.reply(call) is None
    assert bed.nvim.mode() == name
    assert bed.windows() == before
    assert bed.told() == [WAITS]
    bed.nvim.feed(go_on)
    if mode == "command line":
        assert bed.nvim.eval("g:typed") == "xy"
    else:
        assert bed.lines(before[0]["buf"]) != OLD.splitlines()
    bed.nvim.feed("<Esc>")
    wait_until(lambda: bed.nvim.reply(call), "the view")
    assert bed.window("review")["current"]
    assert bed.lines(bed.proposal()) == PROPOSED.splitlines()
    bed.close("rejected")
    bed.is_gone()


@pytest.mark.parametrize(
    "how", ["closed", "hidden", "the user asks", "the host ends", "its buffer goes"]
)
def test_what_becomes_of_one_that_waits(bed: Reviews, how: str) -> None:
    bed.nvim.feed("ix")
    call = bed.nvim.begin_call("review.show", bed.request())
    assert bed.nvim.reply(call) is None
    match how:
        case "closed" | "hidden":
            bed.close("withdrawn" if how == "closed" else how)
            assert bed.nvim.reply(call) == (False, "closed before it was shown")
        case "the user asks":
            bed.nvim.lua("require('agent_ide.diff').present(1)")
            assert bed.nvim.reply(call) == (True, {"added": 1, "removed": 1, "hunks": 1})
            assert bed.window("review")["current"]
            bed.close("rejected")
        case "the host ends":
            bed.nvim.lua("require('agent_ide.diff').host_gone()")
        case "its buffer goes":
            bed.nvim.lua("vim.api.nvim_buf_delete(..., { force = true })", bed.proposal())
            bed.nvim.feed("<Esc>")
            wait_until(lambda: bed.nvim.reply(call), "the answer")
    bed.nvim.feed("<Esc>")
    assert len(bed.windows()) == 1
    if how == "hidden":
        # its turn comes again
        bed.show()
        assert bed.window("review")["current"]
        bed.close("rejected")
    if how != "its buffer goes":
        bed.is_gone()


def test_one_of_the_queue_opens_for_the_user_at_once(bed: Reviews) -> None:
    bed.nvim.feed("ix")
    bed.nvim.lua("require('agent_ide.diff').present(7)")
    assert bed.nvim.wait_event("review") == {"id": 7, "event": "show"}
    bed.show(number=7)
    assert bed.window("review", 7)["current"]


SENT = """
_G.sent = {}
local api = vim.api
local function record(bytes) table.insert(_G.sent, bytes) end
if api.nvim_ui_send then
  api.nvim_ui_send = record
else
  local send = api.nvim_chan_send
  api.nvim_chan_send = function(channel, bytes)
    if channel ~= vim.v.stderr then return send(channel, bytes) end
    record(bytes)
  end
end
"""


@pytest.mark.parametrize(
    ("option", "sent"), [("none", ""), ("bell", "\a"), ("osc9", f"\x1b]9;{WAITS}\x1b\\")]
)
def test_a_sign_for_who_looks_elsewhere(tmp_path: Path, option: str, sent: str) -> None:
    with Reviews(tmp_path, config=f"{{ diff = {{ attention = '{option}' }} }}") as bed:
        bed.nvim.lua(SENT)
        bed.nvim.feed("ix")
        bed.nvim.begin_call("review.show", bed.request())
        assert "".join(bed.nvim.lua("return _G.sent")) == sent


def test_without_the_option_the_cursor_stays(tmp_path: Path) -> None:
    with Reviews(tmp_path, config="{ diff = { focus = false } }") as bed:
        before = bed.windows()
        bed.show()
        here = next(win for win in bed.windows() if win["current"])
        assert here["win"] == before[0]["win"]
        assert here["buf"] == before[0]["buf"]
        bed.close("rejected")
        assert bed.windows() == before


def test_who_types_in_an_agents_terminal_goes_on(bed: Reviews) -> None:
    bed.nvim.command(TERMINAL)
    bed.nvim.feed("iab")
    before = bed.windows()
    assert bed.nvim.mode() == "t"
    bed.show()
    assert bed.nvim.mode() == "t"
    assert [win["current"] for win in bed.windows()] == [False, False, True]
    # no part of the terminal was taken
    assert bed.windows()[2]["size"] == before[1]["size"]
    bed.nvim.feed("cd")
    bed.close("accepted")
    assert bed.nvim.mode() == "t"
    bed.nvim.feed("ef<CR>")
    wait_until(lambda: bed.lines(before[1]["buf"])[1] == "abcdef", "the terminal's echo")
    assert bed.windows() == before
    bed.is_gone()


def test_from_an_agents_terminal_in_normal_mode_it_takes_no_cursor(bed: Reviews) -> None:
    bed.nvim.command(TERMINAL)
    assert bed.nvim.mode() == "nt"
    bed.show()
    assert [win["current"] for win in bed.windows()] == [False, False, True]
    # the user goes there and decides; the cursor comes back
    bed.nvim.lua("require('agent_ide.diff').focus(1)")
    assert bed.window("review")["current"]
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    bed.close("accepted")
    # who walked here has left the agent's prompt
    assert [win["current"] for win in bed.windows()] == [True, False]


def test_a_recording_goes_on(bed: Reviews) -> None:
    bed.nvim.feed("qqx")
    call = bed.nvim.begin_call("review.show", bed.request())
    bed.nvim.feed("x")
    assert bed.nvim.reply(call) is None
    bed.nvim.feed("q")
    assert bed.nvim.eval("@q") == "xx"
    wait_until(lambda: bed.nvim.reply(call), "the view")
    assert bed.window("review")["current"]


@pytest.mark.parametrize("reason", ["withdrawn", "rejected", "accepted", "hidden"])
def test_who_types_in_the_proposal_is_not_thrown_out(bed: Reviews, reason: str) -> None:
    bed.show()
    bed.nvim.feed("Goab")
    bed.close(reason)
    assert bed.nvim.mode() == "i"
    bed.nvim.feed("cd")
    assert bed.lines(bed.proposal())[-1] == "abcd"
    bed.nvim.feed("<Esc>")
    wait_until(lambda: len(bed.windows()) == 1, "the end")
    assert bed.lines(bed.windows()[0]["buf"]) == OLD.splitlines()
    assert bed.events() == []
    if reason == "withdrawn":
        bed.nvim.lua(
            "require('agent_ide.diff.kept').open(require('agent_ide.diff.kept').list()[1])"
        )
        assert bed.lines(bed.nvim.api.api.get_current_buf().number)[-1] == "abcd"


# -- the place -----------------------------------------------------------------------------


def test_the_first_difference_is_in_sight(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(300)]
    with Reviews(tmp_path, old="".join(lines).encode()) as bed:
        lines[250] = "changed\n"
        bed.show("".join(lines))
        assert bed.nvim.eval("line('.')") == 251
        screen = bed.nvim.wait_screen("changed")
        assert "line 250" in screen


@pytest.mark.parametrize("layout_name", ["vertical", "horizontal"])
def test_old_before_proposal(tmp_path: Path, layout_name: str) -> None:
    with Reviews(tmp_path, config=f"{{ diff = {{ layout = '{layout_name}' }} }}") as bed:
        bed.show()
        old, new = bed.window("disk"), bed.window("review")
        assert [old["diff"], new["diff"]] == [True, True]
        axis = 1 if layout_name == "vertical" else 0
        assert old["position"][axis] < new["position"][axis]
        assert old["position"][1 - axis] == new["position"][1 - axis]
        assert bed.lines(old["buf"]) == OLD.splitlines()
        bed.nvim.feed("<C-w>" + ("h" if axis else "k") + "x")
        assert bed.lines(old["buf"]) == OLD.splitlines()


@pytest.mark.parametrize("columns", [40, 100, 200])
def test_the_agents_terminal_is_the_only_window(tmp_path: Path, columns: int) -> None:
    with Reviews(tmp_path, size=(columns, 40)) as bed:
        bed.nvim.command("terminal cat")
        bed.nvim.feed("iab")
        before = bed.windows()
        bed.show()
        assert bed.nvim.mode() == "t"
        assert len(bed.windows()) == 3
        assert next(win for win in bed.windows() if win["current"])["buf"] == before[0]["buf"]
        bed.nvim.feed("cd<CR>")
        wait_until(lambda: bed.lines(before[0]["buf"])[1] == "abcd", "the terminal's echo")
        bed.close("accepted")
        assert bed.windows() == before
        assert bed.nvim.mode() == "t"
        bed.is_gone()


UNFIT = {
    "tree": "enew | setlocal buftype=nofile filetype=NvimTree winfixwidth",
    "netrw": "enew | setlocal filetype=netrw",
    "quickfix": "copen | only",
    "help": "enew | setlocal buftype=help nomodifiable",
    "fixed": "setlocal winfixbuf",
    "its buffer would be wiped": "setlocal bufhidden=wipe",
    "prompt": "enew | setlocal buftype=prompt",
    "preview": "setlocal previewwindow",
}


@pytest.mark.parametrize("kind", UNFIT)
def test_it_never_opens_in_an_unfit_window(bed: Reviews, kind: str) -> None:
    bed.nvim.command(UNFIT[kind])
    unfit = next(win for win in bed.windows() if win["current"])
    bed.show()
    now = {win["win"]: win["buf"] for win in bed.windows()}
    assert now[unfit["win"]] == unfit["buf"]
    assert bed.window("review")
    bed.close("rejected")
    assert [win["buf"] for win in bed.windows()] == [unfit["buf"]]
    bed.is_gone()


def test_a_floating_window_is_not_taken(bed: Reviews) -> None:
    bed.nvim.lua(
        "vim.api.nvim_open_win(vim.api.nvim_create_buf(true, false), true,"
        " { relative = 'editor', row = 1, col = 1, width = 20, height = 3 })"
    )
    before = bed.windows()
    bed.show()
    assert bed.window("review")["current"] is False
    bed.close("rejected")
    assert bed.windows() == before


def test_a_modified_buffer_is_not_lost_without_hidden(bed: Reviews) -> None:
    bed.nvim.command("set nohidden")
    bed.nvim.feed("ccmine<Esc>")
    bed.show()
    assert bed.lines(bed.window("disk")["buf"]) == OLD.splitlines()
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    bed.close("accepted")
    assert bed.nvim.eval("getline(1)") == "mine"
    assert bed.nvim.eval("&modified") == 1
    assert bed.file.read_text() == OLD


def test_nobody_hears_of_the_swap(bed: Reviews) -> None:
    bed.nvim.command(f"autocmd BufLeave,BufWinLeave,BufHidden {bed.file} let g:left = 1")
    bed.show()
    bed.close("rejected")
    assert bed.nvim.eval("exists('g:left')") == 0


def test_a_diff_of_somebody_else_is_left_alone(bed: Reviews) -> None:
    other = bed.project / "b.txt"
    other.write_text("one\nother\n")
    bed.nvim.command("set showtabline=2")
    bed.nvim.command(f"vertical diffsplit {other}")
    before, options = bed.windows(), [bed.options(win["win"]) for win in bed.windows()]
    bed.show()
    assert [win["diff"] for win in bed.windows()] == [True, True]
    assert bed.window("review")
    bed.close("rejected")
    assert bed.windows() == before
    assert [bed.options(win["win"]) for win in bed.windows()] == options


def test_from_a_terminal_into_a_tab_of_its_own(bed: Reviews) -> None:
    bed.nvim.command(f"set showtabline=2 | vertical diffsplit {bed.project / 'b.txt'}")
    bed.nvim.command(TERMINAL)
    bed.nvim.feed("iab")
    before = bed.windows()
    bed.show()
    assert bed.told() == ["Claude Code proposes a change of a.txt: see tab page 2"]
    assert bed.windows() == before
    assert bed.nvim.mode() == "t"
    bed.nvim.feed("cd<CR>")
    wait_until(lambda: bed.lines(before[2]["buf"])[1] == "abcd", "the terminal's echo")
    bed.close("accepted")
    assert bed.windows() == before
    assert bed.nvim.mode() == "t"


def test_a_tab_of_its_own_closed_by_the_user(bed: Reviews) -> None:
    bed.nvim.command(f"set showtabline=2 | vertical diffsplit {bed.project / 'b.txt'}")
    before = bed.windows()
    bed.show()
    assert len(bed.nvim.api.api.list_tabpages()) == 2
    bed.nvim.feed(":tabclose<CR>")
    bed.wait_closed()
    assert bed.windows() == before
    assert len(bed.events()) == 1


def test_no_room_for_a_split(tmp_path: Path) -> None:
    with Reviews(tmp_path, size=(12, 10)) as bed:
        before = bed.windows()
        bed.show()
        assert bed.window("review")
        bed.close("rejected")
        assert bed.windows() == before


def test_a_second_call_shows_nothing_twice(bed: Reviews) -> None:
    bed.show()
    before = bed.windows()
    bed.show()
    assert bed.windows() == before
