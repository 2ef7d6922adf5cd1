"""openDiff against `:diffsplit` of the same two texts in the same Neovim: until visible, stalls, an
edit, accept, memory.

Owns:     what "visible" means: both windows are there in diff mode, and drawn (a UI is attached),
          as Neovim says itself.
Not here: the host's share while another client calls (clients.py).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.editor import Agent, Editor, wait_for
from bench.table import Row

LINE = "the quick brown fox jumps over the lazy dog, line {:07d}\n"

ACCEPT = 2.0
ACCEPT_EDITED = 2.5
"""What was edited is written by Neovim and read by the host before the answer begins."""

UI = (120, 40, {"ext_linegrid": True, "rgb": True})

STALL = """
_G.longest, _G.last = 0, nil
if _G.ticking then return end
_G.ticking = true
local function tick()
  local now = vim.uv.hrtime()
  _G.longest, _G.last = math.max(_G.longest, now - (_G.last or now)), now
  vim.defer_fn(tick, 1)
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

PROPOSAL = """
local function proposal()
  return vim.iter(vim.api.nvim_list_wins()):find(function(win)
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    return name:find("^agent%-ide://review") ~= nil and vim.wo[win].diff
  end)
end
"""

WATCH = """
_G.visible = nil
local drawn = {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace("bench"), {
  on_start = function() return _G.visible == nil end,
  on_win = function(_, win)
    drawn[win] = true
    return false
  end,
  on_end = function()
    local found = vim.tbl_filter(function(win)
      return drawn[win] and vim.wo[win].diff
    end, vim.api.nvim_tabpage_list_wins(0))
    if not _G.visible and #found == 2 then _G.visible = vim.uv.hrtime() / 1e9 end
  end,
})
"""

GONE = PROPOSAL + "return proposal() == nil"

EDIT = (
    PROPOSAL
    + """
local buf = vim.api.nvim_win_get_buf(proposal())
local begin = vim.uv.hrtime()
vim.api.nvim_buf_set_lines(buf, 70, 71, true, { "edited" })
vim.cmd.redraw()
return (vim.uv.hrtime() - begin) / 1e6
"""
)

DECIDE = """
local begin = vim.uv.hrtime()
require("agent_ide.diff").decide(...)
return begin / 1e9
"""

WRITE = """
local from, to = ...
vim.cmd.edit(from)
local begin = vim.uv.hrtime()
vim.cmd("silent write! " .. to)
local took = (vim.uv.hrtime() - begin) / 1e6
vim.cmd("enew | silent! %bwipeout!")
return took
"""


