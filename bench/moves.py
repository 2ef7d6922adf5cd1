"""What a move of the cursor costs, and how old the newest state at a client gets while it moves."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence

from bench.editor import Agent, Editor, wait_for
from bench.pushes import CopilotListener, copilot_lock
from bench.table import Row, percentile

MOVES, CHUNKS = 10_000, 100

MOVE = """
local count = ...
local begin = vim.uv.hrtime()
for number = 1, count do
  vim.api.nvim_win_set_cursor(0, { number % 100 + 1, 0 })
  vim.api.nvim_exec_autocmds("CursorMoved", { buffer = 0 })
end
return (vim.uv.hrtime() - begin) / 1e3 / count
"""

AUTOCOMMANDS = """
return #vim.tbl_filter(function(autocommand)
  return (autocommand.group_name or ""):find("^agent_ide") ~= nil
end, vim.api.nvim_get_autocmds({ event = "CursorMoved" }))
"""

SECONDS = 5
EMPTY = """
vim.api.nvim_create_autocmd("CursorMoved", {
  group = vim.api.nvim_create_augroup("bench", {}),
  callback = function() end,
})
"""

RATES = ((20, "20 keys a second"), (200, "200 keys a second"))
OLDEST_MS = {"Claude": 60.0, "Copilot": 220.0}


def rows(short: bool = False) -> list[Row]:
    lines = [f"line {number}" for number in range(SECONDS * 220 + 200)]
    with Editor("a.txt") as editor, Editor("a.txt") as quiet:
        for each in (editor, quiet):
            (each.project / "a.txt").write_text("\n".join(lines) + "\n")
            wait_for(each.claude_lock)
            each.lua("vim.cmd.edit({ bang = true })")
            # it looks for a bracket at every move, which takes many times longer than our part
            each.lua("vim.cmd.NoMatchParen()")
        wait_for(lambda: copilot_lock(editor.home))
        return asyncio.run(_measure(editor, quiet, RATES[1:] if short else RATES))


async def _measure(editor: Editor, quiet: Editor, rates: Sequence[tuple[int, str]]) -> list[Row]:
    """`quiet` never has a client."""
    lock, copilot = editor.claude_lock(), copilot_lock(editor.home)
    assert lock is not None, "it was waited for"
    assert copilot is not None, "it was waited for"
    agent = await Agent.connect(int(lock.stem), json.loads(lock.read_text())["authToken"])
    async with CopilotListener(copilot) as listener:
        await asyncio.sleep(1.5)  # after it the agent counts as ready
        rows = _cost(editor, quiet)
        for rate, name in rates:
            rows += await _moving(editor, agent, listener, rate, name)
    await agent.close()
    return rows


def _cost(editor: Editor, quiet: Editor) -> list[Row]:
    """In turns, and the best of each: what disturbs on a loaded machine only adds."""
    watched = quiet.lua(AUTOCOMMANDS)
    ours, bare = [], []
    for _ in range(CHUNKS):
        ours.append(float(editor.lua(MOVE, MOVES // CHUNKS)))
        bare.append(float(quiet.lua(MOVE, MOVES // CHUNKS)))
    quiet.lua(EMPTY)
    empty = [float(quiet.lua(MOVE, MOVES // CHUNKS)) for _ in range(CHUNKS)]
    added = min(ours) - min(bare)
    detail = (
        f"{min(bare):.1f} -> {min(ours):.1f} us, "
        f"a callback that does nothing {min(empty) - min(bare):.1f}"
    )
    return [
        Row("CursorMoved without a client: our autocommands", watched, "", 0.0),
        Row("CursorMoved with a client: added to a move", added, "us", 3.0, detail),
    ]


async def _moving(
    editor: Editor, agent: Agent, listener: CopilotListener, rate: int, name: str
) -> list[Row]:
    """Press `j` at this rate; each key makes one line more the current one."""
    editor.press("gg")
    await asyncio.sleep(0.5)
    agent.pushes.clear()
    listener.pushes.clear()
    begin = time.monotonic()
    pressed = [begin]
    for number in range(1, rate * SECONDS + 1):
        await asyncio.sleep(max(0.0, begin + number / rate - time.monotonic()))
        pressed.append(time.monotonic())
        editor.press("j")
    await asyncio.sleep(0.5)
    seen = {
        "Claude": [(at, params["selection"]["start"]["line"]) for at, params in agent.pushes],
        "Copilot": [
            (at, message["params"]["selection"]["start"]["line"])
            for at, _, message in listener.named("selection_changed")
        ],
    }
    rows = []
    for who, arrivals in seen.items():
        ages = [age * 1000 for age in ages_s(pressed, arrivals)]
        detail = f"p50 {percentile(ages, 0.5):.0f} ms, {len(arrivals)} pushes"
        rows.append(Row(f"{who}'s newest state at {name}", max(ages), "ms", OLDEST_MS[who], detail))
        missed = len(pressed) - 1 - arrivals[-1][1]
        rows.append(Row(f"{who}'s last state at {name}: moves missed", missed, "", 0.0))
    return rows


def ages_s(pressed: Sequence[float], arrivals: Sequence[tuple[float, int]]) -> list[float]:
    """How old the newest state at a client had become when each next one came.

    Args:
        pressed: when each state began, by number; the client has state 0 at the start.
        arrivals: when each push came, and the number of its state.
    """
    ages, known = [], 0
    for arrival, state in arrivals:
        if state > known:
            # it was out of date since the state behind it began
            ages.append(arrival - pressed[known + 1])
            known = state
    return ages
