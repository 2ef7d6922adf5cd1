"""How a review looks: its winbar, its kinds of view, and the screen that a user sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import wait_until

from .reviews import OLD, PROPOSED, Reviews

INLINE = "{ diff = { layout = 'inline' } }"


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as reviews:
        reviews.nvim.command(f"cd {reviews.project}")
        yield reviews


def background(bed: Reviews, text: str, offset: int = 0) -> Any:
    """The background of a cell: that of a text's first one, or some cells further."""
    screen = bed.nvim.wait_screen(text).split("\n")
    assert bed.nvim.screen
    row = next(i for i, line in enumerate(screen) if text in line)
    cell = bed.nvim.screen.cells[row][screen[row].index(text) + offset]
    return bed.nvim.screen.highlights.get(cell[1], {}).get("background")


def colour(bed: Reviews, group: str) -> Any:
    code = "return vim.api.nvim_get_hl(0, { name = ..., link = false }).bg"
    return bed.nvim.lua(code, group)


# -- the first drawing ---------------------------------------------------------------------

RECORD_DRAWINGS = """
local drawings = {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace("test"), {
  on_end = function()
    local seen = vim.tbl_filter(function(win)
      return vim.wo[win].diff
    end, vim.api.nvim_list_wins())
    if #seen > 0 then
      table.insert(drawings, vim.tbl_map(function(win)
        return { vim.fn.getwininfo(win)[1].winbar, vim.api.nvim_win_get_cursor(win)[1] }
      end, seen))
    end
  end,
})
_G.drawings = drawings
"""


def test_it_is_drawn_before_the_differences_are_known(tmp_path: Path) -> None:
    """Both sides, and no line of them moves when the rest follows: the winbars are there."""
    old = "".join(f"line {number}\n" for number in range(1, 11))
    with Reviews(tmp_path, old=old.encode()) as bed:
        bed.nvim.lua(RECORD_DRAWINGS)
        bed.show(old.replace("line 5\n", "line five\n"))
        wait_until(lambda: "+1 -1" in bed.winbars()[1], "the counts")
        drawings = bed.nvim.lua("return _G.drawings")
        assert drawings[0] == [[1, 1], [1, 1]]
        assert {(bar, len(windows)) for windows in drawings for bar, _ in windows} == {(1, 2)}
        assert bed.nvim.eval("line('.')") == 5


def test_colours_follow(tmp_path: Path) -> None:
    """Those of the file as it is edited, on both sides."""
    with Reviews(tmp_path, old=b"int x; // old\n") as bed:
        bed.nvim.command("syntax on | set filetype=c")
        bed.show("int y; // new\n")
        code = """
        return vim.tbl_map(function(win)
          return vim.bo[vim.api.nvim_win_get_buf(win)].syntax
            .. tostring(vim.treesitter.highlighter.active[vim.api.nvim_win_get_buf(win)] ~= nil)
        end, vim.api.nvim_list_wins())
        """
        left, right = bed.nvim.lua(code)
        assert left == right
        assert left in ("ctrue", "true", "cfalse")


# -- the winbar ----------------------------------------------------------------------------


def test_the_winbar_says_what_it_is_in_the_room_it_has(bed: Reviews) -> None:
    bed.show()
    assert bed.winbars() == [
        "on disk: a.txt",
        r"Claude Code: a.txt  +1 -1           \y accepts, \n rejects",
    ]
    wide = r"\y or :w accepts, \n or :q rejects; a hunk: \hy \hn"
    short = r"\y accepts, \n rejects"
    for columns, ends in [(200, wide), (100, short), (60, r"\y \n"), (20, "a.txt")]:
        bed.nvim.api.api.ui_try_resize(columns, 40)
        wait_until(lambda e=ends: bed.winbars()[1].endswith(e), f"{ends!r}: {bed.winbars()}")
    # narrow, and still both are there
    assert [bar[-5:] for bar in bed.winbars()] == ["a.txt", "a.txt"]


