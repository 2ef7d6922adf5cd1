"""Faults of the host's process: killed, ended, standing still, asleep with its Neovim, left alone.

Not here: places on disk and ports (test_faults_places.py), Neovim's own end (test_faults_end.py).
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.e2e.process import running
from tests.support.figures import Figure, Scale
from tests.support.neovim import LIMIT_S, wait_until
from tests.torture.faults import folders, host_of, plugin_copy, scene, stopped, tell

QUICK_S = 1.0
"""For a command that needs no host, on a machine whose processors others use as well."""

RELOAD = """
  for name in pairs(package.loaded) do
    if vim.startswith(name, "agent_ide") then package.loaded[name] = nil end
  end
  vim.g.loaded_agent_ide = nil
  vim.cmd.source(... .. "/plugin/agent_ide.lua")
"""
"""As a plugin manager loads a plugin anew."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_host_that_ends_comes_back(
    number: signal.Signals, scale: Scale, figure: Figure
) -> None:
    away = []
    for folder in folders(scale(short=2 if number == signal.SIGKILL else 1, long=50)):
        with scene(folder) as it:
            pid = it.host()
            before = it.editor.lock()
            away.append(await it.away(end, pid, number))
            after = it.editor.lock()
            assert before
            assert after
            if number == signal.SIGKILL:
                assert (after.port, after.token) == (before.port, before.token)
            assert it.told() == ""
            it.host()
            await it.finish()
    tell(figure, f"the host gets {number.name}", away)


async def test_a_host_that_stands_still_holds_nobody_up(
    short_folder: Path, scale: Scale, figure: Figure
) -> None:
    with scene(short_folder) as it:
        pid = it.host()
        agent = await it.agent()
        it.editor.wait_clients(1)
        it.editor.command("edit a.txt")
        worst = 0.0
        with stopped(pid):
            for _ in range(scale(short=100, long=5000)):
                # the selection is pushed to a host that does not read
                for command in ("normal! ggVG", "AgentIde status", "ClaudeCodeSend"):
                    begin = time.monotonic()
                    it.editor.command(command)
                    worst = max(worst, time.monotonic() - begin)
        begin = time.monotonic()
        await agent.json("getWorkspaceFolders")
        tell(figure, "the host stood still (after it goes on)", [time.monotonic() - begin])
        figure("the longest command meanwhile", worst * 1000, "ms", "status, send, a selection")
        assert worst < QUICK_S
        assert it.editor.host_pid() == pid
        assert len(it.editor.clients()) == 1, "the connection was kept"
        it.editor.feed("<Esc>")
        await it.finish()


@pytest.mark.parametrize("command", ["qa", "AgentIde restart"])
async def test_a_host_that_stands_still_does_not_delay(
    command: str, short_folder: Path, figure: Figure
) -> None:
    with scene(short_folder) as it:
        pid = it.host()
        with stopped(pid):
            begin = time.monotonic()
            it.editor.nvim.send("nvim_command", command)
            wait_until(lambda: not running(pid), "the host's end", 2 * LIMIT_S)
            took = time.monotonic() - begin
        figure(f":{command} while the host stands still", took * 1000, "ms")
        # Neovim gives a job two seconds before it kills it
        assert took < 2
        if command == "qa":
            it.expect_nothing()
        else:
            await it.served()
            it.host()
            await it.finish()


async def test_a_laptop_sleeps(short_folder: Path, scale: Scale, figure: Figure) -> None:
    """Neovim, its screen and the host stand still together, the agent does not."""
    with scene(short_folder) as it:
        pid = it.host()
        agent = await it.agent()
        it.editor.wait_clients(1)
        heard = len(agent.heard)
        with stopped(it.editor.terminal.pid, it.editor.pid, pid):
            await asyncio.sleep(scale(short=2, long=120))
        begin = time.monotonic()
        await agent.json("getWorkspaceFolders")
        tell(figure, "both stood still (after they go on)", [time.monotonic() - begin])
        assert it.editor.host_pid() == pid
        await it.served()
        # the answer, and a selection or two: nothing has piled up
        assert len(agent.heard) - heard <= 5, agent.heard[heard:]
        assert it.told() == ""
        await it.finish()


async def test_modules_loaded_anew_end_the_old_host(
    short_folder: Path, scale: Scale, figure: Figure
) -> None:
    """An update of the plugin, and its manager loads it anew: one host, of the new version."""
    root = plugin_copy(short_folder)
    away = []
    for folder in folders(scale(short=1, long=50)):
        with scene(folder, root=root) as it:
            pid = it.host()
            before = it.editor.lock()
            new = set_version(root)

            def reload() -> None:
                it.editor.lua(RELOAD, str(root))
                wait_until(lambda: not running(pid), "the old host's end")  # noqa: B023

            away.append(await it.away(reload))
            it.host()
            after = it.editor.lock()
            assert before
            assert after
            assert (after.port, after.token) == (before.port, before.token)
            info = it.editor.lua("return require('agent_ide.host').info()")
            assert (info["version"], info["phase"]) == (new, "running")
            assert it.told() == ""
            await it.finish()
    tell(figure, "the plugin is updated and loaded anew", away)


async def test_an_update_on_disk_is_said_when_the_host_comes_back(short_folder: Path) -> None:
    """Only the host starts anew: it serves, and the user hears once that Neovim should, too."""
    root = plugin_copy(short_folder)
    with scene(short_folder, root=root) as it:
        pid = it.host()
        new = set_version(root)
        await it.away(os.kill, pid, signal.SIGKILL)
        it.host()
        assert it.told().count(f"to {new}: restart Neovim") == 1
        await it.finish()


async def test_two_hosts_of_one_neovim_do_not_stay(short_folder: Path) -> None:
    """Whatever starts a second one, `:AgentIde restart` leaves one that serves."""
    with scene(short_folder) as it:
        it.host()
        second = """
          local channel = vim.iter(vim.api.nvim_list_chans()):find(function(one)
            return one.argv and vim.endswith(one.argv[#one.argv], "agent_ide_host.py")
          end)
          local job = vim.fn.jobstart(channel.argv, { rpc = true })
          vim.rpcnotify(job, "agent_ide:event", "start", require("agent_ide.facts").start())
        """
        it.editor.lua(second)
        wait_until(lambda: len(host_of(it.editor.pid)) == 2, "the second host")
        it.editor.command("AgentIde restart")
        wait_until(lambda: len(host_of(it.editor.pid)) == 1, "one host")
        await it.served()
        it.host()
        await it.finish()


def end(pid: int, number: int) -> None:
    os.kill(pid, number)
    wait_until(lambda: not running(pid), "the host's end")


def set_version(root: Path) -> str:
    """The next version lies on disk."""
    path = root / "pyproject.toml"
    lines = path.read_text().splitlines()
    index = next(at for at, line in enumerate(lines) if line.startswith('version = "'))
    version = lines[index].split('"')[1] + "1"
    lines[index] = f'version = "{version}"'
    path.write_text("\n".join(lines) + "\n")
    return version
