"""The real Copilot CLI in a plain :terminal of Neovim, without any command of the plugin."""

from __future__ import annotations

import pytest

from tests.e2e.bed import Bed
from tests.e2e.copilot import PROMPT
from tests.e2e.editor import START_S
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli("copilot")]


def test_a_whole_edit_in_one_screen(bed: Bed) -> None:
    path = bed.write("a.txt", "one\ntwo\n")
    edit = use("edit", path=str(path), old_str="two", new_str="TWO")
    bed.copilot_model.plan([edit], [say("All done.")])
    editor = bed.start_editor("a.txt", agent="copilot")
    editor.wait_copilot_lock()
    editor.feed(":vertical botright terminal copilot<CR>i")
    editor.wait_clients(1, START_S)
    screen = editor.terminal
    screen.wait_for(r"@a\.txt", START_S)
    screen.type("edit it")
    screen.wait_for(rf"{PROMPT}[^\n]*edit it")
    screen.press_until_gone(rf"{PROMPT} edit it[^\n]*\n[^\n]*─", "Enter")
    editor.wait_review(path)
    # the keys that the user is typing still belong to the CLI
    assert editor.mode() == "t"
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.to_proposal()
    editor.feed(":w<CR>")
    wait_until(lambda: path.read_text() == "one\nTWO\n", "the edit", 2 * LIMIT_S)
    editor.wait_no_review()
    assert len(editor.buffer_names()) == 2
    editor.feed(":wincmd b<CR>i")
    screen.wait_for(r"All done\.", 2 * LIMIT_S)
