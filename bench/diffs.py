"""openDiff of large files against `:diffsplit` of the same two texts in the same Neovim."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.editor import Agent, Editor, wait_for
from bench.table import Row

SIZES = (("100 KB", 100_000, 1.0), ("1 MB", 1_000_000, 1.0), ("10 MB", 10_000_000, 0.35))
LINE = "the quick brown fox jumps over the lazy dog, line {:07d}\n"

STALL = """
_G.longest, _G.last = 0, vim.uv.hrtime()
local function tick()
  local now = vim.uv.hrtime()
  _G.longest, _G.last = math.max(_G.longest, now - _G.last), now
  _G.timer = vim.defer_fn(tick, 1)
end
tick()
"""

DIFFSPLIT = """
local old, new = ...
local begin = vim.uv.hrtime()
vim.cmd.edit(old)
vim.cmd("vertical diffsplit " .. new)
vim.cmd.redraw()
local took = (vim.uv.hrtime() - begin) / 1e6
vim.cmd("diffoff! | only | enew | silent! %bwipeout!")
return took
"""


def rows() -> list[Row]:
    found = []
    for name, size, budget in SIZES:
        with Editor() as editor:
            lock = wait_for(editor.claude_lock)
            token = json.loads(lock.read_text())["authToken"]
            found += asyncio.run(_measure(editor, int(lock.stem), token, name, size, budget))
    return found


def _texts(size: int) -> tuple[str, str]:
    lines = [LINE.format(number) for number in range(size // len(LINE.format(0)))]
    changed = [
        line.replace("fox", "cat") if number % 100 == 50 else line
        for number, line in enumerate(lines)
    ]
    return "".join(lines), "".join(changed)


async def _measure(
    editor: Editor, port: int, token: str, name: str, size: int, budget: float
) -> list[Row]:
    old_text, new_text = _texts(size)
    old, new = editor.project / "old.txt", editor.project / "new.txt"
    old.write_text(old_text)
    new.write_text(new_text)
    bare = [editor.lua(DIFFSPLIT, str(old), str(new)) for _ in range(3)]
    agent = await Agent.connect(port, token)
    editor.lua(STALL)
    begin = time.monotonic()
    answer = await agent.begin("tools/call", _open_diff(old, new_text, "tab"))
    await _until(lambda: _visible(editor))
    shown = (time.monotonic() - begin) * 1000
    stall = editor.lua("return _G.longest") / 1e6
    begin = time.monotonic()
    editor.lua("require('agent_ide.diff').decide(...)", _review(editor), "accept")
    await answer
    accepted = (time.monotonic() - begin) * 1000
    await agent.close()
    base = median(bare)
    return [
        Row(
            f"openDiff of {name}: visible, against :diffsplit",
            shown / base,
            "x",
            budget,
            f"{shown:.0f} / {base:.0f} ms",
        ),
        Row(f"openDiff of {name}: longest stall of the editor", stall, "ms", 250.0),
        Row(f"accept of {name}: until the answer is on the wire", accepted, "ms", None),
    ]


async def _until(look: Callable[[], bool]) -> None:
    while not look():  # noqa: ASYNC110 - what is waited for sets no event
        await asyncio.sleep(0.001)


def _open_diff(path: Path, text: str, tab_name: str) -> dict[str, object]:
    arguments = {
        "old_file_path": str(path),
        "new_file_path": str(path),
        "new_file_contents": text,
        "tab_name": tab_name,
    }
    return {"name": "openDiff", "arguments": arguments}


def _visible(editor: Editor) -> bool:
    reviews = editor.lua("return require('agent_ide.status').get().reviews")
    return any(review["state"] == "pending" for review in reviews)


def _review(editor: Editor) -> int:
    reviews = editor.lua("return require('agent_ide.status').get().reviews")
    return int(next(review["id"] for review in reviews if review["state"] == "pending"))
