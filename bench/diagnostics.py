"""100,000 diagnostics in 1,000 files: what the editor feels of them, what goes over the wire."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.editor import Agent, Editor, wait_for
from bench.pushes import CopilotListener, copilot_lock
from bench.table import Row, percentile

FILES, EACH, SHORT_FILES = 1000, 100, 100

MIB = 1024 * 1024

SET = """
local first, last, each, word = ...
local namespace = vim.api.nvim_create_namespace("bench")
local function items()
  local out = {}
  for number = 1, each do
    out[number] = {
      lnum = number,
      col = 4,
      end_lnum = number,
      end_col = 9,
      severity = number % 4 + 1,
      source = "bench",
      code = "E" .. number,
      message = ("`%s` is not what this function wants as argument number %d"):format(word, number),
    }
  end
  return out
end
-- one file after the other, each in a turn of its own, as a language server's messages come
Remaining = last - first + 1
local function set(file)
  vim.diagnostic.set(namespace, vim.fn.bufadd(("dir/file%04d.lua"):format(file)), items())
  Remaining = Remaining - 1
  if file < last then
    vim.defer_fn(function()
      set(file + 1)
    end, 0)
  end
end
set(first)
"""

# The processor's time between two turns of the main loop: what a user feels of it, without what
# other programs take on a machine that is busy.
WATCH = """
Longest, LongestWall = 0, 0
local cpu, wall = os.clock(), vim.uv.hrtime()
if Watch then
  Watch:close()