def test_the_winbar_counts_what_waits_and_what_is_typed(bed: Reviews) -> None:
    bed.show()
    bed.status({"id": 1}, {"id": 2, "state": "queued"}, {"id": 3, "state": "accepted"})
    wait_until(lambda: "a.txt  1/2  +1 -1" in bed.winbars()[1], "its turn")
    bed.status({"id": 2, "state": "queued"}, {"id": 1})
    wait_until(lambda: "a.txt  2/2  +1 -1" in bed.winbars()[1], "its turn")
    bed.nvim.feed("Gofour<Esc>")
    wait_until(lambda: "+2 -1" in bed.winbars()[1], "the count")
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    assert bed.winbars()[1].endswith("accepted")


def test_the_winbar_warns_in_words(bed: Reviews) -> None:
    bed.nvim.api.api.ui_try_resize(240, 40)
    bed.nvim.feed("ccmine<Esc>")
    bed.show(writes="proposed", agent="Copilot CLI")
    unsaved, own = "your unsaved changes are not in this diff", "Copilot CLI writes its own text"
    assert bed.winbars()[0] == f"on disk: a.txt  {unsaved}, {own}"
    bed.file.write_text("by hand\n")
    bed.status({"id": 1, "stale": "changed on disk"})
    wait_until(lambda: f"changed on disk, {unsaved}" in bed.winbars()[0], "the warning")
    # the old side is the file as it is now
    assert bed.lines(bed.window("disk")["buf"]) == ["by hand"]
    save = "vim.api.nvim_buf_call(vim.fn.bufnr(...), function() vim.cmd('silent write!') end)"
    bed.nvim.lua(save, str(bed.file))
    wait_until(lambda: unsaved not in bed.winbars()[0], "the warning's end")
    bed.close("rejected")
    bed.status()
    bed.show(path=bed.project / "folder" / "new.txt")
    assert bed.winbars()[0] == "new file, not on disk yet: folder/new.txt  new folder"


def test_the_winbar_is_clicked(bed: Reviews) -> None:
    bed.nvim.command("set mouse=a")
    for word, verdict in [("rejects", "reject"), ("accepts", "accept")]:
        bed.show()
        line = bed.nvim.wait_screen(word).split("\n")[0]
        bed.nvim.api.api.input_mouse("left", "press", "", 0, 0, line.index(word))
        bed.nvim.api.api.input_mouse("left", "release", "", 0, 0, line.index(word))
        event = bed.nvim.wait_event("review", lambda payload, v=verdict: payload["event"] == v)
        assert event["id"] == 1
        bed.close("rejected")


def test_names_and_texts_are_no_items_of_the_winbar(tmp_path: Path) -> None:
    with Reviews(tmp_path, size=(200, 30)) as bed:
        bed.nvim.command(f"cd {bed.project}")
        bed.show(path=bed.project / "100%= %{1}\n#é.txt")
        assert "100%= %{1}^@#é.txt" in bed.winbars()[0]
        assert "Claude Code: 100%= %{1}^@#é.txt" in bed.winbars()[1]


# -- inline --------------------------------------------------------------------------------

BEFORE = ["zero", "one", "two two two", "three", "four", "five", "six"]
AFTER = ["one", "two 2 two", "three", "new", "four", "six"]


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def inline(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path, config=INLINE, old=joined(BEFORE).encode(), size=(70, 20)) as reviews:
        reviews.nvim.command(f"cd {reviews.project}")
        yield reviews


