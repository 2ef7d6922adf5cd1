"""Ends and restarts beneath the real Copilot CLI: the host's, Neovim's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.e2e.bed import Bed
from tests.e2e.copilot import select_two_lines
from tests.e2e.editor import Editor
from tests.e2e.model import say, use
from tests.e2e.process import running
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli("copilot")]

RECONNECT_S = 4 * LIMIT_S


def test_a_killed_host_leaves_nothing_lost_and_the_cli_reconnects(bed: Bed) -> None:
    """A lost server is found again through a new lock file."""
    path = bed.write("a.txt", "one\ntwo\n")
    editor = bed.start_editor("a.txt")
    cli = bed.start_copilot(editor)
    before = editor.wait_copilot_lock()
    edit = use("edit", path=str(path), old_str="two", new_str="TWO")
    bed.copilot_model.plan([edit], [say("All done.")])
    cli.prompt("edit the file")
    editor.wait_review(path)
    editor.to_proposal()
    editor.feed("Gomine<Esc>")
    editor.kill_host()
    editor.wait_no_review()
    # the CLI's own question is still there, and what the user typed as well
    cli.decide("1")
    wait_until(lambda: path.read_text() == "one\nTWO\n", "the edit", 2 * LIMIT_S)
    assert ":AgentIde recover" in editor.messages()
    editor.wait_clients(1, RECONNECT_S)
    after = editor.wait_copilot_lock()
    assert len(editor.copilot_locks()) == 1
    assert after["socketPath"] != before["socketPath"]
    assert not os.path.exists(before["socketPath"])
    # connected means that it hears what is selected
    editor.feed("<Esc>:wincmd t<CR>")
    select_two_lines(editor, cli)


def quit_by_command(editor: Editor) -> None:
    editor.terminal.type(":qa!\r")


def kill(editor: Editor) -> None:
    os.kill(editor.pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [quit_by_command, kill], ids=["qa!", "SIGKILL"])
def test_a_neovim_that_ends_leaves_nothing_and_the_next_one_is_found(
    bed: Bed, end: Callable[[Editor], None]
) -> None:
    """The next Neovim's lock file is found by a CLI that runs."""
    bed.write("a.txt", "one\ntwo\n")
    editor = bed.start_editor("a.txt")
    cli = bed.start_copilot(editor)
    cli.terminal.wait_for(r"@a\.txt")
    host = editor.wait_host()
    end(editor)
    wait_until(lambda: not running(editor.pid), "Neovim's end")
    wait_until(lambda: not running(host), "the host's end")
    wait_until(lambda: not editor.leftovers(), "the removal of files")
    cli.terminal.wait_gone(r"@a\.txt")
    following = bed.start_editor("a.txt")
    following.wait_clients(1, RECONNECT_S)
    select_two_lines(following, cli)


def test_the_next_start_sweeps_what_two_kills_left(bed: Bed) -> None:
    """None of the CLI's: what killed Neovims left is swept by the next one."""
    editor = bed.start_editor()
    lock = editor.wait_copilot_lock()
    (path,) = editor.copilot_locks()
    # of another IDE: its process is gone as well, but it is none of ours
    foreign = path.with_name("other.lock")
    foreign.write_text('{"pid": 999999, "ideName": "Other", "socketPath": "/nowhere"}')
    host = editor.wait_host()
    os.kill(host, signal.SIGSTOP)
    os.kill(editor.pid, signal.SIGKILL)
    os.kill(host, signal.SIGKILL)
    wait_until(lambda: not running(editor.pid) and not running(host), "both ends")
    assert path.exists()
    following = bed.start_editor()
    wait_until(lambda: not path.exists(), "the sweep")
    wait_until(lambda: not os.path.exists(lock["socketPath"]), "the socket's removal")
    wait_until(lambda: len(following.copilot_locks()) == 2, "the new lock file", 2 * LIMIT_S)
    assert foreign.exists()
