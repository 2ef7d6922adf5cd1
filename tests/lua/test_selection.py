"""The rows of the seed's table of selections, and when the host is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import Neovim, wait_until

PUSHED_BYTES = 64 * 1024
"""The cap that the help promises."""

NOTHING = {
    "path": "",
    "start_line": 0,
    "start_character": 0,
    "end_line": 0,
    "end_character": 0,
    "text": "",
    "truncated": False,
}


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "nvim") as nvim:
        nvim.play_host()
        yield nvim


@pytest.fixture
def file(nvim: Neovim, tmp_path: Path) -> Path:
    """A file of a few lines in the current window, pushed as the first selection."""
    path = tmp_path / "a é #%.txt"
    path.write_text("one two\n日本語\n\nlast\n")
    edit(nvim, path)
    nvim.call("track", {"enabled": True})
    nvim.wait_event("selection", lambda s: s["path"] == str(path))
    return path


def edit(nvim: Neovim, path: Path) -> None:
    nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))


def pushed(nvim: Neovim) -> list[Any]:
    """All selections pushed once everything that is on its way has come."""
    # longer than the throttle and the hold together: what they delay comes before the mark
    nvim.lua("vim.defer_fn(function() require('agent_ide.rpc').notify('mark') end, 150)")
    marks = len(nvim.named("mark"))
    wait_until(lambda: len(nvim.named("mark")) > marks, "the mark")
    return nvim.named("selection")


def ends(selection: Any) -> tuple[int, int, int, int, str]:
    return (
        selection["start_line"],
        selection["start_character"],
        selection["end_line"],
        selection["end_character"],
        selection["text"],
    )


def wait_ends(nvim: Neovim, *expected: Any) -> Any:
    return nvim.wait_event("selection", lambda s: ends(s) == expected)


def read(nvim: Neovim) -> Any:
    return nvim.call("selection.read").get("selection")


# The seed's table: name, text, options, keys, start, end, text of the selection.
TABLE = [
    ("cursor", "one\ntwo", "", "jl", (1, 1, 1, 1, "")),
    ("v", "one two", "", "wve", (0, 4, 0, 7, "two")),
    ("v backwards", "one two", "", "$vb", (0, 4, 0, 7, "two")),
    ("v on bytes", "日本語", "", "lv", (0, 3, 0, 6, "本")),
    ("v over lines", "one\ntwo\nxyz", "", "lvjj", (0, 1, 2, 2, "ne\ntwo\nxy")),
    ("v on an empty line", "a\n\nb", "", "jv", (1, 0, 2, 0, "\n")),
    ("v on an empty last line", "a\n", "", "jv", (1, 0, 1, 1, "")),
    ("v$", "one\ntwo", "", "lv$", (0, 1, 1, 0, "ne\n")),
    ("v$ on the last line", "one", "", "v$", (0, 0, 0, 3, "one")),
    ("v$ on an empty last line", "a\n", "", "jv$", (1, 0, 1, 1, "")),
    ("v$ with all", "one\ntwo", "virtualedit=all", "v$", (0, 0, 0, 3, "one")),
    ("v$ with all, empty line", "\ntwo", "virtualedit=all", "v$", (0, 0, 0, 1, "")),
    ("V", "one\ntwo\nxyz", "", "lVj", (0, 0, 1, 3, "one\ntwo")),
    ("V, empty end", "one\n\nxyz", "", "Vj", (0, 0, 2, 0, "one\n\n")),
    ("V, empty last line", "one\n", "", "Vj", (0, 0, 1, 1, "one\n")),
    ("block", "abcd\nefgh\nijkl", "", "l<C-v>jl", (0, 1, 1, 3, "bcd\nefg")),
    ("block to the left", "abcd\nefgh", "", "ll<C-v>jh", (0, 2, 1, 2, "cd\nef")),
    ("block$", "ab\ncdef", "", "<C-v>j$", (0, 0, 1, 4, "ab\ncdef")),
    ("block, empty row", "ab\n\nc", "", "<C-v>j", (0, 0, 1, 1, "ab\n")),
    ("exclusive v", "abcd", "selection=exclusive", "vll", (0, 0, 0, 2, "ab")),
    ("exclusive, one position", "abcd", "selection=exclusive", "v", (0, 0, 0, 1, "a")),
    ("exclusive, to an empty line", "ab\n\nc", "selection=exclusive", "vj", (0, 0, 1, 0, "ab\n")),
    ("exclusive block", "abcd\nefgh", "selection=exclusive", "<C-v>jll", (0, 0, 1, 2, "abcd\nef")),
    ("exclusive block, empty", "ab\n\nc", "selection=exclusive", "<C-v>j", (0, 0, 1, 1, "ab\n")),
    ("select mode", "one two", "", "gh<C-g>e<C-g>", (0, 0, 0, 3, "one")),
    ("select linewise", "one\ntwo", "", "gHj", (0, 0, 0, 3, "one")),
    (
        "select blockwise",
        "abc\ndef",
        "selectmode=cmd",
        "<C-v><C-g>jl<C-g>",
        (0, 0, 1, 2, "abc\nde"),
    ),
    ("composing", "e\u0301x", "", "v", (0, 0, 0, 3, "e\u0301")),
    ("invalid byte", "\udcff\u0301x", "", "v", (0, 0, 0, 1, "\udcff")),
    ("TAB and composing", "\t\u0301x", "", "v", None),
]


@pytest.mark.parametrize(
    ("text", "options", "keys", "expected"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_table(
    nvim: Neovim, tmp_path: Path, text: str, options: str, keys: str, expected: Any
) -> None:
    edit(nvim, tmp_path / "new.txt")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", text.split("\n"))
    if options:
        nvim.command(f"set {options}")
    if keys == "gHj":
        keys = "gH"  # in Select mode a letter replaces the text
    nvim.feed(keys)
    if expected is None:
        clusters = nvim.eval("has('nvim-0.11')")
        expected = (0, 0, 0, 1, "\t") if clusters else (0, 0, 0, 3, "\t\u0301")
    assert ends(read(nvim)) == expected


def test_graphemes_count_as_neovim_counts(nvim: Neovim, tmp_path: Path) -> None:
    edit(nvim, tmp_path / "new.txt")
    family = "👩\u200d👩\u200d👧"
    nvim.lua("vim.api.nvim_set_current_line(...)", family + "x")
    nvim.feed("v")
    selected = read(nvim)["text"]
    nvim.feed("y")
    assert selected == nvim.eval("getreg()")
    assert nvim.eval("has('nvim-0.11')") == 0 or selected == family


def test_the_whole_is_sent_when_a_client_comes(nvim: Neovim, file: Path) -> None:
    first = nvim.named("selection")[0]
    assert ends(first) == (0, 0, 0, 0, "")
    assert first["truncated"] is False
    nvim.call("track", {"enabled": True})
    nvim.wait_event("buffers")
    assert pushed(nvim) == [first, first]


def test_nothing_is_watched_without_a_client(nvim: Neovim, file: Path) -> None:
    count = "return #vim.tbl_filter(function(a) return (a.group_name or ''):find('^agent_ide') end,"
    count += " vim.api.nvim_get_autocmds({}))"
    assert nvim.lua(count) > 0
    nvim.call("track", {"enabled": False})
    assert nvim.lua(count) == 0
    before = len(pushed(nvim))
    nvim.feed("jvj")
    assert len(pushed(nvim)) == before


def test_leading_edge_then_throttle_and_the_last_one_always(nvim: Neovim, file: Path) -> None:
    pushed(nvim)
    taken = nvim.lua(
        """
        local seen, start = {}, vim.uv.hrtime()
        local rpc = require("agent_ide.rpc")
        local notify = rpc.notify
        rpc.notify = function(name, payload)
          if name == "selection" then
            seen[#seen + 1] = { (vim.uv.hrtime() - start) / 1e6, payload.end_character }
          end
          return notify(name, payload)
        end
        for col = 1, 6 do
          vim.api.nvim_win_set_cursor(0, { 1, col })
          vim.api.nvim_exec_autocmds("CursorMoved", { buffer = 0 })
        end
        local at_once = #seen
        vim.wait(2000, function() return #seen > 1 end, 5)
        rpc.notify = notify
        return { at_once, seen }
        """
    )
    at_once, seen = taken
    assert at_once == 1
    assert [column for _, column in seen] == [1, 6]
    assert seen[1][0] - seen[0][0] >= 45


def test_equal_ones_are_not_repeated(nvim: Neovim, file: Path) -> None:
    before = len(pushed(nvim))
    nvim.feed("lh")
    nvim.lua("vim.api.nvim_exec_autocmds('CursorMoved', {})")
    assert all(
        ends(s) != ends(t) for s, t in zip(*(pushed(nvim)[i:] for i in (0, 1)), strict=False)
    )
    nvim.lua("vim.api.nvim_exec_autocmds('TextChanged', {})")
    assert len(pushed(nvim)) <= before + 2


def test_visual_mode_ends_in_the_cursor(nvim: Neovim, file: Path) -> None:
    nvim.feed("ve")
    wait_ends(nvim, 0, 0, 0, 3, "one")
    nvim.feed("<Esc>")
    assert ends(pushed(nvim)[-1]) == (0, 2, 0, 2, "")


@pytest.mark.parametrize("keys", ["ve", "vwh", "V", "<C-v>l"])
def test_a_selection_is_held_in_a_terminal(nvim: Neovim, file: Path, keys: str) -> None:
    nvim.command("split | terminal cat")
    nvim.command("wincmd p")
    nvim.feed(keys)
    held = ends(nvim.wait_event("selection", lambda s: s["text"] != ""))
    nvim.feed("<C-w>w")
    nvim.feed("i")
    assert nvim.mode() == "t"
    assert ends(pushed(nvim)[-1])[4] == held[4]
    assert read(nvim)["text"] == held[4]
    nvim.feed("<C-\\><C-n>kj")
    nvim.feed("<C-w>w")
    assert ends(pushed(nvim)[-1])[4] == held[4]
    nvim.feed("j")
    assert pushed(nvim)[-1]["text"] == ""
    assert read(nvim)["text"] == ""


def test_keys_faster_than_the_throttle_lose_nothing(nvim: Neovim, file: Path) -> None:
    nvim.command("split | terminal cat")
    nvim.command("wincmd p")
    nvim.feed("gg0vjj<C-w>w")
    assert ends(pushed(nvim)[-1]) == (0, 0, 3, 0, "one two\n日本語\n\n")


def test_a_command_from_visual_mode_keeps_it_until_it_is_over(nvim: Neovim, file: Path) -> None:
    nvim.feed("ve")
    wait_ends(nvim, 0, 0, 0, 3, "one")
    nvim.feed(":")
    assert ends(pushed(nvim)[-1]) == (0, 0, 0, 3, "one")
    assert read(nvim)["text"] == "one"
    nvim.feed("let g:done = 1<CR>")
    assert ends(pushed(nvim)[-1])[4] == ""


def test_a_command_that_goes_to_the_terminal_holds_it(nvim: Neovim, file: Path) -> None:
    nvim.command("split | terminal cat")
    nvim.command("wincmd p")
    nvim.command("command! -range Go wincmd w")
    nvim.feed("ve:Go<CR>")
    assert ends(pushed(nvim)[-1]) == (0, 0, 0, 3, "one")


def test_going_to_another_file_ends_the_hold(nvim: Neovim, file: Path, tmp_path: Path) -> None:
    nvim.command("split | terminal cat")
    nvim.command("wincmd p")
    nvim.feed("ve<C-w>w")
    wait_ends(nvim, 0, 0, 0, 3, "one")
    nvim.lua("vim.cmd.vsplit(vim.fn.fnameescape(...))", str(tmp_path / "other.txt"))
    last = pushed(nvim)[-1]
    assert last["path"] == str(tmp_path / "other.txt")
    assert last["text"] == ""


@pytest.mark.parametrize(
    "command",
    [
        "split | terminal cat",
        "silent! help",
        "copen",
        "new | set buftype=nofile",
        "new | set buftype=acwrite | file proposal",
        "new",
        "new oil:///tmp/",
        "new /",
        "call nvim_open_win(nvim_create_buf(0, 1), 1, #{relative: 'editor', row: 1, col: 1,"
        " width: 9, height: 2})",
        "",
    ],
)
def test_what_is_no_file_changes_nothing(nvim: Neovim, file: Path, command: str) -> None:
    nvim.feed("j")
    wait_ends(nvim, 1, 0, 1, 0, "")
    before = pushed(nvim)
    if command:
        nvim.command(command)
    else:
        nvim.feed("q:")
    nvim.feed("jklhvlj<Esc>")
    assert pushed(nvim) == before
    assert ends(read(nvim)) == (1, 0, 1, 0, "")


def test_a_review_in_place_of_the_file_changes_nothing(nvim: Neovim, file: Path) -> None:
    review = {"id": 1, "agent": "claude", "path": str(file), "tab_name": "tab", "is_new": False}
    nvim.call("review.show", {**review, "text": "x\n"})
    nvim.feed("jk")
    nvim.call("review.close", {"id": 1, "reason": "rejected"})
    nvim.feed("j")
    wait_ends(nvim, 1, 0, 1, 0, "")
    assert NOTHING not in pushed(nvim)


def test_the_last_file_window_closed_clears(nvim: Neovim, file: Path) -> None:
    nvim.command("split | terminal cat")
    nvim.command("wincmd p | close")
    assert pushed(nvim)[-1] == NOTHING
    assert read(nvim) is None


def test_a_buffer_without_a_name_alone_is_nothing(nvim: Neovim, file: Path) -> None:
    nvim.command("enew")
    nvim.feed("iabc<Esc>")
    assert pushed(nvim)[-1] == NOTHING
    nvim.command("file named.txt")
    assert pushed(nvim)[-1]["path"].endswith("/named.txt")


def test_a_new_file_is_a_file(nvim: Neovim, file: Path, tmp_path: Path) -> None:
    edit(nvim, tmp_path / "not there yet")
    assert pushed(nvim)[-1]["path"] == str(tmp_path / "not there yet")


def test_what_is_not_to_be_shared_is_nothing(nvim: Neovim, file: Path, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET=1\n")
    (tmp_path / "link.txt").symlink_to(tmp_path / ".env")
    for name in (".env", "link.txt"):
        edit(nvim, tmp_path / name)
        nvim.feed("V")
        pushed_now = pushed(nvim)
        assert pushed_now[-1] == NOTHING
        assert read(nvim) is None
        assert "SECRET" not in str(nvim.events)
        nvim.feed("<Esc>")


def test_the_push_is_cut_at_a_line_and_the_tool_gets_all(nvim: Neovim, file: Path) -> None:
    lines = [f"{number:06} " + "é" * 40 for number in range(5000)]
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", lines)
    nvim.feed("ggVG")
    cut = nvim.wait_event("selection", lambda s: s["truncated"])
    assert ends(cut)[:4] == (0, 0, 4999, len(lines[0].encode()))
    assert PUSHED_BYTES - 100 < len(cut["text"].encode()) <= PUSHED_BYTES
    assert "\n".join(lines).startswith(cut["text"] + "\n")
    whole = read(nvim)
    assert whole["text"] == "\n".join(lines)
    assert whole["truncated"] is False


def test_one_line_over_the_limit_is_cut_at_a_character(nvim: Neovim, file: Path) -> None:
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", ["x" + "日" * 100_000, "y"])
    nvim.feed("ggVG")
    cut = nvim.wait_event("selection", lambda s: s["truncated"])
    assert cut["text"] == "x" + "日" * ((PUSHED_BYTES - 1) // 3)


def test_held_text_over_the_limit_is_read_whole(nvim: Neovim, file: Path) -> None:
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", ["x" * 99] * 4000)
    nvim.command("split | terminal cat")
    nvim.command("wincmd p")
    nvim.feed("ggVG<C-w>w")
    nvim.wait_event("selection", lambda s: s["truncated"])
    assert len(read(nvim)["text"]) == 4000 * 100 - 1


def test_without_tracking_it_is_read_when_asked(nvim: Neovim, tmp_path: Path) -> None:
    nvim.lua("require('agent_ide.config').setup({ track_selection = false })")
    path = tmp_path / "a.txt"
    path.write_text("one two\n")
    edit(nvim, path)
    nvim.call("track", {"enabled": True})
    nvim.feed("ve")
    assert pushed(nvim) == []
    assert ends(read(nvim)) == (0, 0, 0, 3, "one")
    nvim.command("split | terminal cat")
    assert read(nvim)["text"] == "one"
    assert pushed(nvim) == []


@pytest.mark.parametrize("keys", ["ve<Cmd>Snap<CR>", "ve:SnapRange<CR>"])
def test_what_was_selected_before_the_agent_came(nvim: Neovim, tmp_path: Path, keys: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two\n")
    edit(nvim, path)
    snapshot = "lua require('agent_ide.selection').snapshot"
    nvim.command(f"command! Snap {snapshot}() vim.cmd('split | terminal cat')")
    nvim.command(f"command! -range SnapRange {snapshot}(true) vim.cmd('split | terminal cat')")
    nvim.feed(keys)
    nvim.call("track", {"enabled": True})
    wait_ends(nvim, 0, 0, 0, 3, "one")


def test_before_the_agent_came_the_cursor_counts_too(nvim: Neovim, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two\n")
    edit(nvim, path)
    nvim.feed("w")
    nvim.command("split | terminal cat")
    nvim.call("track", {"enabled": True})
    wait_ends(nvim, 0, 4, 0, 4, "")


def test_invalid_bytes_keep_the_offsets(nvim: Neovim, file: Path) -> None:
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", ["\udcff\udcfeab"])
    nvim.feed("gg0llvl")
    selection = pushed(nvim)[-1]
    assert ends(selection) == (0, 2, 0, 4, "ab")


def test_no_error_reaches_the_user(nvim: Neovim, file: Path) -> None:
    nvim.lua("require('agent_ide.region').text = function() error('broken') end")
    nvim.feed("vj<Esc>jk")
    pushed(nvim)
    assert nvim.eval("v:errmsg") == ""
    assert nvim.eval("execute('messages')").strip().find("broken") == -1