end
Watch = vim.uv.new_timer()
Watch:start(0, 1, vim.schedule_wrap(function()
  Longest = math.max(Longest, (os.clock() - cpu) * 1e3)
  LongestWall = math.max(LongestWall, (vim.uv.hrtime() - wall) / 1e6)
  cpu, wall = os.clock(), vim.uv.hrtime()
end))
"""


def rows(short: bool = False) -> list[Row]:
    with Editor("a.txt") as editor:
        lock = wait_for(editor.claude_lock)
        copilot = wait_for(lambda: copilot_lock(editor.home))
        token = json.loads(lock.read_text())["authToken"]
        return asyncio.run(
            _measure(editor, int(lock.stem), token, copilot, SHORT_FILES if short else FILES)
        )


async def _measure(editor: Editor, port: int, token: str, copilot: Path, files: int) -> list[Row]:
    what = f"{files * EACH:,} diagnostics in {files:,} files"
    bare = await _stall(editor, lambda: _set(editor, 1, files, "first"), lambda: _all_set(editor))
    agent = await Agent.connect(port, token)
    async with CopilotListener(copilot) as listener:
        bench = _Bench(editor, agent, listener, files)
        rows = [
            Row(f"{what}: vim.diagnostic.set alone stalls", bare.cpu_ms, "ms", None, bare.words),
            await bench.told_first(),
            *await bench.answered(),
            await bench.answered_for_clean(),
            await bench.unchanged(),
            *await bench.one_changes(),
            *await bench.all_change(bare.cpu_ms),
        ]
    await agent.close()
    return rows


@dataclass(frozen=True, slots=True)
class Stall:
    """The longest one while something was done, and how long that took."""

    cpu_ms: float
    wall_ms: float
    took_ms: float

    @property
    def words(self) -> str:
        return f"{self.wall_ms:.1f} ms by the clock; all done in {self.took_ms:.0f} ms"


async def _stall(
    editor: Editor, begin: Callable[[], None], done: Callable[[], Awaitable[bool]]
) -> Stall:
    await asyncio.to_thread(editor.lua, WATCH)
    start = time.monotonic()
    await asyncio.to_thread(begin)
    async with asyncio.timeout(60):
        while not await done():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.02)
    took_ms = (time.monotonic() - start) * 1000
    cpu_ms, wall_ms = await asyncio.to_thread(editor.lua, "return { Longest, LongestWall }")
    return Stall(cpu_ms, wall_ms, took_ms)


def _set(editor: Editor, first: int, last: int, word: str) -> None:
    editor.lua(SET, first, last, EACH, word)


async def _all_set(editor: Editor) -> bool:
    return bool(await asyncio.to_thread(editor.lua, "return Remaining == 0"))


class _Bench:
    def __init__(self, editor: Editor, agent: Agent, listener: CopilotListener, files: int) -> None:
        self._editor, self._agent, self._listener, self._files = editor, agent, listener, files

    def _uri(self, name: str) -> str:
        return f"file://{self._editor.project}/dir/{name}.lua"

    async def _knows(self, file: int, word: str) -> bool:
        """The host has this file's diagnostics of this round."""
        answer = await self._agent.call("getDiagnostics", uri=self._uri(f"file{file:04}"))
        return f"`{word}`" in answer["result"]["content"][0]["text"]

    async def told_first(self) -> Row:
        """An agent comes when all of them are there."""
        stall = await _stall(self._editor, lambda: None, lambda: self._knows(self._files, "first"))
        return Row(
            "an agent connects: the editor's longest stall", stall.cpu_ms, "ms", 10.0, stall.words
        )

    async def answered(self) -> list[Row]:
        rows = []
        for name, ask in (
            ("getDiagnostics", lambda: self._agent.call("getDiagnostics")),
            ("get_diagnostics", lambda: self._listener.call("get_diagnostics")),
        ):
            times = []
            for _ in range(10):
                begin = time.monotonic()
                answer = await ask()
                times.append((time.monotonic() - begin) * 1000)
            size = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) / MIB
            text = answer["result"]["content"][0]["text"]
            detail = (
                f"{len(json.loads(text))} files; {answer['result']['content'][-1]['text'][:60]}"
            )
            rows += [
                Row(f"{name} of all: the text", len(text) / MIB, "MiB", 1.0, detail),
                Row(f"{name} of all: bytes on the wire", size, "MiB", None),
                Row(f"{name} of all: time", median(times), "ms", None, f"max {max(times):.0f} ms"),
            ]
        return rows

    async def answered_for_clean(self) -> Row:
        times = []
        for _ in range(50):
            begin = time.monotonic()
            await self._agent.call("getDiagnostics", uri=self._uri("clean"))
            times.append((time.monotonic() - begin) * 1000)
        return Row("getDiagnostics of a clean file beside them: time", median(times), "ms", None)

    async def _pushed(
        self, begin: Callable[[], None], done: Callable[[], Awaitable[bool]]
    ) -> tuple[Stall, int, int, int]:
        """What a change leads to: a stall, pushes, files in them, bytes of them."""
        await self._quiet()
        self._listener.pushes.clear()
        stall = await _stall(self._editor, begin, done)
        await self._quiet()
        pushes = self._listener.named("diagnostics_changed")
        files = sum(len(message["params"]["uris"]) for _, _, message in pushes)
        return stall, len(pushes), files, sum(size for _, size, _ in pushes)

    async def _quiet(self) -> None:
        """No push for a while: there are some every 150 ms as long as there are any."""
        seen = -1
        while seen != len(self._listener.pushes):
            seen = len(self._listener.pushes)
            await asyncio.sleep(0.6)

    async def unchanged(self) -> Row:
        """A server says again what it has said."""
        _, _, files, size = await self._pushed(
            lambda: _set(self._editor, 1, 10, "first"), lambda: _all_set(self._editor)
        )
        return Row("10 files told anew, unchanged: files pushed", files, "", 0.0, f"{size} bytes")

    async def one_changes(self) -> list[Row]:
        stall, _, files, size = await self._pushed(
            lambda: _set(self._editor, 7, 7, "second"), lambda: self._knows(7, "second")
        )
        return [
            Row("one file changes: files pushed", files, "", 1.0, f"{size / 1024:.0f} KiB"),
            Row(
                "one file changes: the editor's longest stall",
                stall.cpu_ms,
                "ms",
                10.0,
                stall.words,
            ),
        ]

    async def all_change(self, bare_ms: float) -> list[Row]:
        """`vim.diagnostic.set` stalls by itself, and here it is in what is measured."""

        async def done() -> bool:
            return await self._knows(self._files, "third")

        over = asyncio.Event()
        asking = asyncio.ensure_future(self._ask_until(over))
        await asyncio.sleep(2)
        over.set()
        rest = await asking
        over.clear()
        asking = asyncio.ensure_future(self._ask_until(over))
        stall, pushes, files, size = await self._pushed(
            lambda: _set(self._editor, 1, self._files, "third"), done
        )
        over.set()
        waits = await asking
        detail = f"{pushes} pushes, {size / MIB:.1f} MiB"
        p99, p99_at_rest = percentile(waits, 0.99), percentile(rest, 0.99)
        told = f"at rest {p99_at_rest:.1f} ms; max {max(waits):.0f} ms"
        return [
            Row(
                "all change: the editor's longest stall, beyond vim.diagnostic.set's own",
                max(0.0, stall.cpu_ms - bare_ms),
                "ms",
                10.0,
                f"{stall.cpu_ms:.1f} ms in all, {stall.words}",
            ),
            Row("all change: files pushed", files, "", float(self._files), detail),
            Row("all change: another call meanwhile, p99", p99, "ms", None, told),
        ]

    async def _ask_until(self, over: asyncio.Event) -> list[float]:
        """How long each call took, one every 10 ms."""
        waits: list[float] = []
        while not over.is_set():
            begin = time.monotonic()
            await self._agent.call("getWorkspaceFolders")
            waits.append((time.monotonic() - begin) * 1000)
            await asyncio.sleep(0.01)
        return waits
