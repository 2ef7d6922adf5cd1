"""Many attempts without a token at once: the user notices nothing, agents get in, nothing grows.

On a real Neovim with its host; the attempts come from another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from tests.e2e.editor import Editor
from tests.support.eventually import eventually
from tests.support.figures import Figure, Scale
from tests.torture.attempts import GIVE_UP_S
from tests.torture.doors import Door, doors
from tests.torture.flood import Flood
from tests.torture.visits import visit

MOST_GROWTH_MB = 8

CROWD = 500

LOADED_S = 3.0
"""More than is promised, for a machine that is busy with other tests."""

# Gaps between scheduled callbacks, less what the timer waits by itself: a key would wait that long.
METER = """
  local period_ms = 2
  local last
  _G.gaps = {}
  _G.meter = vim.uv.new_timer()
  _G.meter:start(0, period_ms, vim.schedule_wrap(function()
    local now = vim.uv.hrtime()
    if last then
      table.insert(_G.gaps, (now - last) / 1e6 - period_ms)
    end
    last = now
  end))
"""
READ_METER = "local gaps = _G.gaps; _G.gaps = {}; table.sort(gaps); return gaps"


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="nf-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        # the log as users have it
        with Editor(folder, project, options="log_level = 'info'") as it:
            it.wait_host()
            yield it


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def sockets_of(pid: int) -> int:
    count = 0
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(entry.path).startswith("socket:")
    return count


def quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@dataclass(frozen=True, slots=True)
class Passed:
    """What a round of attempts was like, and the quiet before it: stalls, in order."""

    idle_ms: list[float]
    busy_ms: list[float]
    ways_in_s: list[float]
    seconds: float


async def flooded(editor: Editor, found: list[Door], count: int) -> Passed:
    """Quiet, then attempts without a token while agents come and go."""
    editor.lua(READ_METER)
    # a measurement, not a wait for something
    await asyncio.sleep(2)
    idle = sorted(editor.lua(READ_METER))
    flood = Flood(found, count)
    ways_in_s = []
    while not flood.over:
        asked_s = time.monotonic()
        async with visit(found[0], editor):
            ways_in_s.append(time.monotonic() - asked_s)
        await asyncio.sleep(0.2)
    busy = sorted(editor.lua(READ_METER))
    summary = flood.summary(60)
    assert summary["faults"] == []
    assert summary["attempts"] == count
    # by themselves; how soon is judged where nothing else runs (test_nobody_in.py)
    assert summary["after_first_s"] < GIVE_UP_S / 2
    return Passed(idle, busy, ways_in_s, summary["seconds"])


async def crowded(door: Door, editor: Editor, figure: Figure) -> None:
    """Agents come while so many sockets hang there and say nothing."""
    ways_in_s = []
    async with visit(door, editor) as visitor:
        crowd = Flood([door], CROWD, "crowd")
        while not crowd.over:
            asked_s = time.monotonic()
            async with visit(door, editor) as newcomer:
                assert await newcomer.ask()
                ways_in_s.append(time.monotonic() - asked_s)
            assert await visitor.ask()
            await asyncio.sleep(0.05)
        summary = crowd.summary(30)
    tells = f"worst of {len(ways_in_s)}"
    figure(f"{door.name}: an agent's way in beside a crowd", max(ways_in_s) * 1000, "ms", tells)
    figure(f"{door.name}: one of a crowd stays", summary["longest_s"], "s", f"of {CROWD}")
    assert not summary["answered"]
    assert max(ways_in_s) < 5
    assert summary["longest_s"] < 5 + LOADED_S


async def test_crowd(editor: Editor, figure: Figure) -> None:
    """500 silent sockets on each server: agents get in beside them, and all are closed in time."""
    found = [door for door in doors(editor) if door.name != "qwen"]
    host = editor.wait_host()
    before, most = sockets_of(host), 0
    crowds = asyncio.gather(*(crowded(door, editor, figure) for door in found))
    while not crowds.done():
        most = max(most, sockets_of(host) - before)
        await asyncio.sleep(0.02)
    await crowds
    await eventually(lambda: sockets_of(host) <= before, 10)
    figure("sockets of the host beside three crowds", most, "", f"{3 * CROWD} knock")
    assert CROWD / 5 < most < CROWD * 2, "the crowds were there, and were cut"


async def test_flood(
    editor: Editor, scale: Scale, figure: Figure, request: pytest.FixtureRequest
) -> None:
    rounds, each = scale(short=1, long=5), scale(short=500, long=2000)
    found, host = doors(editor), editor.wait_host()
    log = editor.folder / "state/nvim/agent_ide.log"
    async with contextlib.AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(visit(door, editor)) for door in found]
        # caches and pools fill once
        await asyncio.to_thread(Flood(found, scale(short=250, long=500)).summary, 120)
        screen, servers = editor.terminal.text(), editor.status()["servers"]
        memory = {"host": memory_mb(host), "Neovim": memory_mb(editor.pid)}
        logged = log.stat().st_size
        editor.lua(METER)
        passed = [await flooded(editor, found, each) for _ in range(rounds)]
        editor.lua("_G.meter:stop()")
        growth = {
            "host": memory_mb(host) - memory["host"],
            "Neovim": memory_mb(editor.pid) - memory["Neovim"],
        }
        for peer in peers:
            assert await peer.ask()

    tells = f"{rounds * each} attempts in {sum(item.seconds for item in passed):.1f} s"
    for name, megabytes in growth.items():
        figure(f"growth of {name}", megabytes, "MB", f"{tells}, at most {MOST_GROWTH_MB}")
    # of the few that a short form has, p999 is a single one, which is the machine's
    is_long = bool(request.config.getoption("--long"))
    share, limit_ms = (0.999, 2.0) if is_long else (0.99, 20.0)
    idle_ms = median(quantile(item.idle_ms, share) for item in passed)
    more_ms = median(
        quantile(item.busy_ms, share) - quantile(item.idle_ms, share) for item in passed
    )
    name = f"p{share * 1000:.0f} of the editor's stall"
    figure(f"{name}, idle", idle_ms, "ms", f"median of {rounds} rounds")
    figure(f"{name}, more in a flood", more_ms, "ms", f"{tells}, at most {limit_ms}")
    ways_in_s = [seconds for item in passed for seconds in item.ways_in_s]
    figure("an agent's way in during a flood", max(ways_in_s) * 1000, "ms", "the worst")
    grown = log.stat().st_size - logged
    figure("growth of the log", grown, "B", f"{tells}, {len(ways_in_s)} got in")
    assert max(growth.values()) <= MOST_GROWTH_MB
    assert more_ms <= limit_ms
    # nothing told, nothing asked, nothing moved
    assert editor.terminal.text() == screen
    assert editor.messages().strip() == ""
    assert editor.mode() == "n"
    assert editor.status()["servers"] == servers
    # what is logged is who got in
    assert grown < 400 * (len(ways_in_s) + len(peers) + 1)
