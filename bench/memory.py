"""What the host and Neovim weigh at rest, and after all that an agent may ask of them.

Owns:     the run in between: calls, large selections, 100,000 diagnostics, a diff of 10 MB.
Not here: how long any of it takes, and what a diff needs while it is open (the other parts).
"""

from __future__ import annotations

import asyncio
import json

from bench.desk import Desk
from bench.diagnostics import EACH, FILES, SET
from bench.editor import Agent, wait_for
from bench.pushes import CopilotListener, copilot_lock
from bench.table import Row

CALLS, DIFF_BYTES, SELECTIONS = 2000, 10_000_000, 30

AFTER_START_MB, AFTER_ALL_MB = 45.0, 60.0

SELECT = """
vim.cmd("normal! \\27ggVG")
for number = 1, ... do
  vim.wait(60)
  vim.api.nvim_win_set_cursor(0, { vim.fn.line("$") - number % 2, 0 })
  vim.api.nvim_exec_autocmds("CursorMoved", { buffer = 0 })
end
vim.cmd("normal! \\27")
"""

FORGET = """
vim.diagnostic.reset(vim.api.nvim_create_namespace("bench"))
"""


def rows(short: bool = False) -> list[Row]:
    with Desk() as desk:
        # the last server writes its files a moment after the one that was waited for
        wait_for(
            lambda: len(desk.editor.lua("return require('agent_ide.status').get().servers")) > 3
        )
        start = desk.host_rss_mb(), desk.neovim_rss_mb()
        with_all = asyncio.run(_run(desk, FILES // 10 if short else FILES))
        after = desk.host_rss_mb(), desk.neovim_rss_mb()
    return [
        Row("memory of the host, all servers up", start[0], "MB", AFTER_START_MB),
        Row("memory of the host with the diagnostics", with_all[0], "MB", None),
        Row("memory of the host after all", after[0], "MB", AFTER_ALL_MB),
        Row("memory of Neovim, an agent can come", start[1], "MB", None),
        Row("memory of Neovim with the diagnostics", with_all[1], "MB", None),
        Row("memory of Neovim after all", after[1], "MB", None),
    ]


async def _run(desk: Desk, files: int) -> tuple[float, float]:
    """What host and Neovim weigh while there are diagnostics."""
    lock = copilot_lock(desk.editor.home)
    assert lock is not None, "the desk has waited for it"
    agent = await Agent.connect(desk.claude_port, desk.claude_token)
    async with CopilotListener(lock) as copilot:
        for _ in range(CALLS):
            await agent.call("getCurrentSelection")
        await asyncio.to_thread(desk.editor.lua, SELECT, SELECTIONS)
        await _diff(desk, agent)
        await asyncio.to_thread(desk.editor.lua, SET, 1, files, EACH, "word")
        await _until(desk, agent, files, clean=False)
        await agent.call("getDiagnostics")
        await copilot.call("get_diagnostics")
        with_all = desk.host_rss_mb(), desk.neovim_rss_mb()
        await asyncio.to_thread(desk.editor.lua, FORGET)
        await _until(desk, agent, files, clean=True)
        # the host watches the file of a diff that is over for 10 s
        await asyncio.sleep(11)
    await agent.close()
    return with_all


async def _diff(desk: Desk, agent: Agent) -> None:
    path = desk.project / "large.txt"
    text = "the quick brown fox jumps over the lazy dog\n" * (DIFF_BYTES // 44)
    path.write_text(text)
    answer = await agent.begin(
        "tools/call",
        {
            "name": "openDiff",
            "arguments": {
                "old_file_path": str(path),
                "new_file_path": str(path),
                "new_file_contents": text.replace("fox", "cat", 1000),
                "tab_name": "large",
            },
        },
    )
    await asyncio.sleep(3)
    await agent.call("close_tab", tab_name="large")
    await answer


async def _until(desk: Desk, agent: Agent, files: int, *, clean: bool) -> None:
    """The host knows of the last file that it has diagnostics, or has none any more."""
    uri = f"file://{desk.project}/dir/file{files:04}.lua"
    async with asyncio.timeout(60):
        while True:
            answer = await agent.call("getDiagnostics", uri=uri)
            (entry,) = json.loads(answer["result"]["content"][0]["text"])
            if clean is (entry["diagnostics"] == []):
                return
            await asyncio.sleep(0.1)
