"""What the user typed into a proposal outlives a review that nobody wants any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import Neovim, wait_until

from .reviews import OLD, PROPOSED, Reviews

LIST = "return require('agent_ide.diff.kept').list()"


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as reviews:
        yield reviews


def kept(bed: Reviews) -> list[Any]:
    return list(bed.nvim.lua(LIST))


def test_a_changed_proposal_is_kept_when_withdrawn(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("Gomine<Esc>")
    bed.close("withdrawn")
    bed.is_gone()
    assert bed.told() == ["what you changed in the proposal for a.txt is kept: :AgentIde recover"]
    (entry,) = kept(bed)
    assert entry["path"] == str(bed.file)
    file = Path(entry["file"])
    assert file.is_relative_to(bed.nvim.home / "state")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_clock_that_was_set_back_makes_nothing_old(bed: Reviews) -> None:
    """Only so many are kept, and the oldest goes first: never the one of just now."""
    add = """
      local name = ...
      require("agent_ide.diff.kept").add({ path = "/" .. name, tab_name = name }, "text")
    """
    bed.nvim.lua(add, "first")
    (first,) = kept(bed)
    future = Path(first["file"]).parent
    for number in range(50):
        copy = future / f"{4_000_000_000 + number:012d}-000000"
        copy.write_bytes(Path(first["file"]).read_bytes())
        copy.chmod(0o600)
    for name in ("one", "two", "three"):
        bed.nvim.lua(add, name)
    assert [entry["tab_name"] for entry in kept(bed)][:4] == ["three", "two", "one", "first"]


@pytest.mark.parametrize("written", [False, True])
def test_what_was_accepted_and_not_written_outlives_the_host(bed: Reviews, written: bool) -> None:
    """Its client has let it go: only the host would see that it is not written."""
    bed.show()
    bed.nvim.feed("Gomine<Esc>:w<CR>")
    text = bed.wait_accepted()
    bed.close("accepted")
    bed.is_gone()
    if written:
        bed.file.write_text(text)
    bed.nvim.lua("require('agent_ide.diff').host_gone()")
    assert [Path(entry["file"]).read_text().endswith(text) for entry in kept(bed)] == (
        [] if written else [True]
    )
    bed.nvim.lua("require('agent_ide.diff').host_gone()")
    assert len(kept(bed)) == (0 if written else 1), "once is enough"


@pytest.mark.parametrize("reason", ["accepted", "rejected"])
def test_not_after_a_verdict(bed: Reviews, reason: str) -> None:
    bed.show()
    bed.nvim.feed("Gomine<Esc>")
    bed.close(reason)
    assert kept(bed) == []


def test_an_unchanged_proposal_is_not_kept(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("xu")
    bed.close("withdrawn")
    assert kept(bed) == []
    assert bed.told() == []


def test_the_users_own_closing_keeps_nothing(bed: Reviews) -> None:
    bed.show()
    bed.nvim.feed("Gomine<Esc>:q<CR>")
    bed.wait_closed()
    assert kept(bed) == []


def test_recover_opens_what_is_chosen(bed: Reviews) -> None:
    for word in ("first", "second"):
        bed.show()
        bed.nvim.feed(f"ggO{word}<Esc>")
        bed.close("withdrawn")
    bed.nvim.lua(
        """
        vim.ui.select = function(items, options, on_choice)
          _G.offered = vim.tbl_map(options.format_item, items)
          on_choice(items[2])
        end
        require('agent_ide.diff.kept').pick()
        """
    )
    offered = bed.nvim.lua("return _G.offered")
    assert len(offered) == 2
    assert all("a.txt" in line for line in offered)
    assert bed.nvim.eval("getline(1, '$')") == ["first", *PROPOSED.splitlines()]
    assert bed.nvim.eval("&buftype") == "nofile"
    assert bed.lines(bed.nvim.lua("return vim.fn.bufnr(...)", str(bed.file))) == OLD.splitlines()


def test_it_outlives_neovim(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        bed.show("a\r\nb\r\n\0é")
        bed.nvim.feed("ggOmine<Esc>")
        bed.close("withdrawn")
    with Neovim(tmp_path / "nvim") as nvim:
        assert len(nvim.lua(LIST)) == 1
        nvim.lua(f"local kept = require('agent_ide.diff.kept') kept.open(({LIST[7:]})[1])")
        assert nvim.eval("getline(1, '$')") == ["mine", "a", "b", "\né"]


def test_nothing_is_kept(bed: Reviews) -> None:
    bed.nvim.lua("require('agent_ide.diff.kept').pick()")
    assert bed.told() == ["no proposal is kept"]


def test_a_folder_that_cannot_be_written_loses_nothing(bed: Reviews) -> None:
    state = bed.nvim.lua("return vim.fn.stdpath('state')")
    Path(state, "agent_ide").mkdir(parents=True)
    Path(state, "agent_ide", "kept").write_text("in the way")
    bed.show()
    bed.nvim.feed("Gomine<Esc>")
    bed.close("withdrawn")
    (entry,) = kept(bed)
    assert entry["text"] == PROPOSED + "mine\n"
    bed.nvim.lua(f"require('agent_ide.diff.kept').open(({LIST[7:]})[1])")
    assert bed.nvim.eval("getline('$')") == "mine"


def test_only_so_many_are_kept(bed: Reviews) -> None:
    bed.nvim.lua(
        "for i = 1, 60 do require('agent_ide.diff.kept').add("
        "{ path = '/p/a', tab_name = 't' }, tostring(i)) end"
    )
    assert len(kept(bed)) == 50
    bed.nvim.lua(f"require('agent_ide.diff.kept').open(({LIST[7:]})[1])")
    assert bed.nvim.eval("getline(1)") == "60"


def test_the_host_may_keep_a_text(bed: Reviews) -> None:
    bed.nvim.call("review.keep", {"path": str(bed.file), "tab_name": "t", "text": "x\n"})
    assert [entry["tab_name"] for entry in kept(bed)] == ["t"]


def test_the_host_is_gone(bed: Reviews) -> None:
    before = bed.windows()
    bed.show()
    bed.nvim.feed("Gomine<Esc>")
    bed.show(number=2)
    bed.close("hidden", 2)
    bed.nvim.lua("require('agent_ide.rpc').detach() require('agent_ide.diff').host_gone()")
    wait_until(lambda: bed.windows() == before, "the windows")
    bed.is_gone()
    assert len(kept(bed)) == 1
    assert bed.events() == []
    # a new host begins with the same numbers
    bed.nvim.play_host()
    bed.show()
    bed.nvim.feed(":w<CR>")
    assert bed.wait_accepted() == PROPOSED