def test_inline_on_the_screen(inline: Reviews) -> None:
    bed = inline
    before = bed.windows()
    bed.show(joined(AFTER))
    assert len(bed.windows()) == 1
    screen = bed.nvim.wait_screen("two 2 two")
    assert screen.split("\n")[:10] == [
        r" Claude Code: a.txt  +2 -3         \y or :w accepts, \n or :q rejects",
        "  zero",
        "‾ one",
        "  two two two",
        "~ two 2 two",
        "  three",
        "+ new",
        "_ four",
        "  five",
        "  six",
    ]
    add, delete, text = (colour(bed, group) for group in ("DiffAdd", "DiffDelete", "DiffText"))
    assert len({add, delete, text}) == 3
    assert background(bed, "+ new", 2) == background(bed, "two 2 two") == add
    assert background(bed, "zero") == background(bed, "five") == delete
    assert background(bed, "two 2 two", 4) == text
    assert background(bed, "two two two", 4) == text
    assert background(bed, "three") is None
    # a colour scheme, and what the user sets, count at once
    bed.nvim.command("colorscheme blue")
    bed.nvim.command("highlight DiffAdd guibg=#123456")
    wait_until(lambda: background(bed, "+ new", 2) == 0x123456, "the colour")
    # it follows what is typed, and is gone without a trace
    bed.nvim.feed("jjddggOfirst<Esc>")
    wait_until(lambda: "~ first" in bed.nvim.screen_text(), "the new difference")
    bed.close("rejected")
    assert bed.windows() == before
    assert bed.nvim.wait_screen("three").split("\n")[0] == "zero"
    bed.is_gone()


@pytest.mark.parametrize(
    ("old", "new"),
    [("", "a\nb\n"), ("a\nb\n", ""), ("a\n", "b"), ("a", "a\n"), ("a\n" * 3000, "b\n" * 5)],
)
def test_inline_of_extremes(tmp_path: Path, old: str, new: str) -> None:
    with Reviews(tmp_path, config=INLINE, old=old.encode()) as bed:
        bed.show(new)
        bed.nvim.feed("yyp:undo<CR>:w<CR>")
        assert bed.wait_accepted() == new
        bed.close("accepted")
        bed.is_gone()


@pytest.mark.parametrize("layout", ["vertical", "horizontal", "inline"])
def test_a_tab_page_of_its_own(tmp_path: Path, layout: str) -> None:
    options = f"{{ diff = {{ layout = '{layout}', tab = true }} }}"
    with Reviews(tmp_path, config=options) as bed:
        before = bed.windows()
        bed.show()
        assert len(bed.nvim.api.api.list_tabpages()) == 2
        assert bed.window("review")["current"]
        assert len(bed.windows()) == (1 if layout == "inline" else 2)
        bed.nvim.feed(":w<CR>")
        bed.wait_accepted()
        bed.close("accepted")
        assert bed.windows() == before
        bed.is_gone()


def test_the_layout_changes_while_a_review_is_open(bed: Reviews) -> None:
    before = bed.windows()
    bed.show()
    bed.nvim.feed("Gomine<Esc>")
    for layout, count in [("inline", 1), ("horizontal", 2), ("vertical", 2), ("inline", 1)]:
        bed.nvim.lua("require('agent_ide.diff').set_layout(...)", layout)
        assert len(bed.windows()) == count
        window = bed.window("review")
        assert window["current"]
        assert window["diff"] is (count == 2)
        assert bed.lines(window["buf"]) == [*PROPOSED.splitlines(), "mine"]
        assert bed.nvim.eval("getline('.')") == "mine"
    # and without the cursor it stays where it is
    bed.nvim.lua("require('agent_ide.diff').set_layout('vertical')")
    bed.nvim.command("botright new")
    bed.nvim.lua("require('agent_ide.diff').set_layout('horizontal')")
    assert bed.nvim.eval("bufname()") == ""
    bed.nvim.command("quit")
    assert bed.events() == []
    bed.nvim.lua("require('agent_ide.diff').focus(1)")
    bed.nvim.feed(":w<CR>")
    assert bed.wait_accepted() == PROPOSED + "mine\n"
    bed.close("accepted")
    assert bed.windows() == before
    # later ones open so, too
    bed.show(number=2)
    assert bed.window("disk", 2)["position"][0] < bed.window("review", 2)["position"][0]


