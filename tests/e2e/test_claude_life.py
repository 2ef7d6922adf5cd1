"""Ends and restarts beneath the real Claude Code CLI: the host's, Neovim's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.e2e.bed import Bed, edit_turns
from tests.e2e.editor import Editor
from tests.e2e.process import running
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli]


def test_the_cli_reconnects_to_the_same_port_after_the_host_was_killed(bed: Bed) -> None:
    """A lost server is tried again at the same URL with the same token."""
    bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    before = editor.lock()
    editor.feed("ggVj")
    cli.terminal.wait_for(r"2 lines selected")
    editor.kill_host()
    cli.terminal.wait_gone(r"2 lines selected")
    after = editor.lock()
    assert before is not None
    assert after is not None
    assert (after.port, after.token) == (before.port, before.token)
    editor.wait_clients(1, 20)
    # by itself, and what is selected is there again
    cli.terminal.wait_for(r"2 lines selected")


def test_a_review_of_a_killed_host_closes_and_the_cli_decides(bed: Bed) -> None:
    """A connection lost with a diff open leaves the CLI's own prompt."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor, cli = bed.start("a.txt")
    bed.model.plan(*edit_turns(path, "two", "TWO"))
    cli.prompt("edit the file")
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed("Gomine<Esc>")
    editor.kill_host()
    editor.wait_no_review()
    # what the user typed is not lost with it
    assert ":AgentIde recover" in editor.messages()
    editor.feed(":AgentIde recover<CR>1<CR>")
    wait_until(lambda: editor.lines() == ["one", "TWO", "mine"], "the kept text")
    editor.wait_clients(1, 20)
    cli.decide("1")
    wait_until(lambda: path.read_text() == "one\nTWO\n", "the edit")
    cli.terminal.wait_for(r"All done\.", 2 * LIMIT_S)


def quit_by_command(editor: Editor) -> None:
    editor.terminal.type(":qa!\r")


def hang_up(editor: Editor) -> None:
    editor.terminal.hang_up()


def send(number: signal.Signals) -> Callable[[Editor], None]:
    return lambda editor: os.kill(editor.pid, number)


@pytest.mark.parametrize(
    "end",
    [quit_by_command, hang_up, send(signal.SIGTERM), send(signal.SIGHUP), send(signal.SIGKILL)],
    ids=["qa!", "hang-up", "SIGTERM", "SIGHUP", "SIGKILL"],
)
def test_a_neovim_that_ends_leaves_nothing(bed: Bed, end: Callable[[Editor], None]) -> None:
    """A CLI whose IDE has gone goes on without it."""
    editor, cli = bed.start()
    host = editor.wait_host()
    end(editor)
    wait_until(lambda: not running(editor.pid), "Neovim's end")
    wait_until(lambda: not running(host), "the host's end")
    wait_until(lambda: not editor.leftovers(), "the removal of files")
    assert cli.terminal.alive


def test_the_next_start_sweeps_what_two_kills_left(bed: Bed) -> None:
    """None of the CLI's: what killed Neovims left is swept by the next one."""
    editor = bed.start_editor()
    host = editor.wait_host()
    os.kill(host, signal.SIGSTOP)
    os.kill(editor.pid, signal.SIGKILL)
    os.kill(host, signal.SIGKILL)
    wait_until(lambda: not running(editor.pid) and not running(host), "both ends")
    left = editor.lock()
    assert left is not None
    following = bed.start_editor()
    wait_until(lambda: not left.path.exists(), "the sweep")
    lock = following.lock()
    assert lock is not None
    assert lock.pid == following.pid
