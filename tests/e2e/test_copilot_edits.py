"""Edits of the real Copilot CLI, each decided through a review in Neovim or in the terminal.

Not here: edits of several CLIs at once (test_two_clis.py).
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.bed import AGREED, Bed
from tests.e2e.copilot import STOPPED
from tests.e2e.editor import Editor
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli("copilot")]


def wait_for_bytes(path: Path, content: bytes) -> None:
    wait_until(lambda: path.read_bytes() == content, f"{content!r} in {path.name}", 2 * LIMIT_S)


def test_an_accepted_edit_is_written_by_the_cli_and_taken_up_by_neovim(bed: Bed) -> None:
    """SAVED: the CLI itself writes the file."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start_copilot_on("a.txt")
    bed.propose(cli, path)
    review = editor.wait_review(path)
    assert (review["agent"], review["is_new"]) == ("copilot", False)
    assert path.read_text() == "one\ntwo\n"
    editor.to_proposal()
    editor.feed(":w<CR>")
    cli.terminal.wait_for(AGREED, 2 * LIMIT_S)
    assert path.read_text() == "one\nTWO\n"
    editor.wait_no_review()
    assert [Path(name).name for name in editor.buffer_names()] == ["a.txt"]
    wait_until(lambda: editor.lines() == ["one", "TWO"], "the buffer's new text")
    assert not editor.call("getbufvar", "a.txt", "&modified")
    assert "updated with changes" in bed.copilot_model.last_results()


def test_what_the_user_changed_is_in_the_buffer_after_the_cli_wrote_its_own(bed: Bed) -> None:
    """SAVED: the CLI writes its own proposal, whatever the user made of it."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start_copilot_on("a.txt")
    bed.propose(cli, path)
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed("Gohelp<Esc>:wq<CR>")
    cli.terminal.wait_for(AGREED, 2 * LIMIT_S)
    editor.wait_no_review()
    assert path.read_text() == "one\nTWO\n"
    wait_until(lambda: editor.lines() == ["one", "TWO", "help"], "the user's version")
    assert editor.call("getbufvar", "a.txt", "&modified")
    assert "your version of a.txt is in its buffer, unsaved" in editor.messages()
    editor.feed(":w<CR>")
    wait_for_bytes(path, b"one\nTWO\nhelp\n")


def accept_stale(editor: Editor) -> None:
    """Accept by a key and wait for the question; the screen may still show the one before."""
    editor.to_proposal()
    # no feed: Neovim 0.10 answers nothing behind the question
    editor.nvim.call("nvim_input", "\\y")
    wait_until(lambda: editor.mode() in ("c", "rm"), "the question")


def test_a_file_that_changed_meanwhile_is_overwritten_only_if_the_user_wants_it(bed: Bed) -> None:
    """A file that changed meanwhile is overwritten by the CLI."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start_copilot_on("a.txt")
    bed.propose(cli, path)
    editor.wait_review(path)
    path.write_text("one\ntwo\nby another\n")
    accept_stale(editor)
    editor.terminal.wait_for(r"changed on disk\. Copilot overwrites it.* Accept anyway\?")
    editor.feed("1<CR>")
    assert path.read_text() == "one\ntwo\nby another\n"
    # the host has heard the no: the proposal awaits a verdict again
    editor.terminal.wait_for(":w accepts")
    accept_stale(editor)
    editor.feed("2<CR>")
    cli.terminal.wait_for(AGREED, 2 * LIMIT_S)
    editor.wait_no_review()
    # it does: the question was right
    assert path.read_text() == "one\nTWO\n"
    wait_until(lambda: editor.lines() == ["one", "TWO"], "the buffer's text")


