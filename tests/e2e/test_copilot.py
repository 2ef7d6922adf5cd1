"""What the real Copilot CLI and its model see of Neovim: connection, selection, mentions.

Not here: edits and their reviews (test_copilot_edits.py), ends and restarts (test_copilot_life.py).
"""

from __future__ import annotations

import os
import stat

import pytest

from tests.e2e.bed import Bed
from tests.e2e.copilot import PROMPT, select_two_lines
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli("copilot")]


def test_a_cli_in_the_projects_folder_connects_by_itself(bed: Bed) -> None:
    """A lock file of the project's folder is enough for the CLI to connect."""
    bed.write("a.py", "one\ntwo\n")
    editor = bed.start_editor("a.py")
    lock = editor.wait_copilot_lock()
    (path,) = editor.copilot_locks()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert lock["pid"] == editor.pid
    assert lock["ideName"] == "Neovim"
    assert lock["isTrusted"] is False
    assert str(bed.project) in lock["workspaceFolders"]
    assert stat.S_IMODE(os.stat(lock["socketPath"]).st_mode) == 0o600
    cli = bed.start_copilot(editor)
    (client,) = editor.clients()
    assert (client["agent"], client["name"], client["pid"]) == ("copilot", "copilot-cli", cli.pid)
    cli.write("/ide")
    cli.terminal.key("Enter")
    cli.terminal.wait_for(rf"Neovim: {bed.project} \(current\)", 2 * LIMIT_S)


def test_the_cli_does_not_ask_about_a_folder_that_is_trusted(bed: Bed) -> None:
    """isTrusted in the lock spares the CLI's question about the folder."""
    editor = bed.start_editor(options=f"copilot = {{ trust = {{ '{bed.folder}/*' }} }}")
    assert editor.wait_copilot_lock()["isTrusted"] is True
    # else it would not be ready before its question is answered
    bed.start_copilot(editor, trust=False)


def test_sent_lines_and_files_are_mentioned_in_the_prompt(bed: Bed) -> None:
    """add_file_reference and add_selection put `@path`, `@path:1-2` into the prompt."""
    path = bed.write("a.py", "one\ntwo\nthree\n")
    bed.write("sub/b.txt", "b\n")
    editor = bed.start_editor("a.py")
    cli = bed.start_copilot(editor)
    editor.feed(":2,3CopilotCliSend<CR>")
    cli.terminal.wait_for(rf"(?m){PROMPT} @a\.py:2-3$")
    editor.feed(":CopilotCliAdd sub/b.txt<CR>")
    cli.terminal.wait_for(rf"(?m){PROMPT} @a\.py:2-3 @sub/b\.txt$")
    bed.copilot_model.plan([say("I know them.")])
    cli.terminal.type("look")
    cli.terminal.wait_for(rf"{PROMPT}.* look")
    cli.terminal.key("Enter")
    cli.terminal.wait_for(r"I know them\.", 2 * LIMIT_S)
    told = bed.copilot_model.last_told()
    assert "<tagged_files>" in told
    assert str(path) in told


def test_the_selection_is_in_the_footer_and_told_to_the_model(bed: Bed) -> None:
    """selection_changed shows in the footer and goes to the model."""
    bed.write("a.py", "one\ntwo\nthree\n")
    editor = bed.start_editor("a.py")
    cli = bed.start_copilot(editor)
    cli.terminal.wait_for(r"(?m)@a\.py$")
    select_two_lines(editor, cli)
    bed.copilot_model.plan([use("ide-get_selection")], [say("I see them.")])
    cli.prompt("what is selected?")
    cli.terminal.wait_for(r"I see them\.", 2 * LIMIT_S)
    told = bed.copilot_model.last_told()
    assert "File: a.py (lines 1-2)\n```\none\ntwo\n" in told
    assert '"current":true' in bed.copilot_model.last_results()
    assert {"ide-get_selection", "ide-get_diagnostics"} <= bed.copilot_model.tools()
    # the CLI tells its title after the first prompt
    wait_until(lambda: editor.clients()[0].get("session_name"), "the session's name")
    editor.feed("<Esc>")
    cli.terminal.wait_gone(r"@a\.py:1-2\b")
    # of what must not be shared not even the name is told
    bed.write(".env", "SECRET=1\n")
    editor.feed(":edit .env<CR>V")
    cli.terminal.wait_for(r"(?m)@a\.py$")
    bed.copilot_model.plan([say("I see nothing.")])
    cli.prompt("and now?")
    cli.terminal.wait_for(r"I see nothing\.", 2 * LIMIT_S)
    assert "SECRET" not in bed.copilot_model.last_told()
