"""Edits of the real Claude Code CLI, each decided through a review in Neovim or in the terminal."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.bed import Bed, edit_turns, read_turns
from tests.e2e.claude import ANSWER, Claude, claude_facts
from tests.e2e.editor import Editor
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli]

DONE = r"All done\."


def propose(bed: Bed, editor: Editor, cli: Claude, path: Path) -> None:
    """Let the CLI propose "two" -> "TWO" and wait until the review is shown."""
    bed.model.plan(*edit_turns(path, "two", "TWO"))
    cli.prompt(f"edit {path.name}")
    editor.wait_review(path)


def test_an_accepted_edit_is_written_by_the_cli_and_taken_up_by_neovim(bed: Bed) -> None:
    """FILE_SAVED: the CLI itself writes the file."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    assert path.read_text() == "one\ntwo\n"
    editor.to_proposal()
    editor.feed(":w<CR>")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    assert path.read_text() == "one\nTWO\n"
    editor.wait_no_review()
    assert [Path(name).name for name in editor.buffer_names()] == ["a.txt"]
    wait_until(lambda: editor.lines() == ["one", "TWO"], "the buffer's new text")
    assert not editor.call("getbufvar", "a.txt", "&modified")
    assert "user modified" not in bed.model.last_results()


def test_an_edit_that_the_user_changed_is_written_so_and_the_model_is_told(bed: Bed) -> None:
    """FILE_SAVED with the user's text: it is written so, and the model is told."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    editor.to_proposal()
    editor.feed("Gohelp<Esc>:wq<CR>")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    assert path.read_text() == "one\nTWO\nhelp\n"
    assert "user modified your proposed changes" in bed.model.last_results()
    editor.wait_no_review()


@pytest.mark.parametrize("keys", [":q!<CR>", "<C-w>c", ":ClaudeCodeDiffDeny<CR>"])
def test_a_rejected_edit_leaves_the_file_and_stops_the_turn(bed: Bed, keys: str) -> None:
    """DIFF_REJECTED: nothing is written, and the turn stops."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    asked = len(bed.model.requests)
    editor.to_proposal()
    editor.feed(keys)
    cli.terminal.wait_for(r"(?i)rejected update to a\.txt", 2 * LIMIT_S)
    editor.wait_no_review()
    assert path.read_text() == "one\ntwo\n"
    assert len(bed.model.requests) == asked
    assert editor.lines() == ["one", "two"]