# -- hunks ---------------------------------------------------------------------------------

HUNKS_OLD = [f"line {number}" for number in range(30)]
HUNKS_NEW = [*HUNKS_OLD[:5], "five", *HUNKS_OLD[6:12], *HUNKS_OLD[14:20], "new", *HUNKS_OLD[20:]]


@pytest.mark.parametrize("layout", ["vertical", "inline"])
def test_hunk_by_hunk(tmp_path: Path, layout: str) -> None:
    options = f"{{ diff = {{ layout = '{layout}' }} }}"
    with Reviews(tmp_path, config=options, old=joined(HUNKS_OLD).encode()) as bed:
        bed.show(joined(HUNKS_NEW))
        assert bed.nvim.eval("line('.')") == 6
        # agreed: marked, and on to the next
        bed.nvim.feed("\\hy")
        assert "✓" in bed.nvim.wait_screen("five")
        assert bed.nvim.eval("getline('.')") == "line 11"
        # two removed lines come back; undo and redo work
        bed.nvim.feed("\\hn")
        put_back = [*HUNKS_OLD[:5], "five", *HUNKS_OLD[6:20], "new", *HUNKS_OLD[20:]]
        assert bed.lines(bed.proposal()) == put_back
        bed.nvim.feed("u")
        assert bed.lines(bed.proposal()) == HUNKS_NEW
        bed.nvim.feed("<C-r>")
        # outside of a hunk it goes to the next
        bed.nvim.feed("\\hn")
        assert bed.nvim.eval("getline('.')") == "new"
        bed.nvim.feed("\\hn")
        assert bed.lines(bed.proposal()) == [*HUNKS_OLD[:5], "five", *HUNKS_OLD[6:]]
        bed.nvim.feed("\\hy")
        assert bed.told()[-1] == "no more hunks: accept or reject the whole now"
        bed.nvim.feed("\\y")
        assert bed.wait_accepted() == joined([*HUNKS_OLD[:5], "five", *HUNKS_OLD[6:]])
        bed.nvim.feed("\\hn")
        assert "waiting for Claude Code" in bed.told()[-1]


@pytest.mark.parametrize(("old", "new"), [("a\nb\n", "x\na\n"), ("", "a\n"), ("a\nb\n", "")])
def test_all_hunks_rejected_is_the_old_text(tmp_path: Path, old: str, new: str) -> None:
    with Reviews(tmp_path, old=old.encode()) as bed:
        bed.show(new)
        bed.nvim.feed("gg\\hn\\hn\\hn")
        expected = old.splitlines() or [""]
        assert bed.lines(bed.proposal()) == expected


def test_no_key_of_diff_mode_is_taken(bed: Reviews) -> None:
    bed.show()
    taken = bed.nvim.lua(
        """
        local taken = {}
        for lhs in ("do dp ]c [c u <C-r> zo zc za ZZ ZQ"):gmatch("%S+") do
          taken[lhs] = vim.fn.maparg(lhs, "n")
        end
        return taken
        """
    )
    assert set(taken.values()) == {""}
    code = (
        "vim.tbl_map(function(m) return { m.lhs, m.desc } end, vim.api.nvim_buf_get_keymap(0, 'n'))"
    )
    maps = bed.nvim.lua(f"return {code}")
    assert sorted(lhs for lhs, _ in maps) == ["\\hn", "\\hy", "\\n", "\\y"]
    assert all(description.endswith("proposed by Claude Code") for _, description in maps)
    # Neovim's own way to take the old text
    bed.nvim.feed("do")
    assert bed.lines(bed.proposal()) == OLD.splitlines()


def test_without_keys(tmp_path: Path) -> None:
    with Reviews(tmp_path, config="{ diff = { keys = false } }") as bed:
        bed.show()
        assert bed.nvim.lua("return #vim.api.nvim_buf_get_keymap(0, 'n')") == 0
        assert bed.winbars()[1].endswith(":w accepts, :q rejects")
