"""Neovim ends, one way or another: what the user has agreed to reaches the agent, nothing stays.

Owns:     the ends of Neovim during a review, and how long `:qa!` takes.
Not here: the host's faults (test_faults_host.py).
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.e2e.process import running
from tests.servers.claude import Client
from tests.support.figures import Figure, Scale
from tests.support.neovim import wait_until
from tests.torture.faults import Scene, folders, scene

ENDS = {
    ":qa!": "vim.cmd('qa!')",
    ":cq": "vim.cmd('cq')",
    "SIGTERM": "vim.uv.kill(vim.fn.getpid(), 'sigterm')",
    "SIGHUP": "vim.uv.kill(vim.fn.getpid(), 'sighup')",
    "SIGKILL": "vim.uv.kill(vim.fn.getpid(), 'sigkill')",
}

SIZES = {"small": 100, "larger than a pipe": 200_000, "in a file": 1_000_000}

SLACK_MS = 250.0
"""Beside the 20 ms of an idle machine; other helpers of the suite run at the same time."""


async def last_words(client: Client, request: int) -> Any:
    """What the agent has heard of its request once Neovim has gone."""
    with suppress(ConnectionClosed):
        await asyncio.wait_for(client._listening, 20)
    return [item["result"]["content"] for item in client.heard if item.get("id") == request]


async def review(it: Scene, text: str) -> tuple[Client, int]:
    client = await it.agent()
    request = await client.open_diff(it.project / "a.txt", text)
    it.editor.wait_review(it.project / "a.txt")
    return client, request


@pytest.mark.parametrize("end", ENDS)
async def test_what_was_accepted_reaches_the_agent(end: str, scale: Scale, figure: Figure) -> None:
    """In the same moment: the agent must not take the user's yes for a lost connection."""
    sizes = list(SIZES)[: scale(short=2 if end == ":qa!" else 1, long=3)]
    # what Neovim has not written to the pipe dies with it; a signal removes its files first of all
    sizes = {"SIGKILL": sizes[:1], "SIGTERM": sizes[:2], "SIGHUP": sizes[:2]}.get(end, sizes)
    count = 0
    for size in sizes:
        for folder in folders(scale(short=1, long=3)):
            text = "one\n2\n" + "x" * SIZES[size] + "\n"
            with scene(folder) as it:
                client, request = await review(it, text)
                it.editor.nvim.send("nvim_exec_lua", f"vim.cmd('AgentIde accept') {ENDS[end]}", [])
                (content,) = await last_words(client, request)
                assert [block["text"] for block in content] == ["FILE_SAVED", text]
                it.expect_nothing()
                assert (it.project / "a.txt").read_text() == "one\ntwo\n", "the agent writes it"
                count += 1
    figure(f"yes, then {end} at once: answers that arrived", count, "", "all")


@pytest.mark.parametrize("end", ENDS)
async def test_an_end_with_an_open_review_leaves_nothing(end: str) -> None:
    """The file stays as it was, and the agent hears at once that nobody will answer."""
    for folder in folders(1):
        with scene(folder) as it:
            client, request = await review(it, "one\n2\n")
            it.editor.nvim.send("nvim_exec_lua", ENDS[end], [])
            answers = await last_words(client, request)
            assert not any(block["text"] == "FILE_SAVED" for one in answers for block in one)
            it.expect_nothing()
            assert (it.project / "a.txt").read_text() == "one\ntwo\n"


async def test_what_was_typed_into_a_proposal_outlives_neovim(short_folder: Path) -> None:
    with scene(short_folder) as it:
        await review(it, "one\n2\n")
        it.editor.to_proposal()
        it.editor.feed("ggOtyped<Esc>")
        await it.finish(lambda: it.editor.nvim.send("nvim_command", "qa!"))
        (kept,) = (short_folder / "state/nvim/agent_ide/kept").iterdir()
        assert "typed\none\n2\n" in kept.read_text()


def quit_ms(folder: Path, options: str) -> float:
    with scene(folder, options=options) as it:
        if "auto_start" not in options:
            it.editor.wait_host()
            wait_until(it.editor.copilot_lock, "the second server")
            wait_until(lambda: it.editor.companion_files("qwen"), "the third server")
        begin = time.monotonic()
        it.editor.nvim.send("nvim_command", "qa!")
        wait_until(lambda: not running(it.editor.pid), "Neovim's end")
        took = time.monotonic() - begin
        it.expect_nothing()
    return took * 1000


def test_the_host_costs_no_time_when_quitting(scale: Scale, figure: Figure) -> None:
    with_host, without = [], []
    for folder in folders(scale(short=3, long=20)):
        without.append(quit_ms(_below(folder, "0"), "auto_start = false"))
        with_host.append(quit_ms(_below(folder, "1"), ""))
    added = median(with_host) - median(without)
    detail = f"{median(without):.0f} -> {median(with_host):.0f} ms, median of {len(without)}"
    figure(":qa! with the host against without", added, "ms", detail)
    assert added < 20 + SLACK_MS


def _below(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir()
    return path
