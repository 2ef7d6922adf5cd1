"""The real Copilot CLI in Neovim's own terminal: as :CopilotCli starts it, and in a plain one."""

from __future__ import annotations

import pytest

from tests.e2e.bed import Bed
from tests.e2e.copilot import PROMPT
from tests.e2e.editor import START_S, Editor
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli("copilot")]


def start_inside(bed: Bed, command: str) -> Editor:
    """Neovim on a.txt with the CLI beside it, connected, the cursor in its prompt."""
    editor = bed.start_editor("a.txt", agent="copilot")
    editor.wait_copilot_lock()
    editor.feed(command)
    editor.wait_clients(1, START_S)
    editor.terminal.wait_for(r"@a\.txt", START_S)
    wait_until(lambda: editor.mode() == "t", "terminal mode")
    return editor


def test_a_whole_edit_in_one_screen(bed: Bed) -> None:
    """In a terminal of Neovim the CLI connects, proposes, and writes."""
    path = bed.write("a.txt", "one\ntwo\n")
    edit = use("edit", path=str(path), old_str="two", new_str="TWO")
    bed.copilot_model.plan([edit], [say("All done.")])
    editor = start_inside(bed, ":CopilotCli<CR>")
    screen = editor.terminal
    screen.type("edit it")
    screen.wait_for(rf"{PROMPT}[^\n]*edit it")
    screen.press_until_gone(rf"{PROMPT} edit it[^\n]*\n[^\n]*─", "Enter")
    editor.wait_review(path)
    # the keys that the user is typing still belong to the CLI
    assert editor.mode() == "t"
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed(":CopilotCliDiffAccept<CR>")
    wait_until(lambda: path.read_text() == "one\nTWO\n", "the edit", 2 * LIMIT_S)
    editor.wait_no_review()
    assert len(editor.buffer_names()) == 2
    editor.feed(":CopilotCliFocus<CR>")
    screen.wait_for(r"All done\.", 2 * LIMIT_S)


def test_a_cli_in_a_plain_terminal_gets_what_is_sent(bed: Bed) -> None:
    """A mention reaches a CLI that Neovim did not start."""
    bed.write("a.txt", "one\ntwo\nthree\n")
    editor = start_inside(bed, ":vertical botright terminal copilot<CR>i")
    screen = editor.terminal
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed("<C-w>pggVj:CopilotCliSend<CR>")
    screen.wait_for(rf"{PROMPT} @a\.txt:1-2\b")


def test_shift_enter_is_a_line_break(bed: Bed) -> None:
    """The CLI takes a line break as Neovim's terminal sends it."""
    bed.write("a.txt", "one\n")
    editor = start_inside(bed, ":CopilotCli<CR>")
    screen = editor.terminal
    screen.type("first")
    screen.wait_for(rf"{PROMPT}[^\n]*first")
    editor.feed("<S-CR>")
    screen.type("second")
    screen.wait_for(rf"{PROMPT}[^\n]*first[^\n]*\n[^\n]*second")
