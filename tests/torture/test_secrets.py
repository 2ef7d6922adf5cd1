"""Tokens stand in their discovery files and nowhere else: everything there is gets searched.

A real Neovim with its host, all servers, the log at its most talkative, an agent's terminal, and a
session with an error on each server.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.editor import START_S, Editor
from tests.support.cli import Cli
from tests.support.neovim import wait_until
from tests.torture.attempts import ATTEMPTS, PAGES, knock
from tests.torture.doors import Door, doors
from tests.torture.test_nobody_in_files import discovery_files
from tests.torture.visits import visit

STATUS_TEXTS = """
  local status = require("agent_ide.status_text").lines()
  table.insert(status, require("agent_ide.statusline").text())
  table.insert(status, vim.inspect(require("agent_ide.status").get()))
  table.insert(status, vim.inspect(require("agent_ide.host").info()))
  return table.concat(status, "\\n")
"""

MISTAKES = [
    {"method": "no/such/method"},
    {"method": "tools/call", "params": {"name": "no such tool", "arguments": {}}},
    {"method": "tools/call", "params": {"name": "openDiff", "arguments": {"tab_name": 1}}},
    {"method": "tools/call", "params": "x"},
]


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="se-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        cli = Cli(folder)
        with Editor(folder, project, options=f"claude = {{ command = '{cli.command}' }}") as it:
            doors(it)
            it.command("ClaudeCodeOpen")
            cli.started()
            asyncio.run(use(it))
            yield it


async def use(editor: Editor) -> None:
    """Sessions, mistakes, refusals: whatever may write a token somewhere."""
    for door in doors(editor):
        async with visit(door, editor) as visitor:
            assert await visitor.ask()
            answers = b"".join([await mistaken(door, mistake) for mistake in MISTAKES])
            assert b"error" in answers
            assert secret(door) not in answers
        attempts = [item for item in [*ATTEMPTS, *PAGES] if not item.name.startswith("20 MB")]
        outcomes = await asyncio.gather(*(knock(door, attempt) for attempt in attempts))
        assert [item.attempt for item in outcomes if secret(door) in item.answer] == []


async def mistaken(door: Door, mistake: dict[str, object]) -> bytes:
    """What the server says to a message that is wrong, of somebody who has the token."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **mistake}).encode()
    reader, writer = await door.connect()
    if door.name == "claude":
        frame = b"\x81\xfe" + len(body).to_bytes(2, "big") + bytes(4) + body
        if len(body) < 126:
            frame = b"\x81" + bytes([0x80 | len(body)]) + bytes(4) + body
        writer.write(door.right() + frame)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = (await reader.readexactly(2))[1]
        size = int.from_bytes(await reader.readexactly(2), "big") if size == 126 else size
        answer += await reader.readexactly(size)
    else:
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {door.host}\r\n{door.header}: {door.value}\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.read()
    writer.close()
    return answer


def secret(door: Door) -> bytes:
    """A part of the token that is long enough to be nothing else."""
    return door.token[:-1].encode()


def secrets(editor: Editor) -> list[bytes]:
    return [secret(door) for door in doors(editor)]


def holders(paths: list[Path], wanted: list[bytes]) -> list[str]:
    """The files in which one of the secrets stands."""
    found = []
    for path in paths:
        try:
            content = path.read_bytes()
        except (OSError, ValueError):
            continue  # a process that has ended, a file of the kernel's
        if any(item in content for item in wanted):
            found.append(str(path))
    return found


def test_processes(editor: Editor) -> None:
    """Arguments and environment of every process, the agent's own terminal among them."""
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    seen = {editor.pid, editor.wait_host()}
    assert seen <= {int(path.name) for path in processes}
    files = [path / name for path in processes for name in ("cmdline", "environ")]
    assert b"CLAUDE_CODE_SSE_PORT" in b"".join(
        (path / "environ").read_bytes() for path in processes if is_child(path, editor)
    ), "the agent's terminal is there"
    assert holders(files, secrets(editor)) == []


def is_child(process: Path, editor: Editor) -> bool:
    try:
        fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return int(fields[1]) == editor.pid


def test_files(editor: Editor) -> None:
    editor.command("wshada!")
    wanted, locks = secrets(editor), [str(path) for path in discovery_files(editor)]
    files = [path for path in editor.folder.rglob("*") if path.is_file()]
    # the search finds what it looks for
    assert len(locks) == 4
    assert sorted(holders(files, wanted)) == sorted(locks)


def test_log_says_much_but_no_token(editor: Editor) -> None:
    log = (editor.folder / "state/nvim/agent_ide.log").read_bytes()
    assert b"DEBUG" in log
    assert b"refused" in log
    assert not [item for item in secrets(editor) if item in log]


def test_what_the_user_sees(editor: Editor) -> None:
    texts = [editor.terminal.text(), editor.messages(), editor.lua(STATUS_TEXTS)]
    editor.command("AgentIde status")
    texts.append("\n".join(editor.lines()))
    editor.feed("q")
    editor.command("checkhealth agent_ide")

    def checked() -> bool:
        return any("agent_ide" in line for line in editor.lines())

    wait_until(checked, "the report", START_S)
    texts.append("\n".join(editor.lines()))
    editor.command("bwipeout!")
    assert all(len(text) > 20 for text in texts[2:]), "there is something to search in"
    shown = "\n".join(texts).encode()
    # lines may be broken in the middle
    packed = b"".join(shown.split())
    assert not [item for item in secrets(editor) if item.replace(b" ", b"") in packed]


def test_variables(editor: Editor) -> None:
    """Nothing in Neovim holds one: no variable, no environment, no buffer."""
    code = """
      local out = { vim.inspect(vim.g), vim.inspect(vim.fn.environ()) }
      for name in pairs(vim.fn.getcompletion("g:", "var")) do
        table.insert(out, vim.inspect(vim.g[name]))
      end
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        vim.list_extend(out, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
        table.insert(out, vim.inspect(vim.fn.getbufvar(buf, "")))
      end
      return table.concat(out, "\\n")
    """
    text = editor.lua(code).encode()
    assert not [item for item in secrets(editor) if item in text]
    assert os.environ.keys().isdisjoint({"CLAUDE_CODE_SSE_PORT"})
