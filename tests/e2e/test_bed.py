"""The bed itself: the real CLI in our terminal, with a scripted model and a few lines of an IDE.

When these fail, look for the fault in the bed or in a new version of the CLI, not in the plugin.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from tests.e2e.bed import read_turns
from tests.e2e.claude import Claude
from tests.e2e.model import Model, say, use
from tests.e2e.terminal import Terminal
from tests.support.neovim import wait_until

pytestmark = pytest.mark.e2e

TOKEN = "0123456789abcdef" * 2


class Ide:
    """Answers the handshake, keeps tool calls, lets the test answer openDiff."""

    def __init__(self) -> None:
        self.calls: queue.Queue[tuple[ServerConnection, Any, dict[str, Any]]] = queue.Queue()
        self.connected = threading.Event()
        self._connection: ServerConnection | None = None

    def tell_file(self, path: Path) -> bool:
        """Say that the cursor is in a file."""
        assert self._connection is not None
        place = {"line": 0, "character": 0}
        selection = {"start": place, "end": place, "isEmpty": True}
        params = {"text": "", "filePath": str(path), "selection": selection}
        message = {"jsonrpc": "2.0", "method": "selection_changed", "params": params}
        self._connection.send(json.dumps(message))
        return True

    def serve(self, connection: ServerConnection) -> None:
        self._connection = connection
        try:
            for text in connection:
                self._receive(connection, json.loads(text))
        except ConnectionClosed:
            return

    def _receive(self, connection: ServerConnection, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method == "ide_connected":
            self.connected.set()
        elif method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "ide", "version": "0"}
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
            reply(connection, message["id"], result)
        elif method == "tools/call" and message["params"]["name"] == "openDiff":
            self.calls.put((connection, message["id"], message["params"]["arguments"]))
        elif "id" in message:
            reply(connection, message["id"], {"content": []})


def reply(connection: ServerConnection, number: Any, result: dict[str, Any]) -> None:
    connection.send(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}))


@contextmanager
def listening(ide: Ide, home: Path, project: Path) -> Iterator[int]:
    """Serve it and write its lock file; the port."""
    with serve(ide.serve, "127.0.0.1", 0, subprotocols=[Subprotocol("mcp")]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port: int = server.socket.getsockname()[1]
        lock = home / f".claude/ide/{port}.lock"
        lock.parent.mkdir(parents=True)
        content = {"pid": os.getpid(), "workspaceFolders": [str(project)], "ideName": "Bed"}
        lock.write_text(json.dumps({**content, "transport": "ws", "authToken": TOKEN}))
        yield port
        server.shutdown()
        thread.join()


@pytest.mark.cli
def test_the_cli_edits_a_file_after_the_ide_said_yes(folder: Path, model: Model) -> None:
    """FILE_SAVED with another text: the CLI writes that text, and tells its model."""
    home, project = folder / "home", folder / "project"
    home.mkdir()
    project.mkdir()
    path = project / "a.txt"
    path.write_text("one\ntwo\n")
    edit = use("Edit", file_path=str(path), old_string="two", new_string="TWO")
    model.plan(*read_turns(path), [edit], [say("All done.")])
    ide = Ide()
    with (
        listening(ide, home, project) as port,
        Claude(home=home, project=project, model_url=model.url, port=port) as cli,
    ):
        cli.wait_ready()
        assert ide.connected.wait(10)
        # it listens some moments after it has said so: tell it until it shows
        wait_until(
            lambda: ide.tell_file(path) and cli.terminal.shows(r"In a\.txt"), "the file's name"
        )
        cli.prompt("edit the file")
        connection, number, arguments = ide.calls.get(timeout=20)
        assert arguments["new_file_contents"] == "one\nTWO\n"
        texts = ["FILE_SAVED", "one\nby hand\n"]
        content = [{"type": "text", "text": text} for text in texts]
        reply(connection, number, {"content": content})
        cli.terminal.wait_for(r"All done\.")
    assert path.read_text() == "one\nby hand\n"
    assert "user modified your proposed changes" in model.last_results()


SPEAKS = "import sys; print('hel' + 'lo'); print('got', input()); print(input('? ')); sys.exit(3)"


def test_a_terminal_shows_types_and_sees_the_end(folder: Path) -> None:
    env = {"PATH": os.defpath}
    with Terminal([sys.executable, "-c", SPEAKS], env=env, cwd=folder) as terminal:
        terminal.wait_for("^hello")
        terminal.type("some text")
        terminal.key("Enter")
        terminal.wait_for("got some text")
        terminal.key("x", "Enter")
        assert terminal.wait_ended() == 3
        with pytest.raises(AssertionError, match="program ended"):
            terminal.wait_for("never")


def test_a_terminal_has_a_size_and_drops_what_it_cannot_show(folder: Path) -> None:
    odd = r"\033[>1u\033[?2026h\033]0;title\007\033[38:2::1:2:3mred\033[<u\033P+q\033\\ end\n"
    script = f"printf '{odd}'; read x; stty size"
    terminal = Terminal(["/bin/sh", "-c", script], env={"PATH": os.defpath}, cwd=folder)
    with terminal:
        assert terminal.wait_for(" end").startswith("red end\n")
        terminal.resize(77, 22)
        terminal.key("Enter")
        terminal.wait_for("22 77")