@pytest.mark.parametrize("keys", [":q!<CR>", ":CopilotCliDiffDeny<CR>"])
def test_a_rejected_edit_leaves_the_file_and_stops_the_turn(bed: Bed, keys: str) -> None:
    """REJECTED: nothing is written, and the turn stops."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start_copilot_on("a.txt")
    bed.propose(cli, path)
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed(keys)
    cli.terminal.wait_for(STOPPED, 2 * LIMIT_S)
    editor.wait_no_review()
    assert path.read_text() == "one\ntwo\n"
    assert len(bed.copilot_model.requests) == 1
    assert editor.lines() == ["one", "two"]


def test_bytes_on_disk_are_kept_and_new_files_made(bed: Bed) -> None:
    """The CLI keeps CRLF, a BOM, a missing last break; new files are made."""
    texts = {
        "crlf.txt": b"one\r\ntwo\r\n",
        "no_newline.txt": b"one\ntwo",
        "bom.txt": b"\xef\xbb\xbfone\ntwo\n",
        # too large to cross the channel in one piece
        "large.txt": b"one\ntwo\n" + b"a line of some length, to fill the file\n" * 10_000,
    }
    editor, cli = bed.start_copilot_on()
    for name, before in texts.items():
        path = bed.write(name, before)
        bed.propose(cli, path)
        editor.wait_review(path)
        editor.to_proposal()
        editor.feed(":w<CR>")
        cli.terminal.wait_for(f"{name} {AGREED}", 2 * LIMIT_S)
        assert path.read_bytes() == before.replace(b"two", b"TWO")
        editor.wait_no_review()
    # accepted as it was proposed: nothing is the user's own
    assert "unsaved" not in editor.messages()
    path = bed.project / "b.txt"
    create = use("create", path=str(path), file_text="new\r\nfile")
    bed.copilot_model.plan([create], [say("Made.")])
    cli.prompt("make a file")
    assert editor.wait_review(path)["is_new"]
    assert not path.exists()
    editor.to_proposal()
    editor.feed(":w<CR>")
    cli.terminal.wait_for(r"Made\.", 2 * LIMIT_S)
    assert path.read_bytes() == b"new\r\nfile"
    editor.wait_no_review()


def test_a_decision_in_the_clis_terminal_closes_the_review(bed: Bed) -> None:
    """A decision in the CLI's own terminal sends close_diff."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start_copilot_on("a.txt")
    # only Esc ends the turn: a No with a text and a Yes go back to the model
    for key, requests in (("Escape", 1), ("3", 3), ("1", 5)):
        bed.propose(cli, path)
        editor.wait_review(path)
        assert path.read_text() == "one\ntwo\n"
        cli.decide(key)
        editor.wait_no_review()
        bed.copilot_model.wait_requests(requests)
        assert [Path(name).name for name in editor.buffer_names()] == ["a.txt"]
    wait_for_bytes(path, b"one\nTWO\n")
    wait_until(lambda: editor.lines() == ["one", "TWO"], "the buffer's text")


def test_a_closed_view_can_leave_the_decision_to_the_clis_terminal(bed: Bed) -> None:
    """An open_diff without an answer leaves the CLI's own question."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor = bed.start_editor("a.txt", options="copilot = { on_close = 'terminal' }")
    cli = bed.start_copilot(editor)
    bed.propose(cli, path)
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed(":q!<CR>")
    wait_until(lambda: editor.reviews()[0]["state"] == "hidden", "the view's end")
    assert not editor.diff_windows()
    cli.decide("1")
    cli.terminal.wait_for(AGREED, 2 * LIMIT_S)
    editor.wait_no_review()
    wait_until(lambda: editor.lines() == ["one", "TWO"], "the buffer's text")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_cli_that_ends_takes_its_review_along(bed: Bed, number: signal.Signals) -> None:
    """A CLI that ends ends its session; SIGKILL just closes."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start_copilot_on("a.txt")
    bed.propose(cli, path)
    editor.wait_review(path)
    cli.terminal.kill(number)
    editor.wait_no_review()
    editor.wait_clients(0)
    assert path.read_text() == "one\ntwo\n"
