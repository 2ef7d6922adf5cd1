"""The real Gemini CLI and Qwen Code in Neovim's own terminal, as its commands start them."""

from __future__ import annotations

import pytest

from tests.e2e.bed import Bed
from tests.e2e.companion import CLIS, READY
from tests.e2e.editor import START_S
from tests.e2e.model import say
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = pytest.mark.e2e

COMMANDS = {"gemini": "GeminiCli", "qwen": "QwenCode"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.cli(name)) for name in CLIS])
def test_a_whole_edit_in_one_screen(bed: Bed, name: str) -> None:
    """In a terminal of Neovim the CLI finds the server by its environment."""
    path = bed.write("a file.txt", "one\ntwo\nthree\n")
    command, model = COMMANDS[name], bed.companion_model(name)
    # the mode that asks is the command's business
    editor = bed.start_editor("a file.txt", agent=name)
    editor.wait_companion_file(name)
    screen = editor.terminal
    editor.feed(f":{command}<CR>")
    editor.wait_clients(1, START_S)
    screen.wait_for(READY, START_S)
    wait_until(lambda: editor.mode() == "t", "terminal mode")
    # its protocol has no message for a mention: it is typed
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed(f":wincmd t<CR>ggVj:{command}Send<CR>")
    # the line is broken somewhere
    screen.wait_for(r"a\\ file\.txt", 2 * LIMIT_S)
    screen.wait_for(r"to 2\)")
    model.plan(*CLIS[name].edit(path, "two", "TWO"), [say("All done.")])
    editor.feed(f":{command}Focus<CR>")
    wait_until(lambda: editor.mode() == "t", "terminal mode")
    screen.type("edit it")
    screen.wait_for(r"edit it")
    screen.press_until(READY + "|" + CLIS[name].asks, "Enter")
    editor.wait_review(path)
    model.wait_requests(1)
    # the mention was looked up: the model has the file's text
    assert "three" in model.last_told()
    # the keys that the user is typing still belong to the CLI
    assert editor.mode() == "t"
    screen.key("C-\\", "C-n")
    wait_until(lambda: editor.mode() == "nt", "terminal-normal mode")
    editor.feed(f":{command}DiffAccept<CR>")
    wait_until(lambda: path.read_text() == "one\nTWO\nthree\n", "the edit", 2 * LIMIT_S)
    editor.wait_no_review()
