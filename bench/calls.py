"""Tool calls against a bare echo of the same sizes, and the way of a key press to the agent."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.editor import REPO, Agent, Editor, wait_for
from bench.table import Row, percentile

CALLS = 2000
FROM_STATE = ("getCurrentSelection", "getOpenEditors", "getWorkspaceFolders", "getDiagnostics")


def rows() -> list[Row]:
    with Editor("a.py") as editor:
        (editor.project / "a.py").write_text("x = 1\n" * 1000)
        lock = wait_for(editor.claude_lock)
        editor.lua("vim.cmd.edit({ bang = true })")
        token = json.loads(lock.read_text())["authToken"]
        measured = asyncio.run(_measure(editor, int(lock.stem), token))
        return [*measured, *_memory(editor)]


async def _measure(editor: Editor, port: int, token: str) -> list[Row]:
    agent = await Agent.connect(port, token)
    rows = []
    for tool in FROM_STATE:
        answer = json.dumps({**await agent.call(tool), "id": 0})
        ours = await _time_calls(agent, tool)
        bare = await _time_echo(answer, editor.home)
        for share, budget in ((0.5, 1.35), (0.99, 2.0)):
            us, base = percentile(ours, share) * 1e6, percentile(bare, share) * 1e6
            name = f"{tool}: p{share * 100:.0f} against a bare echo"
            rows.append(Row(name, us / base, "x", budget, f"{us:.0f} / {base:.0f} us"))
    rows.append(await _key_to_push(editor, agent))
    await agent.close()
    return rows


async def _time_calls(agent: Agent, tool: str) -> list[float]:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        await agent.call(tool)
        times.append(time.perf_counter() - begin)
    return times


async def _time_echo(answer: str, folder: Path) -> list[float]:
    """The same calls to a bare server in a process of its own."""
    path = folder / "answer.json"
    path.write_text(answer)
    echo = subprocess.Popen(  # noqa: ASYNC220 - the loop has nothing else to do
        [sys.executable, "-m", "bench.echo", str(path)],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with echo:
        assert echo.stdout is not None
        agent = await Agent.connect(int(echo.stdout.readline()), "")
        times = await _time_calls(agent, "echo")
        await agent.close()
        echo.communicate()
    return times


async def _key_to_push(editor: Editor, agent: Agent) -> Row:
    """A key after rest until the agent has the new cursor."""
    await asyncio.sleep(1.5)
    times = []
    for number in range(100):
        seen = len(agent.pushes)
        begin = time.monotonic()
        editor.press("j" if number % 2 == 0 else "k")
        while len(agent.pushes) == seen:  # noqa: ASYNC110 - the list is what is measured
            await asyncio.sleep(0.0005)
        times.append((agent.pushes[seen][0] - begin) * 1000)
        await asyncio.sleep(0.08)  # rest: the next one is a leading edge again
    detail = f"p99 {percentile(times, 0.99):.1f} ms (budget 40)"
    return Row("key press to selection_changed: p50", median(times), "ms", 15.0, detail)


def _memory(editor: Editor) -> list[Row]:
    def rss_mb(pid: int) -> float:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    return [
        Row("memory of the host after the calls", rss_mb(editor.host_pid()), "MB", 60.0),
        Row("memory of Neovim", rss_mb(editor.lua("return vim.fn.getpid()")), "MB", None),
    ]
