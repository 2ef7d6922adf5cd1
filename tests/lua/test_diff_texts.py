"""What a review makes of texts that are not simple: no byte of them is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import wait_until

from .reviews import OLD, PROPOSED, Reviews

BOM = "\ufeff"

TEXTS = {
    "simple": "a\nb\n",
    "empty": "",
    "one newline": "\n",
    "two newlines": "\n\n",
    "no final newline": "a\nb",
    "one line without newline": "a",
    "BOM": BOM + "a\nb\n",
    "BOM, no final newline": BOM + "a",
    "BOM alone": BOM,
    "BOM and a newline": BOM + "\n",
    "CRLF": "a\r\nb\r\n",
    "CRLF, no final newline": "a\r\nb",
    "one CRLF": "\r\n",
    "mixed line breaks": "a\r\nb\nc\r\n",
    "lone CR": "a\rb\r\nc\r",
    "ends with CR": "a\nb\r",
    "NUL": "a\0b\n\0\n",
    "wide": "日本語\n👩‍👩‍👧 é\n",
    "separators": "a\u2028b\x0bc\x0cd\x85e\n",
    "modeline": "# vim: set ff=dos ft=lua sw=7:\n",
}


@pytest.fixture(scope="module")
def one_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reviews]:
    with Reviews(tmp_path_factory.mktemp("texts")) as reviews:
        yield reviews


@pytest.fixture
def shared(one_for_all: Reviews) -> Reviews:
    """A Neovim for many small cases, as if it was new."""
    one_for_all.close("rejected")
    one_for_all.nvim.events.clear()
    one_for_all.file.write_text(OLD)
    one_for_all.nvim.command("silent %bwipeout!")
    return one_for_all


def shown_and_accepted(bed: Reviews, text: str) -> str:
    bed.show(text)
    bed.nvim.feed(":w<CR>")
    return bed.wait_accepted()


@pytest.mark.parametrize("name", TEXTS)
def test_accepted_unchanged(shared: Reviews, name: str) -> None:
    shared.show(TEXTS[name])
    assert shared.read() == TEXTS[name], "as it is in the buffer"
    shared.nvim.feed(":w<CR>")
    assert shared.nvim.wait_event("review") == {"id": 1, "event": "accept", "as_proposed": True}


@pytest.mark.parametrize(
    ("proposed", "keys", "accepted"),
    [
        ("", "ia<Esc>", "a\n"),
        ("a\n", "ggdG", ""),
        ("a", "ob<Esc>", "a\nb"),
        ("a\n", ":set noeol<CR>", "a"),
        ("a", ":set eol<CR>", "a\n"),
        (BOM + "a\n", "Ab<Esc>", BOM + "ab\n"),
        (BOM + "a\n", ":set nobomb<CR>", "a\n"),
        ("a\r\nb\r\n", "oc<Esc>", "a\r\nc\r\nb\r\n"),
        ("a\n", "dd:undo<CR>", "a\n"),
    ],
)
def test_accepted_changed(shared: Reviews, proposed: str, keys: str, accepted: str) -> None:
    shared.show(proposed)
    shared.nvim.feed("gg" + keys + ":w<CR>")
    assert shared.wait_accepted() == accepted


OLD_FILES = {
    "CRLF": (b"one\r\ntwo\r\n", ["one", "two"]),
    "mixed": (b"one\r\ntwo\n", ["one", "two"]),
    "BOM": (b"\xef\xbb\xbfone\ntwo", ["one", "two"]),
    "latin-1": (b"caf\xe9\n", ["café"]),
    "UTF-16": ("é\n".encode("utf-16"), ["é"]),
    "empty": (b"", [""]),
    "NUL": (b"a\0b\n", ["a\0b"]),
    "one newline": (b"\n", [""]),
}


@pytest.mark.parametrize("kind", OLD_FILES)
def test_the_old_side_as_neovim_reads_it(shared: Reviews, kind: str) -> None:
    data, lines = OLD_FILES[kind]
    shared.file.write_bytes(data)
    shared.show()
    buffer = shared.window("disk")["buf"]
    assert shared.lines(buffer) == lines
    assert not shared.nvim.lua("return vim.bo[...].modified", buffer)


def test_the_old_side_is_the_disk_not_the_buffer(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        bed.nvim.feed("ccunsaved<Esc>")
        bed.show()
        assert bed.lines(bed.window("disk")["buf"]) == OLD.splitlines()


def test_a_new_file_in_a_new_folder(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        bed.show(path=bed.project / "new folder" / "x.txt")
        assert bed.lines(bed.window("disk")["buf"]) == [""]
        assert "new file, not on disk yet" in bed.nvim.screen_text()
        bed.nvim.feed(":w<CR>")
        assert bed.wait_accepted() == PROPOSED
        assert not (bed.project / "new folder").exists()


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        bed.show(path=bed.project)
        assert bed.lines(bed.window("disk")["buf"]) == [""]


NAMES = [
    "a b.txt",
    "a#%.txt",
    "a|b`c.txt",
    "$(x).txt",
    "*?[a].txt",
    "é.txt",
    "a\nb.txt",
    "-x",
    "'.txt",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_not_simple(shared: Reviews, name: str) -> None:
    file = shared.project / name
    file.write_text(OLD)
    before = shared.windows()
    shared.show(path=file)
    assert shared.lines(shared.window("disk")["buf"]) == OLD.splitlines()
    shared.nvim.feed(":w<CR>")
    assert shared.wait_accepted() == PROPOSED
    shared.close("accepted")
    assert shared.windows() == before
    shared.is_gone()


def test_colours_without_the_filetype_event(tmp_path: Path) -> None:
    with Reviews(tmp_path, edit=False) as bed:
        file = bed.project / "x.py"
        file.write_text("x = 1\n")
        bed.nvim.command("autocmd FileType python,sh let g:filetype_event = 1")
        bed.show("def f(): pass\n", path=file)
        assert bed.nvim.eval("&syntax") == "python" or bed.nvim.lua(
            "return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil"
        )
        bed.show("#!/bin/sh\ntrue\n", number=2, path=bed.project / "script")
        code = "return vim.bo[...].syntax"
        assert bed.nvim.lua(code, bed.proposal(2)) == "sh"
        assert bed.nvim.eval("exists('g:filetype_event')") == 0
        assert bed.nvim.eval("&filetype") == ""


def test_what_the_user_set_up_for_the_file_holds_in_the_proposal(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        bed.nvim.command("setlocal shiftwidth=3 expandtab commentstring=//%s")
        bed.show()
        assert bed.nvim.eval("[&shiftwidth, &expandtab, &commentstring]") == [3, 1, "//%s"]


def test_nothing_but_the_user_writes_near_it(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        bed.show(TEXTS["modeline"])
        buffer = bed.nvim.lua(
            "local o = vim.bo[...]; return { o.swapfile, o.undofile, o.modeline, o.shiftwidth }",
            bed.proposal(),
        )
        assert buffer == [False, False, False, 8]
        assert not bed.nvim.lua("return vim.bo[...].buflisted", bed.proposal())


def large_text(lines: int) -> str:
    return "".join(
        f"line {number} of a file that is long enough to matter\n" for number in range(lines)
    )


def grown(text: str) -> str:
    """The same after so many lines that it goes through files."""
    line_break = "\r\n" if "\r\n" in text and "\n" not in text.replace("\r\n", "") else "\n"
    bom = BOM if text.startswith(BOM) else ""
    return bom + ("x" * 99 + line_break) * 3000 + text.removeprefix(bom)


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_the_same_in_a_large_text(shared: Reviews, name: str, touched: bool) -> None:
    text = grown(TEXTS[name])
    shared.show(text)
    if touched:
        shared.nvim.feed("ggAz<Esc>")
        text = text.replace("x" * 99, "x" * 99 + "z", 1)
    assert shared.read() == text
    shared.nvim.feed(":w<CR>")
    assert shared.wait_accepted() == text


@pytest.mark.parametrize("name", TEXTS)
def test_the_same_from_a_file(shared: Reviews, name: str, tmp_path: Path) -> None:
    """As the host sends what is large; `:edit!` brings it back as often as one wants."""
    text = grown(TEXTS[name])
    carried = tmp_path / "carried"
    request = shared.request_by_file(text, carried)
    shared.nvim.call("review.show", request)
    assert shared.read() == text
    shared.nvim.feed("ggAz<Esc>:edit!<CR>")
    assert shared.read() == text
    shared.close("rejected")
    wait_until(lambda: not carried.exists(), "its file goes with it")


@pytest.mark.parametrize("kind", OLD_FILES)
def test_a_large_text_is_compared_with_what_neovim_reads(shared: Reviews, kind: str) -> None:
    data, lines = OLD_FILES[kind]
    shared.file.write_bytes(data)
    kept = "".join(line + "\n" for line in lines) if data else ""
    call = shared.nvim.begin_call("review.show", shared.request(grown("") + kept))
    reply = wait_until(lambda: shared.nvim.reply(call), "the answer")
    assert reply == (True, {"added": 3000, "removed": 0, "hunks": 1})


def test_hunks_of_a_large_text(tmp_path: Path) -> None:
    """They are looked for in a thread; the keys for one wait for it."""
    text = large_text(20_000)
    with Reviews(tmp_path, old=text.encode()) as bed:
        changed = text.replace("line 50 ", "LINE 50 ").replace("line 60 ", "LINE 60 ")
        call = bed.nvim.begin_call("review.show", bed.request(changed))
        reply = wait_until(lambda: bed.nvim.reply(call), "the answer")
        assert reply == (True, {"added": 2, "removed": 2, "hunks": 2})
        assert bed.nvim.eval("line('.')") == 51
        assert "+2 -2" in "".join(bed.winbars())
        keys = bed.nvim.lua("return require('agent_ide.config').get().diff.keys")
        # the text has changed, and the key comes before anybody has looked
        bed.nvim.feed("Go" + "new<Esc>51gg")
        bed.nvim.feed(keys["reject_hunk"].replace("<localleader>", "\\").replace("<leader>", "\\"))
        wait_until(lambda: bed.nvim.eval("getline(51)").startswith("line 50 "), "the old line")
        wait_until(lambda: "+2 -1" in "".join(bed.winbars()), "the new count")


def test_a_large_text_whose_files_go_before_they_are_compared(tmp_path: Path) -> None:
    """Something cleans the temporary folder: the review opens all the same."""
    text = large_text(20_000)
    with Reviews(tmp_path, old=text.encode()) as bed:
        bed.nvim.lua(
            """
            local text = require("agent_ide.text")
            local to_file = text.lines_to_file
            text.lines_to_file = function(buf)
              local path = to_file(buf)
              vim.uv.fs_unlink(path)
              return path
            end
            """
        )
        call = bed.nvim.begin_call("review.show", bed.request(text + "more\n"))
        reply = wait_until(lambda: bed.nvim.reply(call), "the answer")
        assert reply == (True, {"added": 1, "removed": 0, "hunks": 1})


def test_a_large_text_whose_file_does_not_arrive(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        request = bed.request("", text_file=str(bed.project / "nothing"))
        del request["text"]
        call = bed.nvim.begin_call("review.show", request)
        reply = wait_until(lambda: bed.nvim.reply(call), "the answer")
        assert reply[0] is False
        assert "did not reach Neovim" in reply[1]
        bed.is_gone()


def test_a_large_text_that_cannot_come_back_is_not_accepted_as_proposed(tmp_path: Path) -> None:
    """What the user sees is what a yes is about."""
    with Reviews(tmp_path) as bed:
        carried = bed.project / "carried"
        request = bed.request_by_file(large_text(10_000), carried)
        bed.nvim.call("review.show", request)
        carried.unlink()
        bed.nvim.feed(":edit!<CR>")
        wait_until(lambda: "not there any more" in str(bed.nvim.lua("return _G.told")), "a word")
        bed.nvim.feed(":w<CR>")
        event = bed.nvim.wait_event("review")
        assert event == {"id": 1, "event": "accept", "text": ""}


@pytest.mark.parametrize("size", [10, 10_000])
def test_no_buffer_stays(tmp_path: Path, size: int) -> None:
    """Of a file that is not open: each buffer that stayed would make the next review slower."""
    text = large_text(size)
    with Reviews(tmp_path, old=text.encode(), edit=False) as bed:
        flags = bed.nvim.eval("&cpoptions")
        before = bed.nvim.lua("return vim.api.nvim_list_bufs()")
        for number in (1, 2):
            carried = bed.project / f"carried{number}"
            request = bed.request_by_file(text + "more\n", carried, number)
            bed.nvim.call("review.show", request)
            bed.nvim.lua("require('agent_ide.diff').focus(...)", number)
            bed.nvim.feed("ggAz<Esc>:w<CR>")
            assert "z\n" in bed.wait_accepted(number)
            bed.close("accepted", number)
            bed.is_gone()
        assert bed.nvim.lua("return vim.api.nvim_list_bufs()") == before
        assert bed.nvim.eval("&cpoptions") == flags


def test_a_large_text_that_goes_while_it_is_compared(tmp_path: Path) -> None:
    text = large_text(20_000)
    with Reviews(tmp_path, old=text.encode()) as bed:
        call = bed.nvim.begin_call("review.show", bed.request(text + "more\n"))
        wait_until(lambda: len(bed.windows()) == 2, "the windows")
        bed.close("rejected")
        wait_until(lambda: bed.nvim.reply(call), "the answer")
        bed.is_gone()
        runtime = Path(bed.nvim.lua("return require('agent_ide.rpc').runtime_dir()"))
        wait_until(lambda: not [f for f in runtime.iterdir() if f.is_file()], "no file is left")


def test_a_large_text_goes_through_files_and_comes_back_whole(tmp_path: Path) -> None:
    text = large_text(40_000)
    with Reviews(tmp_path, old=text.encode()) as bed:
        changed = text.replace("line 30000 ", "LINE 30000 ") + "no newline"
        carried = bed.project / "carried"
        request = bed.request_by_file(changed, carried)
        bed.nvim.call("review.show", request)
        assert bed.nvim.eval("line('$')") == 40_001
        assert bed.nvim.eval("&foldmethod") == "manual"
        bed.nvim.feed("uggx:w<CR>")
        assert bed.wait_accepted() == changed[1:]
        bed.close("accepted")
        wait_until(lambda: not carried.exists(), "the receiver deletes it")


def test_a_large_text_whose_file_somebody_has_deleted(tmp_path: Path) -> None:
    text = large_text(10_000)
    with Reviews(tmp_path, old=text.encode()) as bed:
        carried = bed.project / "carried"
        request = bed.request_by_file(text + "more\n", carried)
        bed.nvim.call("review.show", request)
        carried.unlink()
        bed.nvim.feed("ggAz<Esc>")
        changed = text.replace("matter", "matterz", 1) + "more\n"
        assert bed.read() == changed
        bed.close("withdrawn")
        kept = bed.nvim.lua("return require('agent_ide.diff.kept').list()")
        assert len(kept) == 1, "what the user has typed is kept"
        bed.is_gone()


def test_closed_while_it_loads(tmp_path: Path) -> None:
    with Reviews(tmp_path) as bed:
        before = bed.windows()
        bed.nvim.lua(
            """
            local channel, request, text = ...
            request.text = text:rep(100)
            local rpc = require("agent_ide.rpc")
            rpc.dispatch(channel, 101, "review.show", request)
            rpc.dispatch(channel, 102, "review.close", { id = 1, reason = "withdrawn" })
            """,
            bed.nvim.channel,
            bed.request(),
            large_text(500),
        )
        reply = wait_until(lambda: bed.nvim.reply(101), "the answer")
        assert reply == (False, "closed before it was shown")
        assert bed.windows() == before
        bed.is_gone()


def test_one_line_of_a_megabyte(tmp_path: Path) -> None:
    text = "x" * 1_000_000 + "\nend"
    with Reviews(tmp_path, old=text.encode()) as bed:
        assert shown_and_accepted_large(bed, text + "!") == text + "!"


def shown_and_accepted_large(bed: Reviews, text: str) -> str:
    bed.show(text)
    bed.nvim.feed(":w<CR>")
    return bed.wait_accepted()


def test_the_editor_answers_while_a_large_text_loads(tmp_path: Path) -> None:
    """The longest wait is bounded by a part of the whole, not by the whole."""
    with Reviews(tmp_path) as bed:
        carried = bed.project / "carried"
        request = bed.request_by_file(large_text(60_000), carried)
        call = bed.nvim.begin_call("review.show", request)
        answers = 0
        deadline = time.monotonic() + 60
        while bed.nvim.reply(call) is None and time.monotonic() < deadline:
            bed.nvim.eval("1")
            answers += 1
        changes = {"added": 60_000, "removed": 3, "hunks": 1}
        assert bed.nvim.reply(call) == (True, changes)
        assert answers > 3