@dataclass(frozen=True, slots=True)
class Size:
    """visible: the most it may take, against :diffsplit. changed: every how many lines."""

    name: str
    bytes: int
    visible: float | None
    runs: int
    changed: int = 100
    stall_ms: float = 250.0

    def texts(self) -> tuple[str, str]:
        lines = [LINE.format(number) for number in range(self.bytes // len(LINE.format(0)))]
        middle = self.changed // 2
        changed = [
            line.replace("fox", "cat") if number % self.changed == middle else line
            for number, line in enumerate(lines)
        ]
        return "".join(lines), "".join(changed)


SIZES = (
    Size("100 KB", 100_000, 1.0, runs=15),
    Size("1 MB", 1_000_000, 1.0, runs=13),
    Size("10 MB", 10_000_000, 0.35, runs=6),
)

ALL_DIFFERENT = Size("10 MB, every line", 10_000_000, None, runs=6, changed=1, stall_ms=500.0)


@dataclass(slots=True)
class Seen:
    """What was measured of one size, in ms; one entry for each run."""

    bare: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    stall: list[float] = field(default_factory=list)
    edit: list[float] = field(default_factory=list)
    accept: list[float] = field(default_factory=list)
    accept_edited: list[float] = field(default_factory=list)
    write: list[float] = field(default_factory=list)


def rows(short: bool = False) -> list[Row]:
    # some milliseconds of 100 KB say nothing on a busy machine
    sizes = [replace(size, runs=2) for size in SIZES[1:]] if short else [*SIZES, ALL_DIFFERENT]
    found: list[Row] = []
    for size in sizes:
        found += _rows_of(size, _run(_measure, size))
    return [*found, _memory()]


def _run(measure: Callable[[Editor, Agent, Size], Any], size: Size) -> Any:
    async def run(editor: Editor, port: int, token: str) -> Any:
        agent = await Agent.connect(port, token)
        found = await measure(editor, agent, size)
        await agent.close()
        return found

    with Editor() as editor:
        lock = wait_for(editor.claude_lock)
        editor.client.call("nvim_ui_attach", *UI)
        token = json.loads(lock.read_text())["authToken"]
        return asyncio.run(run(editor, int(lock.stem), token))


def _files(editor: Editor, size: Size, run: int = 0) -> tuple[Path, Path, str]:
    """A file of its own for each run: an edit of one that was accepted before is asked about."""
    old_text, new_text = size.texts()
    old, new = editor.project / f"old{run}.txt", editor.project / "new.txt"
    old.write_text(old_text)
    new.write_text(new_text)
    return old, new, new_text


async def _measure(editor: Editor, agent: Agent, size: Size) -> Seen:
    """`:diffsplit` and openDiff in turns; every other proposal is edited before it is accepted."""
    seen = Seen()
    for run in range(size.runs):
        old, new, text = _files(editor, size, run)
        seen.bare.append(editor.lua(DIFFSPLIT, str(old), str(new)))
        seen.write.append(editor.lua(WRITE, str(new), str(editor.project / "written")))
        answer = await _open(editor, agent, old, text, seen)
        if run % 2 == 1:
            seen.edit.append(editor.lua(EDIT))
        review = _review(editor)  # not before Neovim has compared once more, as it does by itself
        begin = editor.lua(DECIDE, review, "accept")
        await answer
        times = seen.accept if run % 2 == 0 else seen.accept_edited
        times.append((agent.arrived_s - begin) * 1000)
        await agent.call("close_tab", tab_name="tab")
        old.write_text(text)
        await _until(lambda: editor.lua(GONE) and not _reviews(editor))
    return seen


async def _open(
    editor: Editor, agent: Agent, old: Path, text: str, seen: Seen
) -> asyncio.Future[Any]:
    """openDiff until it is visible; the longest stall until nothing is left to do for it."""
    editor.lua(STALL)
    editor.lua(WATCH)
    answer, message = agent.prepare("tools/call", _open_diff(old, text))
    begin = time.monotonic()
    await agent.send_text(message)
    # noted where it happens, by the same clock: a client that asks would hold the editor up
    visible = await _until(lambda: editor.lua("return _G.visible"), every_s=0.02)
    seen.shown.append((visible - begin) * 1000)
    await _until(lambda: any(review["state"] == "pending" for review in _reviews(editor)))
    seen.stall.append(editor.lua("return _G.longest") / 1e6)
    return answer


async def _until(look: Callable[[], Any], every_s: float = 0.001) -> Any:
    """Poll from a thread: a stall of the editor must not be one of the agent."""
    async with asyncio.timeout(60):
        while not (found := await asyncio.to_thread(look)):  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(every_s)
    return found


def _open_diff(path: Path, text: str) -> dict[str, object]:
    arguments = {
        "old_file_path": str(path),
        "new_file_path": str(path),
        "new_file_contents": text,
        "tab_name": "tab",
    }
    return {"name": "openDiff", "arguments": arguments}


def _reviews(editor: Editor) -> list[dict[str, Any]]:
    reviews: list[dict[str, Any]] = editor.lua("return require('agent_ide.status').get().reviews")
    return reviews


def _review(editor: Editor) -> int:
    return int(next(review["id"] for review in _reviews(editor) if review["state"] == "pending"))


def _rows_of(size: Size, seen: Seen) -> list[Row]:
    bare, shown, write = map(median, (seen.bare, seen.shown, seen.write))
    name = f"openDiff of {size.name}"
    told = f"{shown:.0f} / {bare:.0f} ms; the first {seen.shown[0]:.0f} / {seen.bare[0]:.0f} ms"
    return [
        Row(f"{name}: visible, against :diffsplit", shown / bare, "x", size.visible, told),
        Row(f"{name}: longest stall of the editor", max(seen.stall), "ms", size.stall_ms),
        Row(f"{name}: one edit of the proposal", median(seen.edit), "ms", 150.0),
        *(
            Row(
                f"{name}: accept{how}, against writing the buffer",
                median(times) / write,
                "x",
                most,
                f"{median(times):.0f} / {write:.0f} ms",
            )
            for how, times, most in (
                ("", seen.accept, ACCEPT),
                (" of an edited one", seen.accept_edited, ACCEPT_EDITED),
            )
        ),
    ]


def _memory() -> Row:
    """The most memory that each needs, each in a Neovim of its own."""
    size = SIZES[-1]

    async def bare(editor: Editor, agent: Agent, size: Size) -> float:
        old, new, _ = _files(editor, size)
        editor.lua(DIFFSPLIT, str(old), str(new))
        return editor.peak_mb()

    async def ours(editor: Editor, agent: Agent, size: Size) -> float:
        old, _, text = _files(editor, size)
        answer = await _open(editor, agent, old, text, Seen())
        peak = editor.peak_mb()
        editor.lua("require('agent_ide.diff').decide(...)", _review(editor), "reject")
        await answer
        return peak

    base, peak = _run(bare, size), _run(ours, size)
    name = f"openDiff of {size.name}: peak memory of Neovim, against :diffsplit"
    return Row(name, peak / base, "x", 1.3, f"{peak:.0f} / {base:.0f} MB")
