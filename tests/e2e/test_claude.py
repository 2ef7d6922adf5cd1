"""What the real Claude Code CLI and its model see of Neovim: selection, mentions, errors.

Not here: edits and their reviews (test_claude_edits.py), ends and restarts (test_claude_life.py).
"""

from __future__ import annotations

import stat

import pytest

from tests.e2e.bed import Bed, edit_turns
from tests.e2e.claude import PROMPT
from tests.e2e.editor import Editor
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli]


def test_the_cli_connects_through_the_lock_file(bed: Bed) -> None:
    """The lock file and CLAUDE_CODE_SSE_PORT are enough; roots/list tells the CLI's folder."""
    bed.write("a.txt", "one\n")
    editor, cli = bed.start("a.txt")
    lock = editor.lock()
    assert lock is not None
    assert 10000 <= lock.port <= 65535
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(lock.path.parent.stat().st_mode) == 0o700
    assert lock.pid == editor.pid
    assert lock.content["ideName"] == "Neovim"
    assert lock.content["transport"] == "ws"
    wait_until(lambda: folders(editor)[:1] == [str(bed.project)], "the working directory")
    client = editor.wait_clients(1)[0]
    assert client["name"] == "claude-code"
    assert client["pid"] == cli.pid
    wait_until(lambda: editor.clients()[0].get("cwd") == str(bed.project), "the CLI's directory")
    cli.prompt("/status")
    cli.terminal.wait_for(r"Connected to Neovim", 2 * LIMIT_S)


def folders(editor: Editor) -> list[str]:
    """The workspace folders that the lock file names now."""
    lock = editor.lock()
    return list(lock.content["workspaceFolders"]) if lock else []


def test_a_terminal_in_neovim_inherits_how_to_connect(bed: Bed) -> None:
    """None of the CLI's: any terminal of Neovim has CLAUDE_CODE_SSE_PORT."""
    editor = bed.start_editor()
    lock = editor.lock()
    assert lock is not None
    editor.feed(":terminal echo port=$CLAUDE_CODE_SSE_PORT on=$ENABLE_IDE_INTEGRATION<CR>")
    editor.terminal.wait_for(rf"port={lock.port} on=true")


def test_the_selection_is_on_the_clis_screen_and_told_to_the_model(bed: Bed) -> None:
    """selection_changed shows in the prompt, goes to the model, is cleared by an empty path."""
    path = bed.write("a.txt", "one\ntwo\nthree\n")
    editor, cli = bed.start("a.txt")
    cli.terminal.wait_for(r"In a\.txt")
    editor.feed("ggVj")
    cli.terminal.wait_for(r"2 lines selected")
    bed.model.plan([say("I see them.")])
    cli.prompt("what is selected?")
    cli.terminal.wait_for(r"I see them\.")
    told = bed.model.last_told()
    assert f"The user selected the lines 1 to 2 from {path}:\none\ntwo\n" in told
    editor.feed("<Esc>")
    cli.terminal.wait_for(r"In a\.txt")
    # what must not be shared is not even named
    bed.write(".env", "SECRET=1\n")
    editor.feed(":edit .env<CR>V")
    cli.terminal.wait_gone(rf"{PROMPT} \[⧉")


def test_a_selection_made_before_the_cli_came_is_not_lost(bed: Bed) -> None:
    """selection_changed is taken 0.5 s after ide_connected."""
    bed.write("a.txt", "one\ntwo\nthree\n")
    editor = bed.start_editor("a.txt")
    editor.feed("ggVjj")
    cli = bed.start_claude(editor)
    cli.terminal.wait_for(r"3 lines selected")


def test_sent_lines_and_files_are_mentioned_in_the_prompt(bed: Bed) -> None:
    """at_mentioned puts `@path#L1-2` into the prompt; its lines are 0-based."""
    bed.write("a.txt", "one\ntwo\nthree\n")
    bed.write("sub/b.txt", "b\n")
    editor, cli = bed.start("a.txt")
    editor.feed(":2,3ClaudeCodeSend<CR>")
    cli.terminal.wait_for(r"@a\.txt#L2-3\b")
    editor.feed(":ClaudeCodeAdd sub/b.txt<CR>")
    cli.terminal.wait_for(r"@a\.txt#L2-3 @sub/b\.txt")


# Tells of an error wherever the file says BAD, as a linter does that looks at what is loaded.
_LINTER = """
  local namespace = vim.api.nvim_create_namespace("linter")
  local function lint(event)
    local found = {}
    for number, line in ipairs(vim.api.nvim_buf_get_lines(event.buf, 0, -1, false)) do
      if line:find("BAD", 1, true) then
        table.insert(found, { lnum = number - 1, col = 2, message = "this is bad",
          severity = vim.diagnostic.severity.ERROR, source = "linter", code = "E1" })
      end
    end
    vim.diagnostic.set(namespace, event.buf, found)
  end
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost", "TextChanged" },
    { callback = lint })
"""


@pytest.mark.parametrize("name", ["a.py", "a é #%.py"])
def test_new_errors_of_an_edited_file_reach_the_model(bed: Bed, name: str) -> None:
    """getDiagnostics is asked around an edit, with a raw URI; what is new goes to the model."""
    path = bed.write(name, "one\ntwo\n")
    editor, cli = bed.start()
    editor.lua(_LINTER)
    editor.command(f"edit {editor.call('fnameescape', name)}")
    bed.model.plan(*edit_turns(path, "two", "BAD"))
    cli.prompt("edit the file")
    editor.wait_review(path)
    editor.feed(":ClaudeCodeDiffAccept<CR>")
    cli.terminal.wait_for(r"All done\.", 4 * LIMIT_S)
    # Errors that were found after the CLI had asked come with the next prompt.
    bed.model.plan([say("I see the errors.")])
    cli.prompt("go on")
    cli.terminal.wait_for(r"I see the errors\.", 2 * LIMIT_S)
    told = bed.model.last_told()
    assert "<new-diagnostics>" in told
    assert name in told
    assert "[Line 2:3] this is bad [E1] (linter)" in told


def test_the_model_can_ask_for_errors_itself(bed: Bed) -> None:
    """The model is offered getDiagnostics and executeCode."""
    path = bed.write("a.py", "BAD\n")
    editor = bed.start_editor()
    editor.lua(_LINTER)
    editor.command("edit a.py")
    cli = bed.start_claude(editor, "--allowedTools", "mcp__ide__getDiagnostics")
    ask = use("mcp__ide__getDiagnostics", uri=f"file://{path}")
    bed.model.plan([ask], [say("I know.")])
    cli.prompt("is it good?")
    cli.terminal.wait_for(r"I know\.", 2 * LIMIT_S)
    results = bed.model.last_results()
    assert f'"uri":"file://{path}"' in results.replace('": "', '":"')
    assert "this is bad" in results
    offered = {tool["name"] for tool in bed.model.requests[-1]["tools"]}
    assert {"mcp__ide__getDiagnostics", "mcp__ide__executeCode"} <= offered
