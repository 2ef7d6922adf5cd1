"""What the editor does when an agent has written a file, or its text goes into the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import wait_until

from .reviews import OLD, PROPOSED, Reviews


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as reviews:
        yield reviews


def reload(bed: Reviews, path: Path | None = None, base: bytes | None = OLD.encode()) -> None:
    args: dict[str, Any] = {"path": str(path or bed.file)}
    if base is not None:
        args["base"] = {"text": base}
    bed.nvim.call("files.reload", args)


def merge(bed: Reviews, base: str, theirs: str, path: Path | None = None) -> int:
    packed = {"base": {"text": base}, "theirs": {"text": theirs}}
    value = bed.nvim.call("files.merge", {"path": str(path or bed.file), **packed})
    return int(value["conflicts"])


def buffer_lines(bed: Reviews, path: Path | None = None) -> list[str]:
    return bed.lines(
        bed.nvim.lua("return require('agent_ide.files').find(...)", str(path or bed.file))
    )


def test_a_file_with_two_reviews_is_guarded_until_the_second_ends(bed: Reviews) -> None:
    bed.show(number=1)
    bed.show(number=2)
    bed.close("accepted", number=1)
    bed.file.write_text(PROPOSED)
    reload(bed)
    bed.nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr(...), 0, 1, true, { 'mine' })", "a.txt$")
    bed.file.write_text("the second agent's\n")
    bed.nvim.feed(":checktime<CR>")
    assert not bed.nvim.api.api.get_mode()["blocking"], "W12 asks amid the second review"
    assert bed.nvim.eval("v:warningmsg") == ""


BASE = "".join(f"{word}\n" for word in ["one", "two", "three", "four", "five", "six", "seven"])

# -- reload --------------------------------------------------------------------------------


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_an_unmodified_buffer_takes_the_file_up(bed: Reviews, autoread: str) -> None:
    bed.nvim.command(f"set {autoread}")
    bed.nvim.feed("jlma")
    bed.file.write_text(PROPOSED + "more\n")
    reload(bed)
    assert buffer_lines(bed) == [*PROPOSED.splitlines(), "more"]
    assert bed.nvim.eval("[&modified, line('.'), col('.'), line(\"'a\")]") == [0, 2, 2, 2]
    assert bed.told() == []
    assert bed.nvim.mode() == "n"
    # the old text is one undo away
    bed.nvim.feed("u")
    assert buffer_lines(bed) == OLD.splitlines()


def test_the_view_stays_in_every_window(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(500)]
    with Reviews(tmp_path, old="".join(lines).encode()) as bed:
        bed.nvim.feed("200Gzz")
        bed.nvim.command("split")
        bed.nvim.feed("400Gzt")
        views = (
            "return vim.tbl_map(function(w) return vim.api.nvim_win_call(w, vim.fn.winsaveview) end"
        )
        views += ", vim.api.nvim_list_wins())"
        before = bed.nvim.lua(views)
        lines[300] = "changed\n"
        bed.file.write_text("".join(lines))
        reload(bed)
        assert buffer_lines(bed)[300] == "changed"
        assert bed.nvim.lua(views) == before


def test_a_hidden_buffer_takes_the_file_up(bed: Reviews) -> None:
    bed.nvim.command(f"edit {bed.project / 'other.txt'}")
    bed.file.write_text(PROPOSED)
    reload(bed)
    assert buffer_lines(bed) == PROPOSED.splitlines()


@pytest.mark.parametrize("shown", [True, False])
def test_a_buffer_made_before_its_file_was(bed: Reviews, shown: bool) -> None:
    new = bed.project / "new.py"
    bed.nvim.command(f"edit {new}")
    if not shown:
        bed.nvim.command("setlocal bufhidden=hide | enew")
    new.write_text("x = 1\n")
    reload(bed, new)
    assert bed.nvim.mode() == "n"
    assert buffer_lines(bed, new) == ["x = 1"]
    options = (
        "local b = vim.bo[require('agent_ide.files').find(...)] return { b.filetype, b.modified }"
    )
    assert bed.nvim.lua(options, str(new)) == ["python", False]


def test_a_large_buffer_keeps_its_undo_history(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(15_000))
    with Reviews(tmp_path, old=text.encode()) as bed:
        bed.file.write_text("x" + text)
        reload(bed)
        assert buffer_lines(bed)[0] == "xline 0"
        assert bed.nvim.eval("&undoreload") == 10_000
        bed.nvim.feed("u")
        assert buffer_lines(bed)[0] == "line 0"


def saves_without_a_question(bed: Reviews) -> None:
    bed.nvim.feed(":checktime<CR>:w<CR>")
    assert bed.nvim.mode() == "n"
    assert bed.nvim.eval("&modified") == 0


@pytest.mark.parametrize("seen_before", [False, True])
def test_unsaved_changes_are_merged_with_what_the_agent_wrote(
    bed: Reviews, seen_before: bool
) -> None:
    """seen_before: Neovim has noticed the new file by itself, and looks at it once only."""
    bed.file.write_text(BASE)
    bed.nvim.command("edit! | set noautoread")
    bed.nvim.feed("ggOmine<Esc>Gma")
    if seen_before:
        bed.show()
    bed.file.write_text(BASE.replace("four", "agent's"))
    if seen_before:
        bed.nvim.feed(":checktime<CR>")
        bed.close("withdrawn")
    reload(bed, base=BASE.encode())
    merged = ["mine", *BASE.replace("four", "agent's").splitlines()]
    assert buffer_lines(bed) == merged
    assert bed.nvim.eval("[&modified, line('.'), line(\"'a\")]") == [1, 8, 8]
    assert bed.told() == []
    # one undo takes the agent's part away, the next one mine
    bed.nvim.feed("u")
    assert buffer_lines(bed) == ["mine", *BASE.splitlines()]
    bed.nvim.feed("u")
    assert buffer_lines(bed) == BASE.splitlines()
    bed.nvim.feed("<C-r><C-r>")
    assert buffer_lines(bed) == merged
    saves_without_a_question(bed)
    assert bed.file.read_text().splitlines() == merged


def test_the_same_lines_changed_by_both_are_a_conflict(bed: Reviews) -> None:
    bed.nvim.feed("jccmine<Esc>")
    bed.file.write_text(PROPOSED)
    reload(bed)
    assert buffer_lines(bed) == [
        "one",
        "<<<<<<< your unsaved changes",
        "mine",
        "=======",
        "TWO",
        ">>>>>>> the agent's version",
        "three",
    ]
    assert bed.told() == ["a.txt: 1 conflict with your unsaved changes, look for <<<<<<<"]
    bed.nvim.feed("u")
    assert buffer_lines(bed) == ["one", "mine", "three"]
    bed.nvim.feed("<C-r>")
    saves_without_a_question(bed)


def test_a_merge_waits_for_who_types(bed: Reviews) -> None:
    bed.nvim.feed("Goab")
    bed.file.write_text("zero\n" + OLD)
    args = {"path": str(bed.file), "base": {"text": OLD.encode()}}
    call = bed.nvim.begin_call("files.reload", args)
    bed.nvim.feed("cd")
    assert bed.nvim.mode() == "i"
    assert buffer_lines(bed) == [*OLD.splitlines(), "abcd"]
    bed.nvim.feed("<Esc>")
    wait_until(lambda: bed.nvim.reply(call), "the merge")
    assert buffer_lines(bed) == ["zero", *OLD.splitlines(), "abcd"]
    saves_without_a_question(bed)


@pytest.mark.parametrize(
    ("old", "agents", "merged"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nb\r\nC\r\n", b"mine\r\na\r\nb\r\nC\r\n"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\n", b"\xef\xbb\xbfmine\na\nB\n"),
        (b"caf\xe9\nb\nc\n", b"caf\xe9\nb\nC\n", b"mine\ncaf\xe9\nb\nC\n"),
        (
            "a\né\nc\n".encode("utf-16"),
            "a\né\nC\n".encode("utf-16"),
            "mine\na\né\nC\n".encode("utf-16"),
        ),
    ],
)
def test_merged_bytes_are_kept(tmp_path: Path, old: bytes, agents: bytes, merged: bytes) -> None:
    with Reviews(tmp_path, old=old) as bed:
        bed.nvim.feed("ggOmine<Esc>")
        bed.file.write_bytes(agents)
        reload(bed, base=old)
        saves_without_a_question(bed)
        assert bed.file.read_bytes() == merged


@pytest.mark.parametrize("why", ["no git", "no base", "no file", "a folder"])
def test_what_cannot_be_merged_stays_and_one_line_says_so(bed: Reviews, why: str) -> None:
    bed.nvim.feed("ccmine<Esc>")
    bed.file.write_text(PROPOSED + "more\n")
    if why == "no git":
        bed.nvim.command("let $PATH = ''")
    elif why != "no base":
        bed.file.unlink()
    if why == "a folder":
        bed.file.mkdir()
    reload(bed, base=None if why == "no base" else OLD.encode())
    assert bed.nvim.mode() == "n"
    assert buffer_lines(bed)[0] == "mine"
    assert bed.nvim.eval("&modified") == 1
    if why.startswith("no") and why != "no file":
        assert bed.told() == ["a.txt has unsaved changes: the agent's version is beside it"]
        beside = [win["buf"] for win in bed.windows() if not win["current"]]
        assert [bed.lines(buf)[-1] for buf in beside] == ["more"]
    else:
        assert bed.told() == ["a.txt is no file any more; its buffer keeps your unsaved changes"]
    # Neovim does not ask either
    bed.nvim.feed(":checktime<CR>")
    assert bed.nvim.mode() == "n"


def test_the_same_change_by_hand_is_no_conflict(bed: Reviews) -> None:
    bed.nvim.feed("jccTWO<Esc>")
    bed.file.write_text(PROPOSED)
    reload(bed)
    assert bed.told() == []
    assert bed.nvim.eval("&modified") == 0
    bed.nvim.feed(":w<CR>")
    assert bed.nvim.mode() == "n", "no question"


def test_a_file_that_is_not_open_is_nobodys_business(bed: Reviews) -> None:
    reload(bed, bed.project / "no.txt")
    assert len(bed.windows()) == 1


@pytest.mark.parametrize("modified", [False, True])
def test_neovim_does_not_ask_while_an_agent_is_about_to_write(bed: Reviews, modified: bool) -> None:
    """Neovim may notice the new file before the host has told."""
    bed.nvim.command("set noautoread")
    bed.nvim.feed("ccmine<Esc>" if modified else "")
    bed.show()
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    bed.file.write_text(PROPOSED + "more\n")
    bed.nvim.feed(":checktime<CR>")
    assert bed.nvim.mode() == "n"
    bed.close("accepted")
    assert buffer_lines(bed)[0] == ("mine" if modified else "one")
    assert (buffer_lines(bed)[-1] == "more") is not modified


@pytest.mark.parametrize("typed", ["", "ix<Esc>"])
def test_the_buffer_of_a_new_file_raises_no_question(bed: Reviews, typed: str) -> None:
    new = bed.project / "new.txt"
    bed.nvim.command(f"edit {new}")
    bed.nvim.feed(typed)
    bed.show(path=new)
    bed.nvim.feed(":w<CR>")
    bed.wait_accepted()
    new.write_text(PROPOSED)
    bed.close("accepted")
    reload(bed, new, base=b"")
    assert bed.nvim.mode() == "n"
    both = [line for line in buffer_lines(bed, new) if line[:3] not in ("<<<", "===", ">>>")]
    assert both == [*(["x"] if typed else []), *PROPOSED.splitlines()]


@pytest.mark.parametrize("modified", [False, True])
def test_a_file_of_somebody_else_that_changed_meanwhile(bed: Reviews, modified: bool) -> None:
    bed.nvim.command("set noautoread")
    bed.nvim.feed("ccmine<Esc>" if modified else "")
    bed.show(path=bed.project / "other.txt")
    bed.file.write_text(PROPOSED + "more\n")
    bed.close("rejected")
    assert bed.nvim.mode() == "n"
    assert buffer_lines(bed)[0] == ("mine" if modified else "one")


def test_reload_while_the_user_types(bed: Reviews) -> None:
    bed.nvim.command(f"split {bed.project / 'other.txt'}")
    bed.nvim.feed("ia")
    bed.file.write_text(PROPOSED)
    reload(bed)
    assert buffer_lines(bed) == PROPOSED.splitlines()
    assert bed.nvim.mode() == "i"
    bed.nvim.feed("b<Esc>")
    assert bed.nvim.eval("getline(1)") == "ab"


# -- merge ---------------------------------------------------------------------------------


def test_an_unmodified_buffer_gets_the_text_as_unsaved_changes(bed: Reviews) -> None:
    bed.nvim.feed("Gma")
    assert merge(bed, OLD, "zero\n" + PROPOSED) == 0
    assert buffer_lines(bed) == ["zero", *PROPOSED.splitlines()]
    assert bed.nvim.eval('[&modified, line("\'a")]') == [1, 4]
    assert bed.file.read_text() == OLD
    bed.nvim.feed("u")
    assert buffer_lines(bed) == OLD.splitlines()


def test_a_file_that_is_not_loaded_gets_a_buffer(bed: Reviews) -> None:
    other = bed.project / "other.txt"
    assert merge(bed, "", "x\n", other) == 0
    assert buffer_lines(bed, other) == ["x"]
    assert bed.nvim.lua(
        "local b = vim.bo[require('agent_ide.files').find(...)] return { b.modified, b.buflisted }",
        str(other),
    ) == [True, True]
    assert len(bed.windows()) == 1


@pytest.mark.parametrize(
    ("old", "theirs", "written"),
    [
        (b"a\r\nb\r\n", "a\nB\n", b"a\r\nB\r\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"a\n", "b", b"b"),
        (b"a", "b\n", b"b\n"),
        (b"caf\xe9\n", "th\u00e9\n", b"th\xe9\n"),
    ],
)
def test_bytes_are_kept(tmp_path: Path, old: bytes, theirs: str, written: bytes) -> None:
    with Reviews(tmp_path, old=old) as bed:
        merge(bed, old.decode("latin-1" if b"\xe9" in old else "utf-8"), theirs)
        bed.nvim.command("write")
        assert bed.file.read_bytes() == written


def with_changes(bed: Reviews, keys: str) -> None:
    bed.file.write_text(BASE)
    bed.nvim.command("edit!")
    bed.nvim.feed(keys)


def test_changes_of_both_are_merged(bed: Reviews) -> None:
    with_changes(bed, "ccmine<Esc>")
    assert merge(bed, BASE, BASE.replace("seven", "SEVEN")) == 0
    assert buffer_lines(bed) == ["mine", *BASE.splitlines()[1:-1], "SEVEN"]
    assert bed.nvim.eval("&modified") == 1
    assert bed.told() == []
    bed.nvim.feed("u")
    assert buffer_lines(bed)[-1] == "seven"


def test_a_conflict_is_marked_and_told(bed: Reviews) -> None:
    with_changes(bed, "ccmine<Esc>")
    assert merge(bed, BASE, BASE.replace("one", "theirs")) == 1
    assert buffer_lines(bed)[:5] == [
        "<<<<<<< your unsaved changes",
        "mine",
        "=======",
        "theirs",
        ">>>>>>> the agent's version",
    ]
    assert bed.told() == ["a.txt: 1 conflict with your unsaved changes, look for <<<<<<<"]


def test_what_the_user_types_meanwhile_is_not_lost(bed: Reviews) -> None:
    with_changes(bed, "ccmine<Esc>")
    bed.nvim.lua(
        """
        local channel, path, base, theirs = ...
        require("agent_ide.rpc").dispatch(channel, 500, "files.merge", {
          path = path, base = { text = base }, theirs = { text = theirs },
        })
        vim.api.nvim_buf_set_lines(0, 1, 2, true, { "typed" })
        """,
        bed.nvim.channel,
        str(bed.file),
        BASE,
        BASE.replace("seven", "SEVEN"),
    )
    assert wait_until(lambda: bed.nvim.reply(500), "the merge") == (True, {"conflicts": 0})
    assert buffer_lines(bed) == ["mine", "typed", *BASE.splitlines()[2:-1], "SEVEN"]


def test_without_git_the_two_are_side_by_side(bed: Reviews) -> None:
    with_changes(bed, "ccmine<Esc>")
    bed.nvim.command("let $PATH = ''")
    theirs = BASE.replace("one", "theirs")
    assert merge(bed, BASE, theirs) == 1
    assert [bed.lines(win["buf"])[0] for win in bed.windows()] == ["mine", "theirs"]
    assert bed.windows()[0]["current"]
    assert bed.told() == ["a.txt has unsaved changes: the agent's version is beside it"]


def test_nothing_of_a_merge_stays_on_disk(bed: Reviews) -> None:
    with_changes(bed, "ccmine<Esc>")
    merge(bed, BASE, BASE.replace("seven", "SEVEN"))
    folder = Path(bed.nvim.lua("return require('agent_ide.rpc').runtime_dir()"))
    assert list(folder.iterdir()) == []


# -- notebook ------------------------------------------------------------------------------

IPYNB = '{"cells": [], "metadata": {"kernelspec": {"name": "python3"}}}'

NOTEBOOKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ipynb": ("a.ipynb", IPYNB, {"kernel_name": "python3"}),
    "ipynb without a kernel": ("a.ipynb", '{"metadata": {"kernelspec": null}}', {}),
    "broken ipynb": ("a.ipynb", "{", {}),
    "cells": ("a.py", "# %%\nx = 1\n", {}),
    "jupytext": (
        "a.py",
        "# ---\n#   kernelspec:\n#     name: ir\n# ---\n# %%\n",
        {"kernel_name": "ir"},
    ),
    "a script": ("a.py", "x = 1\n", {}),
    "a text": ("a.txt", "# %%\n", {}),
}


@pytest.mark.parametrize("kind", NOTEBOOKS)
@pytest.mark.parametrize("from_terminal", [False, True])
def test_the_notebook_that_the_user_is_in(bed: Reviews, kind: str, from_terminal: bool) -> None:
    name, content, kernel = NOTEBOOKS[kind]
    file = bed.project / name
    file.write_text(content)
    bed.nvim.command(f"edit! {file}")
    if from_terminal:
        bed.nvim.command("split | terminal cat")
    value = bed.nvim.call("notebook.read")
    is_notebook = kind not in ("a script", "a text")
    assert value == ({"path": str(file), **kernel} if is_notebook else {})
