"""The real Claude Code CLI in Neovim's own terminal as :ClaudeCode starts it."""

from __future__ import annotations

import pytest

from tests.e2e.bed import Bed, edit_turns
from tests.e2e.claude import ANSWER, PROMPT, claude_facts
from tests.e2e.editor import START_S, Editor
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli]


def start_inside(bed: Bed) -> Editor:
    """Neovim on a.txt with the CLI beside it, connected, the cursor in its prompt."""
    editor = bed.start_editor("a.txt", agent="claude")
    editor.feed(":ClaudeCode<CR>")
    editor.wait_clients(1, START_S)
    editor.terminal.wait_for(PROMPT, START_S)
    wait_until(lambda: editor.mode() == "t", "terminal mode")
    return editor


def test_a_whole_edit_in_one_screen(bed: Bed) -> None:
    """In a terminal of Neovim the CLI connects, proposes, and writes."""
    path = bed.write("a.txt", "one\ntwo\n")
    bed.model.plan(*edit_turns(path, "two", "TWO"))
    editor = start_inside(bed)
    screen = editor.terminal
    screen.wait_for(r"In a\.txt")
    screen.type("edit it")
    screen.wait_for(rf"{PROMPT}[^\n]*edit it")
    screen.key("Enter")
    editor.wait_review(path)
    # the keys that the user is typing still belong to the CLI
    assert editor.mode() == "t"
    screen.wait_for("TWO")
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed(":ClaudeCodeDiffAccept<CR>")
    screen.wait_for(r"All done\.", 2 * LIMIT_S)
    assert path.read_text() == "one\nTWO\n"
    editor.wait_no_review()
    # asking mode was chosen for it, and the windows are as before
    screen.wait_for(claude_facts().shows_mode)
    assert len(editor.buffer_names()) == 2


def test_the_terminal_is_toggled_and_the_prompt_gets_what_is_sent(bed: Bed) -> None:
    """A mention comes into the prompt of a CLI in Neovim's terminal."""
    bed.write("a.txt", "one\ntwo\nthree\n")
    editor = start_inside(bed)
    screen = editor.terminal
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed("<C-w>p")
    editor.feed(":ClaudeCode<CR>")
    wait_until(lambda: len(editor.buffer_names()) == 1, "the hidden terminal")
    assert editor.clients()
    editor.feed("ggVj:ClaudeCodeSend<CR>")
    screen.wait_for(r"@a\.txt#L1-2")
    editor.feed(":ClaudeCodeFocus<CR>")
    wait_until(lambda: editor.mode() == "t", "terminal mode")
    assert not screen.shows(ANSWER)


def test_shift_enter_is_a_line_break_and_a_large_paste_is_one(bed: Bed) -> None:
    """The CLI takes a line break and a bracketed paste as Neovim's terminal sends them."""
    bed.write("a.txt", "one\n")
    editor = start_inside(bed)
    screen = editor.terminal
    screen.type("first")
    screen.wait_for(rf"{PROMPT}[^\n]*first")
    editor.feed("<S-CR>")
    screen.type("second")
    screen.wait_for(rf"{PROMPT}[^\n]*first[^\n]*\n[^\n]*second")
    editor.paste([f"line {number} {'x' * 60}" for number in range(3000)])
    screen.wait_for(r"second[^\n]*\[Pasted text #1 \+2999 lines\]")
    assert not screen.shows("Pasted text #2")
