"""Neovim's own ways to go on: `:restart` and `:detach`, which 0.12 brought.

Skipped on older ones; the matrix of versions runs it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.figures import Figure, Scale
from tests.support.neovim import find_nvim, wait_until
from tests.torture.faults import folders, scene, tell

pytestmark = pytest.mark.skipif(
    "exists=2"
    not in subprocess.run(
        [
            find_nvim(),
            "--clean",
            "--headless",
            "-c",
            "echo 'exists='.exists(':restart')",
            "-c",
            "q",
        ],
        capture_output=True,
        text=True,
    ).stderr,
    reason="this Neovim has neither :restart nor :detach (0.12 has)",
)


async def test_restart(scale: Scale, figure: Figure) -> None:
    """Another process serves under another lock; of the one before nothing is left."""
    away = []
    for folder in folders(scale(short=1, long=50)):
        with scene(folder) as it:
            it.host()
            before = it.editor.lock()

            def restart() -> None:
                it.editor.nvim.send("nvim_command", "restart")
                wait_until(lambda: it.editor.lock() != before, "the end of the old one")  # noqa: B023

            away.append(await it.away(restart))
            after = it.editor.lock()
            assert before
            assert after
            assert after.pid != before.pid
            it.editor.reconnect()
            assert it.editor.pid == after.pid
            assert it.told() == ""
            it.host()
            await it.finish()
    tell(figure, ":restart", away)


async def test_detach(short_folder: Path) -> None:
    """The screen goes, Neovim stays: the agent notices nothing."""
    with scene(short_folder) as it:
        pid = it.host()
        agent = await it.agent()
        before = it.editor.lock()
        it.editor.nvim.send("nvim_command", "detach")
        it.editor.terminal.wait_ended(20)
        assert await agent.json("getWorkspaceFolders")
        assert it.editor.lock() == before
        assert it.editor.host_pid() == pid
        await it.served()
        await it.finish()