def test_a_proposal_that_the_user_turned_back_is_a_rejection(bed: Bed) -> None:
    """FILE_SAVED with the file's old text is a rejection."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    editor.to_proposal()
    editor.feed(":2s/TWO/two/<CR>:w<CR>")
    cli.terminal.wait_for(r"(?i)rejected update to a\.txt", 2 * LIMIT_S)
    editor.wait_no_review()
    assert "takes that as a rejection" in editor.messages()


def test_a_new_file_in_a_new_folder_is_made(bed: Bed) -> None:
    """openDiff for a path that does not exist; the CLI makes its folder."""
    path = bed.project / "new/b.txt"
    editor, cli = bed.start()
    write = use("Write", file_path=str(path), content="new\n")
    bed.model.plan([write], [say("All done.")])
    cli.prompt("make a file")
    assert editor.wait_review(path)["is_new"]
    assert not path.parent.exists()
    editor.to_proposal()
    editor.feed(":w<CR>")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    assert path.read_text() == claude_facts().written("new\n")
    editor.wait_no_review()


def test_bytes_on_disk_are_kept(bed: Bed) -> None:
    """new_file_contents has LF breaks; the CLI keeps CRLF, a BOM, a missing last break."""
    texts = {
        "crlf.txt": b"one\r\ntwo\r\n",
        "no_newline.txt": b"one\ntwo",
        "bom.txt": b"\xef\xbb\xbfone\ntwo\n",
        # too large to cross the channel in one piece
        "large.txt": b"one\ntwo\n" + b"a line of some length, to fill the file\n" * 20_000,
    }
    editor, cli = bed.start()
    for name, before in texts.items():
        path = bed.write(name, before)
        propose(bed, editor, cli, path)
        editor.to_proposal()
        editor.feed(":w<CR>")
        wait_for_bytes(path, before.replace(b"two", b"TWO"))
        editor.wait_no_review()
        cli.terminal.wait_for(rf"{DONE}[^●]*\Z", 2 * LIMIT_S)
        # opening and accepting alone has changed nothing of the proposal
        assert "user modified" not in bed.model.last_results()


def wait_for_bytes(path: Path, content: bytes) -> None:
    wait_until(lambda: path.read_bytes() == content, f"{content!r} in {path.name}", 2 * LIMIT_S)


@pytest.mark.parametrize(("key", "after"), [("1", "one\nTWO\n"), ("3", "one\ntwo\n")])
def test_a_decision_in_the_clis_terminal_closes_the_review(bed: Bed, key: str, after: str) -> None:
    """A decision in the CLI's own terminal sends close_tab."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    cli.decide(key)
    editor.wait_no_review()
    wait_until(lambda: path.read_text() == after, "the decision")
    assert [Path(name).name for name in editor.buffer_names()] == ["a.txt"]
    wait_until(lambda: editor.lines() == after.splitlines(), "the buffer's text")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_cli_that_ends_takes_its_review_along(bed: Bed, number: signal.Signals) -> None:
    """A CLI that ends closes its connection and sends no close_tab."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    cli.terminal.kill(number)
    editor.wait_no_review()
    editor.wait_clients(0)
    assert path.read_text() == "one\ntwo\n"


def test_an_edit_that_the_cli_puts_into_a_changed_file_is_shown(bed: Bed) -> None:
    """A file that changed meanwhile: the CLI makes its edit once more in what it finds."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    propose(bed, editor, cli, path)
    # Claude Code does not overwrite it: it makes its edit once more, in what it finds there.
    path.write_text("one\ntwo\nby another\n")
    editor.to_proposal()
    # no feed: Neovim answers nothing behind the question
    editor.nvim.call("nvim_input", ":w<CR>")
    editor.terminal.wait_for(r"changed on disk\. .*Accept anyway\?")
    editor.feed("2<CR>")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    after = ["one", "two" if claude_facts().refuses_changed else "TWO", "by another"]
    assert path.read_text().splitlines() == after
    wait_until(lambda: editor.lines() == after, "the buffer's new text")


def test_edits_of_one_turn_are_reviewed_one_after_the_other(bed: Bed) -> None:
    """Two edits of one turn are proposed one after the other."""
    first = bed.write("a.txt", "one\ntwo\n")
    second = bed.write("b.txt", "one\ntwo\n")
    editor, cli = bed.start()
    uses = [
        use("Edit", file_path=str(path), old_string="two", new_string="TWO")
        for path in (first, second)
    ]
    bed.model.plan(*read_turns(first, second), uses, [say("All done.")])
    cli.prompt("edit both")
    for path in (first, second):
        editor.wait_review(path)
        editor.to_proposal()
        editor.feed(":w<CR>")
        wait_for_bytes(path, b"one\nTWO\n")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    editor.wait_no_review()


def test_two_clis_have_their_own_reviews(bed: Bed) -> None:
    """Two CLIs on one server; each prompt sends closeAllDiffTabs."""
    first_path = bed.write("a.txt", "one\ntwo\n")
    editor, first = bed.start("a.txt")
    second = bed.start_claude(editor)
    editor.feed("ggVj")
    for cli in (first, second):
        cli.terminal.wait_for(r"2 lines selected")
    editor.feed("<Esc>")
    propose(bed, editor, first, first_path)
    # A CLI sends closeAllDiffTabs with each prompt: another one's review is none of its business.
    bed.model.plan([say("Nothing to do.")])
    second.prompt("hello")
    second.terminal.wait_for(r"Nothing to do\.")
    assert [review["path"] for review in editor.reviews()] == [str(first_path)]
    bed.model.plan([say("All done.")])
    editor.feed(":ClaudeCodeDiffAccept<CR>")
    first.terminal.wait_for(DONE, 2 * LIMIT_S)
    assert first_path.read_text() == "one\nTWO\n"
    assert not second.terminal.shows(ANSWER)
