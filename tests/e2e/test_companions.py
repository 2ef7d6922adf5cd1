"""Edits of the real Gemini CLI and Qwen Code, each decided in Neovim or in the terminal."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

import pytest

from tests.e2e.bed import Bed
from tests.e2e.companion import CLIS, Companion
from tests.e2e.editor import Editor
from tests.e2e.model import say
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = pytest.mark.e2e

BOTH = [pytest.param(name, marks=pytest.mark.cli(name)) for name in CLIS]


class Session:
    """One CLI beside one Neovim."""

    def __init__(self, bed: Bed, name: str, keys: str = "") -> None:
        """Start Neovim on a.txt, type keys, start the CLI."""
        self.name, self.kind = name, CLIS[name]
        self.editor: Editor = bed.start_editor("a.txt")
        self.editor.feed(keys)
        self.cli: Companion = bed.start_companion(name, self.editor)
        self.model = bed.companion_model(name)

    def propose(self, path: Path, old: str = "two", new: str = "TWO") -> None:
        """Let the CLI propose an edit, and wait until Neovim shows it."""
        self.model.plan(*self.kind.edit(path, old, new), [say(f"Edited {path.name}.")])
        self.cli.prompt(f"edit {path.name}, {len(self.model.requests)}")
        review = self.editor.wait_review(path)
        assert (review["agent"], review["is_new"]) == (self.name, False)

    def decide(self, keys: str, *, accepts: bool = True) -> None:
        """Type keys in the proposal's window and wait until the CLI is idle again."""
        self.editor.to_proposal()
        self.editor.feed(keys)
        if accepts:
            self.model.wait_spent()
        self.cli.wait_ready()
        self.editor.wait_no_review()


def wait_for_bytes(path: Path, content: bytes) -> None:
    wait_until(lambda: path.read_bytes() == content, f"{content!r} in {path.name}", 2 * LIMIT_S)


def let_it_give_up(port: int) -> None:
    """Wait until a CLI has looked for its old server for the last time.

    Its failure would be taken for one of the connection that it has made meanwhile.
    """
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(3)
        while True:
            try:
                server.accept()[0].close()
            except TimeoutError:
                return


@pytest.mark.parametrize("name", BOTH)
def test_decided_in_neovim(bed: Bed, name: str) -> None:
    """openDiff and its notifications ide/diffAccepted and ide/diffRejected decide an edit."""
    path = bed.write("a.txt", "one\ntwo\n")
    session = Session(bed, name, "jV")
    editor, cli, model = session.editor, session.cli, session.model
    # what is selected reaches the model
    model.plan([say("Hello.")])
    cli.prompt("hello")
    model.wait_requests(1)
    told = model.last_told()
    assert str(path) in told
    assert re.search(r"elected.?text\W+two", told, re.IGNORECASE), told[-1000:]
    editor.feed("<Esc>")
    cli.wait_ready()

    session.propose(path)
    session.decide(":w<CR>")
    wait_for_bytes(path, b"one\nTWO\n")
    wait_until(lambda: editor.lines() == ["one", "TWO"], "the buffer's new text")

    session.propose(path, "TWO", "two")
    session.decide("Gomine<Esc>:wq<CR>")
    wait_for_bytes(path, b"one\ntwo\nmine\n")
    wait_until(lambda: editor.lines() == ["one", "two", "mine"], "the buffer's new text")
    assert "mine" in model.last_results()

    for keys in (":q!<CR>", ":AgentIde reject<CR>"):
        session.propose(path)
        session.decide(keys, accepts=False)
        cli.terminal.wait_for(session.kind.rejected)
    assert path.read_bytes() == b"one\ntwo\nmine\n"

    crlf = bed.write("crlf.txt", b"one\r\ntwo\r\n")
    session.propose(crlf)
    session.decide(":w<CR>")
    wait_for_bytes(crlf, b"one\r\nTWO\r\n")

    new = bed.project / "folder" / "new.txt"
    model.plan(*session.kind.write(new, "a new\nfile\n"), [say("Made.")])
    cli.prompt("make a file")
    assert editor.wait_review(new)["is_new"]
    assert not new.parent.exists()
    session.decide(":w<CR>")
    wait_for_bytes(new, b"a new\nfile\n")


@pytest.mark.parametrize("name", BOTH)
def test_decided_in_the_terminal_and_ended(bed: Bed, name: str) -> None:
    """A decision in the CLI's terminal, and its end, send closeDiff."""
    path = bed.write("a.txt", "one\ntwo\n")
    session = Session(bed, name)
    editor, cli = session.editor, session.cli
    session.propose(path)
    cli.decide("Escape")
    editor.wait_no_review()
    cli.wait_ready()
    assert path.read_text() == "one\ntwo\n"

    session.propose(path)
    editor.to_proposal()
    editor.feed("Gomine<Esc>")
    cli.decide("Enter")
    # else its next question to the model gets the next edit, which nobody has asked for
    session.model.wait_spent()
    editor.wait_no_review()
    written = "one\nTWO\nmine\n" if session.kind.takes_text else "one\nTWO\n"
    wait_for_bytes(path, written.encode())
    wait_until(lambda: "".join(f"{line}\n" for line in editor.lines()) == written, "the buffer")
    cli.wait_ready()

    if name == "gemini":
        # Ctrl-C takes its question away, and it cannot say so: the diff is closed by hand
        session.propose(path, "TWO", "two")
        cli.terminal.wait_for(session.kind.asks)
        cli.terminal.press_until_gone(session.kind.asks, "C-c")
        cli.wait_ready()
        assert len(editor.reviews()) == 1
        editor.to_proposal()
        editor.feed(":q!<CR>")
        editor.wait_no_review()
    session.propose(path, "TWO", "two")
    cli.terminal.kill(signal.SIGKILL if name == "gemini" else signal.SIGTERM)
    wait_until(lambda: not editor.reviews(), "the review's end", 3 * LIMIT_S)
    editor.wait_no_review()
    editor.wait_clients(0)
    assert path.read_text() == written


@pytest.mark.parametrize("name", BOTH)
def test_a_restarted_host_rejects_what_is_open_and_is_found_again(bed: Bed, name: str) -> None:
    """A server that went is found again through its discovery file."""
    path = bed.write("a.txt", "one\ntwo\n")
    session = Session(bed, name)
    editor, cli = session.editor, session.cli
    session.propose(path)
    host, port = editor.host_pid(), editor.wait_companion_file(name)["port"]
    editor.command("AgentIde restart")
    # without the rejection Gemini CLI would wait for ever
    cli.terminal.wait_for(session.kind.rejected, 2 * LIMIT_S)
    wait_until(lambda: editor.host_pid() not in (None, host), "the next host", 4 * LIMIT_S)
    editor.wait_companion_file(name)
    let_it_give_up(port)
    cli.look_for_editor()
    editor.wait_clients(1)
    cli.wait_ready()
    session.propose(path)
    session.decide(":w<CR>")
    wait_for_bytes(path, b"one\nTWO\n")
    editor.terminal.type(":qa!\r")
    wait_until(
        lambda: not any(editor.companion_files(other) for other in CLIS), "the removal of files"
    )
