"""What a large Visual selection costs: the editor's time for one send, and bytes on the wire."""

from __future__ import annotations

import asyncio
import json
from statistics import median

from bench.editor import Agent, Editor, wait_for
from bench.table import Row

SAMPLES = 20
CAP_BYTES = 64 * 1024
LINE = "the quick brown fox jumps over the dog, {:05d}\n"
FILE_LINES = 60_000

SEND = """
local first, last, samples = ...
local api = vim.api
vim.cmd("normal! \\27" .. first .. "GV" .. last .. "G")
local times = {}
for number = 1, samples do
  -- after a rest the event itself sends; the throttle would put it off
  vim.wait(120)
  api.nvim_win_set_cursor(0, { last - number % 2, 0 })
  local begin = vim.uv.hrtime()
  api.nvim_exec_autocmds("CursorMoved", { buffer = 0 })
  times[number] = (vim.uv.hrtime() - begin) / 1e6
end
return times
"""


def rows(short: bool = False) -> list[Row]:
    with Editor("a.txt") as editor:
        text = "".join(LINE.format(number) for number in range(FILE_LINES))
        (editor.project / "a.txt").write_text(text)
        lock = wait_for(editor.claude_lock)
        editor.lua("vim.cmd.edit({ bang = true })")
        token = json.loads(lock.read_text())["authToken"]
        return asyncio.run(_measure(editor, int(lock.stem), token, 5 if short else SAMPLES))


async def _measure(editor: Editor, port: int, token: str, samples: int) -> list[Row]:
    agent = await Agent.connect(port, token)
    await asyncio.sleep(1.5)  # after it the agent counts as ready
    under_cap = CAP_BYTES // len(LINE.format(0)) - 2
    sizes = (("one line", 1), ("just under the cap", under_cap), ("50,000 lines", 50_000))
    rows = []
    for name, lines in sizes:
        agent.pushes.clear()
        times = await asyncio.to_thread(editor.lua, SEND, 1000, 999 + lines, samples)
        await asyncio.sleep(0.3)
        sent = len(json.dumps(agent.pushes[-1][1], ensure_ascii=False, separators=(",", ":")))
        detail = f"max {max(times):.2f} ms; {lines} lines, {samples} sends"
        rows += [
            Row(f"a Visual selection, {name}: editor's time", median(times), "ms", 1.5, detail),
            Row(
                f"a Visual selection, {name}: on the wire",
                sent / 1024,
                "KiB",
                1.1 * CAP_BYTES / 1024,
            ),
        ]
    await agent.close()
    return rows
