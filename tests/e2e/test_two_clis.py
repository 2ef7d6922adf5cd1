"""Two CLIs on one Neovim: each has its own reviews, and gets its own verdicts."""

from __future__ import annotations

import pytest

from tests.e2e.bed import AGREED, Bed, edit_turns
from tests.e2e.copilot import ASKS, STOPPED, select_two_lines
from tests.e2e.model import say
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = pytest.mark.e2e


@pytest.mark.cli("copilot")
def test_two_clis_have_their_own_reviews(bed: Bed) -> None:
    """Two CLIs on one server have a session each."""
    paths = [bed.write(name, "one\ntwo\n") for name in ("a.txt", "b.txt")]
    editor, first = bed.start_copilot_on("a.txt")
    second = bed.start_copilot(editor)
    select_two_lines(editor, first, second)
    editor.feed("<Esc>")
    bed.propose(first, paths[0])
    editor.wait_review(paths[0])
    bed.propose(second, paths[1])
    wait_until(lambda: len(editor.reviews()) == 2, "the second review", 2 * LIMIT_S)
    assert len({review["client"] for review in editor.reviews()}) == 2
    bed.copilot_model.plan([say(f"That is {AGREED}.")])
    editor.to_proposal()
    editor.feed(":w<CR>")
    first.terminal.wait_for(AGREED, 2 * LIMIT_S)
    assert paths[0].read_text() == "one\nTWO\n"
    # its turn has come
    editor.wait_review(paths[1])
    editor.to_proposal()
    editor.feed(":q!<CR>")
    second.terminal.wait_for(STOPPED, 2 * LIMIT_S)
    editor.wait_no_review()
    assert paths[1].read_text() == "one\ntwo\n"


@pytest.mark.cli("claude", "copilot")
def test_claude_and_copilot_side_by_side(bed: Bed) -> None:
    """Claude Code and Copilot CLI side by side do not hear each other."""
    of_copilot = bed.write("copilot.txt", "one\ntwo\n")
    of_claude = bed.write("claude.txt", "one\ntwo\n")
    editor, copilot = bed.start_copilot_on("copilot.txt")
    claude = bed.start_claude(editor)
    assert [client["agent"] for client in editor.clients()] == ["claude", "copilot"]
    bed.propose(copilot, of_copilot)
    editor.wait_review(of_copilot)
    bed.model.plan(*edit_turns(of_claude, "two", "TWO"))
    claude.prompt("edit claude.txt")
    wait_until(lambda: len(editor.reviews()) == 2, "the second review", 2 * LIMIT_S)
    # a rejection for one, by whatever command, and the other waits on
    editor.to_proposal()
    editor.feed(":ClaudeCodeDiffDeny<CR>")
    copilot.terminal.wait_for(STOPPED, 2 * LIMIT_S)
    assert editor.wait_review(of_claude)["agent"] == "claude"
    editor.to_proposal()
    editor.feed("Gohelp<Esc>:w<CR>")
    claude.terminal.wait_for(r"All done\.", 2 * LIMIT_S)
    editor.wait_no_review()
    # Claude writes what the user made of it
    assert of_claude.read_text() == "one\nTWO\nhelp\n"
    assert of_copilot.read_text() == "one\ntwo\n"
    assert not copilot.terminal.shows(ASKS)
