"""Lua's watch over the host's process: start, crashes, back-off, giving up, stop."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import Neovim, wait_until

RECORD = "_G.told = {}; vim.notify = function(text) table.insert(_G.told, text) end"


class Watched:
    """A Neovim whose plugin starts the real host."""

    def __init__(self, home: Path, python: str = sys.executable, more: str = "") -> None:
        self.home = home
        options = f"vim.g.agent_ide = {{ python = {json.dumps(python)}{more} }}"
        args = ["--cmd", f"lua {RECORD}; {options}"]
        self.nvim = Neovim(home, args=args, plugin=True)
        self.locks = home / "home" / ".claude" / "ide"

    def info(self) -> Any:
        return self.nvim.lua("return require('agent_ide.host').info()")

    def told(self) -> list[str]:
        return list(self.nvim.lua("return _G.told"))

    def lock(self) -> dict[str, Any]:
        """The lock file once there is one; its port is in `port`."""
        path = wait_until(lambda: list(self.locks.glob("*.lock")), "the lock file", 20)[0]
        return {"port": int(path.stem), **json.loads(path.read_text())}

    def host(self, besides: int = 0) -> int:
        """Pid of a host that has said hello, other than `besides`."""

        def look() -> int:
            info = self.info()
            ready = info.get("version") and info.get("pid") != besides
            return int(info["pid"]) if ready else 0

        return wait_until(look, "the host's hello", 20)

    def served(self) -> dict[str, Any]:
        """The lock, once Lua knows of it."""

        def look() -> bool:
            servers = self.nvim.lua("return require('agent_ide.status').get().servers")
            return any(server["agent"] == "claude" for server in servers)

        wait_until(look, "the server in the status", 20)
        return self.lock()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    it = Watched(tmp_path / "nvim")
    yield it
    it.nvim.close()


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_starts_by_itself_and_tells_the_folders(watched: Watched) -> None:
    watched.host()
    lock = watched.served()
    assert lock["pid"] == watched.nvim.pid
    folders = watched.nvim.lua("return require('agent_ide.folders').list()")
    assert lock["workspaceFolders"][0] == folders[0]
    env = watched.nvim.lua(
        "return { vim.env.CLAUDE_CODE_SSE_PORT, vim.env.ENABLE_IDE_INTEGRATION }"
    )
    assert env == [str(lock["port"]), "true"]
    assert watched.told() == []


def test_killed_host_comes_back_on_the_same_port_with_the_same_token(watched: Watched) -> None:
    pid = watched.host()
    before = watched.served()
    os.kill(pid, signal.SIGKILL)
    watched.host(besides=pid)
    after = watched.served()
    assert (after["port"], after["authToken"]) == (before["port"], before["authToken"])
    assert watched.told() == []


def test_host_that_dies_again_and_again_is_given_up(watched: Watched) -> None:
    pid = watched.host()
    watched.served()
    for _ in range(3):
        os.kill(pid, signal.SIGKILL)
        pid = watched.host(besides=pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: watched.info()["phase"] == "given_up", "giving up")
    told = wait_until(watched.told, "the message")
    assert len(told) == 1
    assert ":AgentIde log" in told[0]
    assert ":AgentIde restart" in told[0]
    assert list(watched.locks.glob("*.lock")) == []
    watched.nvim.command("AgentIde restart")
    watched.host()
    watched.served()


def test_restart_is_not_counted(watched: Watched) -> None:
    pid = watched.host()
    watched.served()
    for _ in range(5):
        watched.nvim.command("AgentIde restart")
        pid = watched.host(besides=pid)
    assert watched.told() == []
    assert watched.info()["phase"] == "running"


def test_stop_removes_the_files_and_start_serves_again(watched: Watched) -> None:
    pid = watched.host()
    watched.served()
    watched.nvim.command("AgentIde stop")
    wait_until(lambda: watched.info()["phase"] == "off", "the stop")
    assert gone(pid)
    assert list(watched.locks.glob("*.lock")) == []
    watched.nvim.command("AgentIde start")
    watched.host(besides=pid)
    watched.served()


def test_stop_while_it_starts(watched: Watched) -> None:
    watched.nvim.command("AgentIde stop")
    wait_until(lambda: watched.info()["phase"] == "off", "the stop", 20)
    assert list(watched.locks.glob("*.lock")) == []


def test_quitting_leaves_nothing(watched: Watched) -> None:
    pid = watched.host()
    watched.served()
    watched.nvim.api.command("qall!", async_=True)
    wait_until(lambda: gone(pid), "the host's end")
    assert list(watched.locks.glob("*.lock")) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_killed_neovim_leaves_nothing(watched: Watched, number: signal.Signals) -> None:
    pid = watched.host()
    watched.served()
    os.kill(watched.nvim.pid, number)
    wait_until(lambda: gone(pid), "the host's end")
    wait_until(lambda: list(watched.locks.glob("*.lock")) == [], "no lock file")


def test_missing_interpreter_is_one_message(tmp_path: Path) -> None:
    it = Watched(tmp_path / "nvim", python=str(tmp_path / "no-python"))
    told = wait_until(it.told, "the message", 20)
    assert len(told) == 1
    assert "no-python" in told[0]
    it.nvim.close()


def test_interpreter_without_the_packages_is_told_with_the_cure(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'No module named pynvim' >&2\nexit 1\n")
    broken.chmod(0o755)
    it = Watched(tmp_path / "nvim", python=str(broken))
    told = wait_until(it.told, "the message", 30)
    assert any(":AgentIde log" in text or "checkhealth" in text for text in told)
    it.nvim.close()


def test_other_version_on_disk_is_said(watched: Watched) -> None:
    watched.host()
    watched.nvim.call("hello", {"version": "99.0.0", "pid": 1})
    (told,) = wait_until(watched.told, "the message")
    assert "99.0.0" in told
    assert "restart Neovim" in told


def test_auto_start_off(tmp_path: Path) -> None:
    it = Watched(tmp_path / "nvim", more=", auto_start = false")
    it.nvim.lua("vim.wait(0)")
    assert it.info()["phase"] == "off"
    it.nvim.command("AgentIde start")
    it.host()
    it.nvim.close()
