"""Bad input to the host as a user runs it: it lives, the user hears nothing, it stays slim.

What is answered to what: test_bad_*.py, on servers in this process. Here: a real Neovim and the
host that it has started.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.e2e.editor import Editor
from tests.servers.claude import HEADER
from tests.support.figures import Figure, Scale
from tests.support.neovim import LIMIT_S, wait_until
from tests.torture import texts
from tests.torture.frames import CONT, PING, TEXT, Socket, close, frame
from tests.torture.messages import ClaudeLine
from tests.torture.test_bad_arguments import calls

pytestmark = pytest.mark.e2e

MOST_MB = 24
"""Over many thousand bad messages. Python keeps what it once had: after warming up it is steady."""

BAD_FRAMES = (
    frame(TEXT, b"{}", masked=False),
    frame(TEXT, b"{}", rsv=4),
    frame(5, b"x"),
    frame(PING, b"x" * 126),
    frame(CONT, b"x"),
    frame(TEXT, b"\xed\xa0\x80"),
    frame(TEXT, length=1 << 62),
    close(1005),
    close(1000, b"\xff"),
)

BAD_REQUESTS = (
    b"POST /mcp HTTP/1.0\r\n%s\r\n",
    b"POST /mcp HTTP/1.1\r\n%sContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\nx\r\n",
    b"POST /mcp HTTP/1.1\r\n%sContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /mcp HTTP/1.1\r\n%sContent-Length: 2\r\n\r\n{}",
    b"POST /mcp HTTP/1.1\r\n%sContent-Length: 200000000\r\n\r\n{}",
    b"BREW /mcp HTTP/1.1\r\n%s\r\n",
    b"GET http://evil.example/mcp HTTP/1.1\r\n%s\r\n",
    b"\x16\x03\x01",
)


@pytest.fixture
def editor(short_folder: Path) -> Iterator[Editor]:
    (short_folder / "home").mkdir(0o700)
    project = short_folder / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    with Editor(short_folder, project, args=["--", str(project / "a.txt")]) as it:
        it.wait_host()
        wait_until(it.copilot_lock, "Copilot's lock", 2 * LIMIT_S)
        yield it


def logged(editor: Editor) -> list[str]:
    """Lines of the log that tell of a fault."""
    lines = []
    for path in sorted((editor.folder / "state").rglob("agent_ide*.log")):
        lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    assert lines, "there is a log"
    return [line for line in lines if " ERROR " in line or line.startswith("Traceback")]


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def handles(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@contextmanager
def unharmed(editor: Editor, figure: Figure) -> Iterator[int]:
    """The same host after all, no message for the user, no fault in the log, little memory."""
    pid = editor.host_pid()
    assert pid is not None
    before_mb, before = resident_mb(pid), handles(pid)
    yield pid
    assert editor.host_pid() == pid, "another host, or none"
    wait_until(lambda: handles(pid) <= before, "handles are given back", 4 * LIMIT_S)
    growth_mb = resident_mb(pid) - before_mb
    figure("growth of the host", growth_mb, "MB", f"at most {MOST_MB}")
    assert growth_mb < MOST_MB
    assert editor.messages().strip() == ""
    assert not editor.nvim.call("nvim_get_mode")["blocking"]
    assert logged(editor) == []


def test_host_lives(editor: Editor, scale: Scale, figure: Figure) -> None:
    lock = editor.lock()
    assert lock is not None
    with asyncio.Runner() as runner:
        line = runner.run(ClaudeLine.dial(lock.port, lock.token))
        tools = _answer(runner.run(line.ask(_request(0, "tools/list", "{}"), 1)))["tools"]

        def ask(text: bytes, tool: str = "") -> None:
            waits = tool in ("openDiff", "executeCode")
            answers = runner.run(line.ask(text, 1 if tool and not waits else None))
            if waits:
                # the user does not answer; what is open closes, and each call has its answer
                end = _request(1_000_000, "tools/call", '{"name":"closeAllDiffTabs"}')
                answers += runner.run(line.ask(end, 2 - len(answers)))
            codes = [int(item["error"]["code"].text) for item in answers if "error" in item]
            assert -32603 not in codes, answers

        drawn = given(texts.envelopes(), texts.variant_numbers, calls(tools))

        def example(message: str, number: int, call: tuple[str, str, str]) -> None:
            for text in texts.variants(message, number):
                ask(text)
            ask(_call(*call[:2]), tool=call[0])

        # at first it takes what it keeps
        texts.many(scale(short=10, long=200), figure)(drawn(example))()
        with unharmed(editor, figure):
            count = scale(short=30, long=1_500)
            texts.many(count, figure)(drawn(example))()
            runner.run(_bad_connections(editor, scale(short=2, long=50)))
            assert runner.run(line.ask(_request(1, "ping", "{}"), 1))
            figure("bad messages to a real host", count * (texts.VARIANTS + 1))
        runner.run(line.close())


def _request(number: int, method: str, params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{params}}}'.encode()


def _call(tool: str, arguments: str) -> bytes:
    return _request(7, "tools/call", f'{{"name":{json.dumps(tool)},"arguments":{arguments}}}')


def _answer(answers: list[Any]) -> Any:
    (answer,) = answers
    return answer["result"]


async def _bad_connections(editor: Editor, rounds: int) -> None:
    lock, copilot = editor.lock(), editor.copilot_lock()
    assert lock is not None
    assert copilot is not None
    admission = "Host: localhost\r\nAuthorization: {Authorization}\r\n".format(**copilot["headers"])
    for _ in range(rounds):
        for data in BAD_FRAMES:
            peer = await Socket.connect(lock.port, f"{HEADER}: {lock.token}")
            peer.write(data)
            assert await peer.close_code() in (1002, 1007, 1009)
            await peer.end()
        for request in BAD_REQUESTS:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(4 * LIMIT_S)
                client.connect(copilot["socketPath"])
                client.sendall(request.replace(b"%s", admission.encode()))
                answer = await asyncio.to_thread(client.recv, 4096)
                assert answer.split()[1][:1] in (b"4", b"5"), answer
