"""What the plugin adds to Neovim's start, and how soon an agent finds it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.editor import REPO, Editor, environment, wait_for
from bench.table import Row

RUNS = 20
STARTS = 5


def rows(short: bool = False) -> list[Row]:
    runs, starts = (5, 3) if short else (RUNS, STARTS)
    return [_startup(runs), *_served(starts)]


def _startup(runs: int) -> Row:
    """Time until Neovim says it has started, with and without the plugin, in turns."""
    with_plugin, without = [], []
    for _ in range(runs):
        without.append(_startuptime("set rtp+=."))
        with_plugin.append(_startuptime(f"set rtp^={REPO}"))
    added = median(with_plugin) - median(without)
    detail = f"{median(without):.1f} -> {median(with_plugin):.1f} ms, median of {runs}"
    return Row("Neovim's start: added by the plugin", added, "ms", 1.0, detail)


def _startuptime(setup: str) -> float:
    nvim = subprocess.run(
        [REPO / "scripts" / "find-nvim"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="aib") as folder:
        log = Path(folder) / "log"
        subprocess.run(
            [nvim, "--clean", "--headless", "--cmd", setup, "--startuptime", log, "+qa!"],
            env=environment(Path(folder)),
            capture_output=True,
            check=True,
        )
        started = [line for line in log.read_text().splitlines() if "NVIM STARTED" in line]
        return float(started[-1].split()[0])


def _served(starts: int) -> list[Row]:
    """From the process's start to each lock file, against Python importing asyncio."""
    claude, copilot, bare = [], [], []
    for _ in range(starts):
        begin = time.monotonic()
        subprocess.run([sys.executable, "-c", "import asyncio"], check=True)
        bare.append(time.monotonic() - begin)
        with Editor() as editor:
            wait_for(editor.claude_lock)
            claude.append(time.monotonic() - editor.started_s)
            wait_for(lambda: next((editor.home / ".copilot" / "ide").glob("*.lock"), None))
            copilot.append(time.monotonic() - editor.started_s)
    base = median(bare)
    return [
        Row(
            f"{name} finds its lock file: against `import asyncio`",
            median(times) / base,
            "x",
            budget,
            f"{median(times) * 1000:.0f} ms / {base * 1000:.0f} ms",
        )
        for name, times, budget in (("Claude", claude, 4.0), ("Copilot", copilot, 8.0))
    ]
