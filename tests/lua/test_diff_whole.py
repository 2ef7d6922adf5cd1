"""Reviews from a proposal to what lies on disk, in a real Neovim with a real host.

Each row of a table is one thing that happens, with the answers, buffers and disk afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ide.model import Accepted, Cancelled, Rejected
from tests.support.neovim import Neovim, wait_until
from tests.support.studio import Studio

OLD, NEW = "one\ntwo\n", "one\nTWO\n"


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    with Studio(tmp_path) as studio:
        studio.write("a.txt", OLD)
        studio.nvim.command("edit a.txt")
        yield studio


# -- what may happen to an open review -----------------------------------------------------


@dataclass(frozen=True)
class Row:
    """happens: to the review of a.txt, shown with the cursor; answer: its type, None: none yet."""

    happens: Callable[[Studio], None]
    answer: type | None = Rejected
    shown: bool = False
    kept: bool = False
    windows: list[str] = field(default_factory=lambda: ["a.txt"])


def keys(typed: str) -> Callable[[Studio], None]:
    return lambda studio: studio.nvim.feed(typed)


def resize(studio: Studio) -> None:
    studio.nvim.api.api.ui_try_resize(20, 10)
    wait_until(lambda: studio.nvim.eval("&columns") == 20, "the resize")


def detach(studio: Studio) -> None:
    """As :detach of Neovim 0.12 does: the screen goes, Neovim stays."""
    studio.nvim.api.api.ui_detach()
    studio.nvim.api.api.ui_attach(80, 24, {"rgb": True, "ext_linegrid": True})


def change_and_end_host(studio: Studio) -> None:
    studio.nvim.feed("Gomine<Esc>")
    studio.end_host()


OPEN = ["agent-ide://disk/1/a.txt", "agent-ide://review/1/a.txt"]

ROWS = {
    ":q": Row(keys(":q<CR>")),
    ":tabclose": Row(keys(":tabnew<CR>:tabprevious<CR>:tabclose<CR>"), windows=[""]),
    ":only": Row(keys(":only<CR>")),
    ":bwipeout!": Row(keys(":bwipeout!<CR>")),
    ":%bwipeout!": Row(keys(":silent %bwipeout!<CR>"), windows=[""]),
    ":qa": Row(keys(":qa<CR><CR>"), answer=None, shown=True, windows=OPEN),
    ":wqa": Row(keys(":wqa<CR><CR>"), answer=None, shown=True, windows=OPEN),
    ":wa": Row(keys(":wa<CR>"), answer=None, shown=True, windows=OPEN),
    "a colour scheme": Row(keys(":colorscheme blue<CR>"), answer=None, shown=True, windows=OPEN),
    "20 columns": Row(resize, answer=None, shown=True, windows=OPEN),
    "detach": Row(detach, answer=None, shown=True, windows=OPEN),
    "the host ends": Row(change_and_end_host, answer=None, kept=True),
    "accept": Row(keys(":w<CR>"), answer=Accepted, shown=True, windows=OPEN),
    "reject": Row(keys("\\n")),
    "reject by command": Row(keys(":AgentIde reject<CR>")),
}


@pytest.mark.parametrize("what", ROWS)
def test_what_happens_to_an_open_review(studio: Studio, what: str) -> None:
    row = ROWS[what]
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    row.happens(studio)
    if row.shown:
        assert studio.leftovers()
    else:
        wait_until(lambda: not studio.leftovers(), "its end")
    if row.answer is None:
        assert not studio.answers["a.txt"].done()
    else:
        assert isinstance(studio.answer("a.txt"), row.answer)
    names = "return vim.tbl_map(function(w) return vim.fn.bufname(vim.api.nvim_win_get_buf(w)) end"
    windows = studio.nvim.lua(f"{names}, vim.api.nvim_list_wins())")
    assert windows == row.windows
    assert (studio.project / "a.txt").read_text() == OLD, "nothing is written by the editor"
    assert studio.buffer("a.txt") in [(OLD.splitlines(), False), None]
    kept = studio.nvim.lua("return #require('agent_ide.diff.kept').list()")
    assert kept == int(row.kept)
    if row.shown and row.answer is None:
        # and it still can be decided
        studio.nvim.lua("require('agent_ide.diff').focus(1)")
        studio.nvim.feed(":w<CR>")
        assert studio.answer("a.txt") == Accepted(NEW, unchanged_file=False)


def test_restart_is_refused_as_qa_is(studio: Studio) -> None:
    if studio.nvim.eval("exists(':restart')") != 2:
        pytest.skip("Neovim 0.12 has :restart")
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    studio.nvim.feed(":restart<CR>")
    studio.nvim.wait_screen("E37")
    assert studio.reviews() == {"a.txt": "pending"}
    studio.nvim.feed(":w<CR>")
    assert isinstance(studio.answer("a.txt"), Accepted)


@pytest.mark.parametrize("layout", ["vertical", "inline"])
def test_a_session_holds_nothing_of_a_review(studio: Studio, tmp_path: Path, layout: str) -> None:
    studio.nvim.command("botright 5split b.txt | wincmd t | set number")
    studio.nvim.lua("require('agent_ide.diff.view').choose(...)", layout)
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    session = tmp_path / "session.vim"
    studio.nvim.command(f"mksession {session}")
    off = "lua vim.g.agent_ide = { auto_start = false }"
    with Neovim(tmp_path / "again", plugin=True, args=["--cmd", off, "-S", str(session)]) as nvim:
        names = nvim.lua(
            "return vim.tbl_map(function(w) return vim.fn.bufname(vim.api.nvim_win_get_buf(w)) end,"
            " vim.api.nvim_list_wins())"
        )
        assert names == ["a.txt", "b.txt"]
        assert not [
            name for name in nvim.lua("return vim.fn.getcompletion('', 'buffer')") if "://" in name
        ]
        options = "return { vim.wo.diff, vim.wo.scrollbind, vim.wo.foldmethod, vim.wo.winbar }"
        assert nvim.lua(options) == [False, False, "manual", ""]


def test_both_agents_propose_at_the_same_moment(studio: Studio) -> None:
    studio.write("b.txt", OLD)
    studio.propose("a.txt", NEW)
    studio.propose("b.txt", NEW, "copilot")
    studio.wait_shown("a.txt")
    assert studio.reviews() == {"a.txt": "pending", "b.txt": "queued"}
    bar = "return vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true }).str"
    wait_until(lambda: "1/2" in studio.nvim.lua(bar), "its turn")
    studio.nvim.feed(":w<CR>")
    studio.agent_writes("a.txt")
    studio.wait_shown("b.txt")
    studio.nvim.feed("Gomine<Esc>:w<CR>")
    assert isinstance(studio.answer("b.txt"), Accepted)
    studio.agent_writes("b.txt", NEW.encode())
    studio.wait_over()
    assert (studio.project / "a.txt").read_text() == (studio.project / "b.txt").read_text() == NEW
    assert studio.buffer("a.txt") == (NEW.splitlines(), False)
    # Copilot writes its own text; what the user made of it is unsaved
    wait_until(lambda: studio.buffer("b.txt") == ([*NEW.splitlines(), "mine"], True), "b.txt")


def test_the_list_shows_a_queued_one_and_the_first_comes_back(studio: Studio) -> None:
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    studio.nvim.feed("Gomine<Esc>")
    studio.propose("b.txt", NEW)
    studio.nvim.lua(
        "_G.offered = {} vim.ui.select = function(items, options, choose)"
        " _G.offered = vim.tbl_map(options.format_item, items) choose(items[2]) end"
    )
    sized = "local r = require('agent_ide').reviews()[2] return r ~= nil and r.added == 2"
    wait_until(lambda: studio.nvim.lua(sized), "the second")
    studio.nvim.feed(":AgentIde diffs<CR>")
    studio.wait_shown("b.txt")
    assert studio.nvim.lua("return _G.offered") == [
        "pending: a.txt +1 -1 (Claude Code)",
        "queued: b.txt +2 -0 (Claude Code)",
    ]
    assert studio.nvim.eval("bufname()") == "agent-ide://review/2/b.txt"
    studio.nvim.feed(":q<CR>")
    assert isinstance(studio.answer("b.txt"), Rejected)
    studio.wait_shown("a.txt")
    # as it was left
    assert studio.nvim.eval("getline('$')") == "mine"
    assert studio.nvim.eval("bufname()") == "agent-ide://review/1/a.txt"


def test_all_of_one_agent_are_accepted_at_once(studio: Studio) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        studio.propose(name, NEW)
    studio.wait_shown("a.txt")
    wait_until(lambda: len(studio.reviews()) == 3, "all three")
    studio.nvim.feed("Gomine<Esc>")
    studio.nvim.lua("vim.ui.select = function(items, _, choose) choose('Yes') end")
    studio.nvim.feed(":AgentIde accept!<CR>")
    texts = [studio.answer(name) for name in ("a.txt", "b.txt", "c.txt")]
    assert [verdict.text for verdict in texts if isinstance(verdict, Accepted)] == [
        NEW + "mine\n",
        NEW,
        NEW,
    ]


def test_diffs_can_be_off_for_one_agent(tmp_path: Path) -> None:
    with Studio(tmp_path, config="{ diff = { disabled_agents = { 'claude' } } }") as studio:
        studio.propose("a.txt", NEW)
        assert "switched diffs off" in str(studio.answer("a.txt"))
        studio.propose("b.txt", NEW, "copilot")
        studio.wait_shown("b.txt")


# -- nothing is lost -----------------------------------------------------------------------


def test_unsaved_changes_and_the_agents_are_merged(studio: Studio) -> None:
    studio.nvim.command("set noautoread")
    studio.nvim.feed("Omine<Esc>")
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    studio.nvim.feed(":w<CR>")
    studio.agent_writes("a.txt")
    studio.wait_over()
    wait_until(lambda: studio.buffer("a.txt") == (["mine", *NEW.splitlines()], True), "the merge")
    studio.nvim.feed(":w<CR>")
    assert studio.nvim.mode() == "n", "no question"
    assert (studio.project / "a.txt").read_text() == "mine\n" + NEW


def test_undo_brings_the_file_back(studio: Studio) -> None:
    lines = [f"line {number}" for number in range(9)]
    old, new = "\n".join([*lines, ""]), "\n".join(["NEW", *lines[1:], ""])
    studio.write("a.txt", old)
    studio.nvim.command("edit!")
    for name in ("a.txt", "new.txt"):
        studio.propose(name, new)
        studio.wait_shown(name)
        studio.nvim.feed(":w<CR>")
        studio.agent_writes(name)
        studio.wait_over()
    wait_until(lambda: studio.buffer("a.txt") == (new.splitlines(), False), "the reload")
    # changed since, and saved: that stays
    studio.nvim.feed("Golater<Esc>:w<CR>")
    studio.nvim.command("AgentIde undo")
    wait_until(lambda: studio.buffer("new.txt") == ([""], True), "the undo of the new file")
    studio.nvim.command("AgentIde undo")
    wait_until(lambda: studio.buffer("a.txt") == ([*lines, "later"], True), "the undo")
    studio.nvim.command("AgentIde undo")
    wait_until(lambda: studio.told()[-1] == "no accepted diff to undo", "the end")
    assert "new.txt is as before that edit, unsaved; it was new" in "".join(studio.told())


@pytest.mark.parametrize("yes", [False, True])
def test_a_stale_one_is_accepted_only_when_the_user_says_so(studio: Studio, yes: bool) -> None:
    code = "vim.ui.select = function(items, options, choose)"
    code += " table.insert(_G.told, options.prompt) choose(...) end"
    studio.nvim.lua(code.replace("...", "'Yes'" if yes else "'No'"))
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    studio.write("a.txt", "by hand\n")
    stale = "return require('agent_ide').reviews()[1].stale"
    wait_until(lambda: studio.nvim.lua(stale) == "changed on disk", "the flag")
    studio.nvim.feed(":w<CR>")
    question = "a.txt: changed on disk. It writes all the same. Accept anyway?"
    wait_until(lambda: question in studio.told(), "the question")
    if yes:
        assert studio.answer("a.txt") == Accepted(NEW, unchanged_file=False)
        return
    # the user goes on, and may change their mind
    wait_until(lambda: studio.nvim.eval("&modifiable") == 1, "the proposal's release")
    assert not studio.answers["a.txt"].done()
    studio.nvim.feed("\\n")
    assert isinstance(studio.answer("a.txt"), Rejected)


def test_two_reviews_of_one_file(studio: Studio) -> None:
    studio.propose("a.txt", NEW)
    studio.propose("./a.txt", "one\n2\n")
    studio.wait_shown("a.txt")
    studio.nvim.feed(":w<CR>")
    studio.wait_shown("./a.txt")
    stale = "return require('agent_ide').reviews()[2].stale"
    assert studio.nvim.lua(stale) == "another change of it was accepted"
    studio.agent_writes("a.txt")
    stale = stale.replace("[2]", "[1]")
    wait_until(lambda: studio.nvim.lua(stale) == "changed on disk", "the write")


def test_a_withdrawn_one_leaves_what_was_typed(studio: Studio) -> None:
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    studio.nvim.feed("Gomine<Esc>")
    studio.answers["a.txt"].cancel()
    studio.wait_over()
    assert studio.nvim.lua("return #require('agent_ide.diff.kept').list()") == 1


# -- files that are not simple -------------------------------------------------------------

LONG = "x" * 1_000_000

FILES = {
    "crlf": ("a.txt", b"one\r\ntwo\r\n", b"one\r\nTWO\r\n"),
    "mixed": ("a.txt", b"one\r\ntwo\nthree\r\n", b"one\r\nTWO\r\nthree\r\n"),
    "no final newline": ("a.txt", b"one\ntwo", b"one\nTWO"),
    "BOM": ("a.txt", b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nTWO\n"),
    "empty": ("a.txt", b"", b"one\n"),
    "emptied": ("a.txt", b"one\n", b""),
    "one long line": ("a.txt", f"{LONG}\ntwo\n".encode(), f"{LONG}\nTWO\n".encode()),
    "many lines": ("a.txt", b"one\n" * 300_000 + b"two\n", b"one\n" * 300_000 + b"TWO\n"),
    "NUL": ("a.bin", b"a\0b\ntwo\n", b"a\0b\nTWO\n"),
    "spaces": ("a b  c.txt", b"two\n", b"TWO\n"),
    "special": ("#1 %2 é [x] $HOME `ls` |.txt", b"two\n", b"TWO\n"),
    "newline": ("a\nb.txt", b"two\n", b"TWO\n"),
    "quotes": ("a'b\"c\\d.txt", b"two\n", b"TWO\n"),
}


@pytest.fixture(scope="module")
def for_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with Studio(tmp_path_factory.mktemp("files")) as studio:
        yield studio


@pytest.mark.parametrize("layout", ["vertical", "inline"])
@pytest.mark.parametrize("kind", FILES)
def test_bytes_are_kept(for_files: Studio, kind: str, layout: str) -> None:
    studio = for_files
    name, old, new = FILES[kind]
    studio.nvim.command("silent %bwipeout!")
    studio.nvim.lua("require('agent_ide.diff.view').choose(...)", layout)
    path = studio.write(name, old)
    studio.nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))
    studio.propose(name, new.decode().replace("\r\n", "\n"))
    studio.wait_shown(name)
    studio.nvim.feed(":w<CR>")
    studio.agent_writes(name)
    studio.wait_over()
    assert path.read_bytes() == new
    wait_until(lambda: studio.buffer(name) and not studio.buffer(name)[1], "the buffer")
    # the buffer is the file: writing it changes no byte
    studio.nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))
    studio.nvim.command("silent write!")
    if kind not in ("mixed", "no final newline"):
        assert path.read_bytes() == new


@pytest.mark.parametrize(
    ("old", "text"),
    [
        ("caf\xe9\ntwo\n".encode("latin-1"), "caf\ufffd\nTWO\n"),
        ("é\ntwo\n".encode("utf-16"), "é\nTWO\n"),
    ],
)
def test_other_encodings_are_shown_sensibly(studio: Studio, old: bytes, text: str) -> None:
    studio.write("a.txt", old)
    studio.nvim.command("edit!")
    studio.propose("a.txt", text)
    studio.wait_shown("a.txt")
    screen = studio.nvim.wait_screen("TWO")
    assert "é" in screen or "café" in screen
    studio.nvim.feed(":q<CR>")
    studio.wait_over()
    assert (studio.project / "a.txt").read_bytes() == old


def test_links_and_other_spellings_are_the_same_file(studio: Studio) -> None:
    target = studio.write("folder/real.txt", OLD)
    (studio.project / "link.txt").symlink_to(target)
    studio.nvim.command("edit folder/real.txt")
    studio.nvim.feed("Omine<Esc>")
    for name in ("link.txt", "folder/../link.txt"):
        studio.propose(name, NEW)
        studio.wait_shown(name)
        bars = (
            "return vim.tbl_map(function(w) return vim.wo[w].winbar end, vim.api.nvim_list_wins())"
        )
        assert "unsaved changes" in "".join(studio.nvim.lua(bars))
        studio.nvim.feed("\\n")
        studio.wait_over()


@pytest.mark.parametrize("scheme", ["fugitive:///p/.git//0/a.txt", "oil:///p/", "term://x"])
def test_it_does_not_open_in_place_of_other_schemes(studio: Studio, scheme: str) -> None:
    studio.nvim.lua("vim.api.nvim_buf_set_name(vim.api.nvim_create_buf(true, false), ...)", scheme)
    studio.nvim.lua("vim.cmd.buffer(vim.fn.bufnr(...))", scheme)
    buf = studio.nvim.eval("bufnr()")
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    assert studio.nvim.api.funcs.win_findbuf(buf)
    studio.nvim.command("AgentIde reject")
    studio.wait_over()
    assert studio.nvim.eval("bufnr()") == buf


def test_a_cancelled_verdict_has_its_reason(studio: Studio) -> None:
    studio.propose("a.txt", NEW)
    studio.wait_shown("a.txt")
    studio.nvim.command("ClaudeCodeCloseAllDiffs")
    assert isinstance(studio.answer("a.txt"), Rejected | Cancelled)
