"""What reviewing promises beyond accept and reject, with the real Claude Code CLI."""

from __future__ import annotations

import pytest

from tests.e2e.bed import Bed, edit_turns
from tests.e2e.claude import PROMPT, claude_facts
from tests.e2e.model import say, use
from tests.e2e.test_claude_inside import start_inside
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli]

DONE = r"All done\."


def test_unsaved_changes_are_merged_with_what_claude_writes(bed: Bed) -> None:
    """The CLI reads the file on disk, not the editor's unsaved text."""
    before = "one\n" + "between\n" * 5 + "two\n"
    path = bed.write("a.txt", before)
    editor, cli = bed.start("a.txt")
    editor.feed("ggOmine<Esc>")
    bed.model.plan(*edit_turns(path, "two", "TWO"))
    cli.prompt("edit a.txt")
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed(":w<CR>")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    assert path.read_text() == before.replace("two", "TWO")
    editor.wait_no_review()
    merged = ("mine\n" + before.replace("two", "TWO")).splitlines()
    wait_until(lambda: editor.lines() == merged, "the merge")
    assert editor.call("getbufvar", "a.txt", "&modified")
    editor.feed(":checktime<CR>:w<CR>")
    assert editor.mode() == "n", "no question"
    assert path.read_text().splitlines() == merged
    # and all of it can be taken back
    editor.feed(":AgentIde undo<CR>")
    wait_until(lambda: editor.lines() == ["mine", *before.splitlines()], "the undo")


def test_hunks_are_decided_one_by_one(bed: Bed) -> None:
    """FILE_SAVED with a part of the proposal: that part is written."""
    path = bed.write("a.txt", "one\n" + "between\n" * 8 + "two\n")
    editor, cli = bed.start("a.txt")
    write = use("Write", file_path=str(path), content="ONE\n" + "between\n" * 8 + "TWO\n")
    bed.model.plan([use("Read", file_path=str(path))], [write], [say("All done.")])
    cli.prompt("edit a.txt")
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed("gg\\hy\\hn:w<CR>")
    cli.terminal.wait_for(DONE, 2 * LIMIT_S)
    accepted = "ONE\n" + "between\n" * 8 + "two\n"
    assert path.read_text() == claude_facts().written(accepted)


def test_a_reason_comes_into_the_prompt_without_being_sent(bed: Bed) -> None:
    """After DIFF_REJECTED the prompt takes text from the terminal."""
    path = bed.write("a.txt", "one\ntwo\n")
    bed.model.plan(*edit_turns(path, "two", "TWO"))
    editor = start_inside(bed)
    screen = editor.terminal
    screen.wait_for(r"In a\.txt")
    screen.type("edit it")
    screen.wait_for(rf"{PROMPT}[^\n]*edit it")
    screen.key("Enter")
    editor.wait_review(path)
    requests = len(bed.model.requests)
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed(":AgentIde reject use a set, not a list<CR>")
    editor.wait_no_review()
    screen.wait_for(rf"{PROMPT}[^\n]*use a set, not a list", 2 * LIMIT_S)
    assert path.read_text() == "one\ntwo\n"
    assert len(bed.model.requests) == requests, "it is not submitted"
