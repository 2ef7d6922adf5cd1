"""The venv of the plugin: real builds into empty data folders, and what the user is told.

Most builds take a folder of wheels, so that only one test needs the package index, and uv, which
takes a second where pip takes five.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import REPO, Neovim, find_nvim, wait_until
from tests.support.wheels import base_python, wheel_folder

BUILD_S = 90.0
"""The longest that a build may take on a busy machine."""

DEAD_INDEX = "http://127.0.0.1:9/simple"
"""Nothing listens there, so that asking it fails at once."""

RECORD = """
_G.told, _G.ended = {}, nil
vim.notify = function(message) table.insert(_G.told, message) end
-- progress messages, where Neovim has them
local echo = vim.api.nvim_echo
vim.api.nvim_echo = function(chunks, history, opts)
  if opts.kind ~= "progress" then return echo(chunks, history, opts) end
  table.insert(_G.told, "agent_ide: " .. chunks[1][1])
  return echo(chunks, history, opts)
end
"""

ENSURE = """
_G.ended = nil
require("agent_ide.install").ensure(function(python, err)
  _G.ended = { python = python, err = err }
end)
"""


class Machine:
    """A home with a PATH of its own: `bin` holds all the programs that the plugin can find."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "nvim"
        self.bin = tmp_path / "bin"
        self.bin.mkdir()

    def give_python(self, name: str = "python3") -> None:
        (self.bin / name).symlink_to(base_python())

    def give_uv(self) -> None:
        uv = shutil.which("uv", path=f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")
        assert uv, "make deps-dev installs uv"
        (self.bin / "uv").symlink_to(uv)

    def give_script(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": str(self.bin), "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"}

    @contextmanager
    def nvim(self, **options: Any) -> Iterator[Neovim]:
        with Neovim(self.home, env=self.env, size=(100, 30)) as nvim:
            nvim.lua(RECORD)
            nvim.lua("vim.g.agent_ide = ...", {"auto_start": False, **options})
            yield nvim

    @property
    def data(self) -> Path:
        return self.home / "data" / "nvim" / "agent_ide"

    @property
    def log(self) -> Path:
        return self.home / "state" / "nvim" / "agent_ide_install.log"

    def leftovers(self) -> set[str]:
        """What lies in the data folder beside the venv."""
        return {path.name for path in self.data.glob("*")} - {"venv", "venv.lock"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="session")
def wheels() -> str:
    return str(wheel_folder())


def told(nvim: Neovim) -> list[str]:
    return list(nvim.lua("return _G.told"))


def ensure(nvim: Neovim) -> dict[str, str]:
    nvim.lua(ENSURE)
    return ended(nvim)


def ended(nvim: Neovim) -> dict[str, str]:
    result: dict[str, str] = wait_until(
        lambda: nvim.lua("return _G.ended"), "the end of the build", BUILD_S
    )
    return result


def loads(python: str) -> bool:
    code = "import pynvim, websockets, aiohttp, msgspec, sys; print(sys.prefix)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True)
    return done.stdout.strip() == str(Path(python).parent.parent)


def test_builds_with_pip_from_a_wheel_folder(machine: Machine, wheels: str) -> None:
    machine.give_python()
    with machine.nvim(install_wheels=wheels) as nvim:
        result = ensure(nvim)
        assert result == {"python": str(machine.data / "venv/bin/python")}
        assert loads(result["python"])
        assert told(nvim) == [
            "agent_ide: installing its Python packages, once, in the background",
            "agent_ide: its Python packages are installed",
        ]
        # the next start finds it and says nothing
        nvim.lua(RECORD)
        assert ensure(nvim) == result
        assert told(nvim) == []
    assert not machine.leftovers()
    assert machine.log.stat().st_mode & 0o777 == 0o600


def test_builds_with_uv_where_there_is_one(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install_wheels=wheels) as nvim:
        assert loads(ensure(nvim)["python"])
    assert "uv = " in (machine.data / "venv/pyvenv.cfg").read_text()


@pytest.mark.slow
def test_fetches_from_the_package_index(machine: Machine) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim() as nvim:
        assert loads(ensure(nvim)["python"])


@pytest.mark.slow
def test_the_extra_notebook_stays(machine: Machine) -> None:
    machine.give_python()
    machine.give_uv()
    python = str(machine.data / "venv/bin/python")
    jupyter = [python, "-I", "-c", "import jupyter_client, ipykernel"]
    with machine.nvim() as nvim:
        nvim.command("runtime plugin/agent_ide.lua")
        nvim.command("AgentIde install notebook")
        wait_until(lambda: "are installed" in "".join(told(nvim)), "the end of the build", BUILD_S)
        assert loads(python)
        assert subprocess.run(jupyter).returncode == 0
        # after an update of the plugin the same is built again
        outdate(machine)
        lock = nvim.lua("return require('agent_ide.venv').lock_path()")
        assert lock == str(REPO / "requirements-notebook.lock")


def test_install_of_what_does_not_exist(machine: Machine) -> None:
    with machine.nvim() as nvim:
        nvim.lua("require('agent_ide.install').run('cheese')")
        assert told(nvim) == ['agent_ide: there is no extra "cheese", only notebook']


def test_a_uv_that_does_not_work_is_passed_over(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_script("uv", "exit 2")
    with machine.nvim(install_wheels=wheels) as nvim:
        assert loads(ensure(nvim)["python"])


def test_an_old_python_is_passed_over(machine: Machine, wheels: str) -> None:
    machine.give_script("python3", "exit 1")
    machine.give_python("python3.11")
    machine.give_uv()
    with machine.nvim(install_wheels=wheels) as nvim:
        assert loads(ensure(nvim)["python"])


def test_two_at_once_build_once(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install_wheels=wheels) as one, machine.nvim(install_wheels=wheels) as other:
        one.lua(ENSURE)
        other.lua(ENSURE)
        assert ended(one) == ended(other)
        assert loads(ended(one)["python"])
    assert machine.log.read_text().count(" pip install ") == 1
    assert not machine.leftovers()


def test_no_python(machine: Machine) -> None:
    with machine.nvim() as nvim:
        error = ensure(nvim)["err"]
    assert "there is no Python 3.11 or newer: install python3 or uv" in error
    assert ":AgentIde install" in error


@pytest.mark.parametrize("uv", [False, True])
def test_an_index_that_does_not_answer(machine: Machine, uv: bool) -> None:
    machine.give_python()
    if uv:
        machine.give_uv()
    index = DEAD_INDEX.replace("//", "//user:password@")
    with machine.nvim(install_index=index) as nvim:
        error = ensure(nvim)["err"]
        assert told(nvim)[1:] == []
    assert "http://***@127.0.0.1:9/simple (option install_index)" in error
    assert str(machine.log) in error
    assert "\n" not in error
    assert "password" not in machine.log.read_text()
    assert not (machine.data / "venv").exists()
    assert not machine.leftovers()


def test_a_wheel_that_is_missing_leaves_the_old_venv(
    machine: Machine, wheels: str, tmp_path: Path
) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install_wheels=wheels) as nvim:
        python = ensure(nvim)["python"]
    outdate(machine)
    empty = tmp_path / "empty"
    empty.mkdir()
    with machine.nvim(install_wheels=str(empty)) as nvim:
        error = ensure(nvim)["err"]
    assert f"the wheel folder {empty} (option install_wheels)" in error
    assert loads(python)
    assert not machine.leftovers()


def outdate(machine: Machine) -> None:
    """As after an update of the plugin: the venv's stamp tells of other pins."""
    path = machine.data / "venv/agent_ide.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "lock": "older"}))


def test_other_pins_or_another_interpreter_build_anew(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install_wheels=wheels) as nvim:
        ensure(nvim)
        outdate(machine)
        assert reason(nvim) == "its Python packages are older than the plugin"
        assert loads(ensure(nvim)["python"])
        # as after an upgrade of the system: python3 is gone, another one came
        (machine.bin / "python3").rename(machine.bin / "python3.11")
        assert reason(nvim) == "the Python that its packages were installed for has changed"
        assert loads(ensure(nvim)["python"])
        assert reason(nvim) is None


def reason(nvim: Neovim) -> Any:
    return nvim.lua("return (select(2, require('agent_ide.install').python()))")


def test_the_option_python(machine: Machine) -> None:
    with machine.nvim(python=sys.executable) as nvim:
        assert ensure(nvim) == {"python": sys.executable}
        assert told(nvim) == []
    with machine.nvim(python="/nowhere/python") as nvim:
        assert ensure(nvim) == {
            "err": 'the option python is "/nowhere/python", which cannot be run'
        }


def test_never_builds_only_when_told(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install="never", install_wheels=wheels) as nvim:
        error = ensure(nvim)["err"]
        assert error == "its Python packages are not installed yet: run :AgentIde install"
        assert not machine.data.exists()
        nvim.lua(
            "_G.ended = nil; require('agent_ide.install').build(function(python, err)"
            " _G.ended = { python = python, err = err } end)"
        )
        assert loads(ended(nvim)["python"])


@pytest.mark.parametrize("answer", ["Yes", "No"])
def test_ask(machine: Machine, wheels: str, answer: str) -> None:
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install="ask", install_wheels=wheels) as nvim:
        nvim.lua(
            "local answer = ...; vim.ui.select = function(_, opts, choose)"
            " _G.asked = opts.prompt; choose(answer) end",
            answer,
        )
        result = ensure(nvim)
        asked = nvim.lua("return _G.asked")
        assert asked == "agent_ide: its Python packages are not installed yet. Install them now?"
    assert ("python" in result) == (answer == "Yes")


class Silence(BaseHTTPRequestHandler):
    """An index that takes a question and never answers."""

    asked = threading.Event()
    over = threading.Event()

    def do_GET(self) -> None:
        self.asked.set()
        self.over.wait(BUILD_S)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def silent_index() -> Iterator[tuple[str, threading.Event]]:
    Silence.asked.clear()
    Silence.over.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Silence)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple", Silence.asked
    Silence.over.set()
    server.shutdown()
    server.server_close()


def test_neovims_end_stops_the_build(
    machine: Machine, silent_index: tuple[str, threading.Event]
) -> None:
    machine.give_python()
    index, asked = silent_index
    with machine.nvim(install_index=index) as nvim:
        nvim.lua(ENSURE)
        assert asked.wait(BUILD_S)
        assert machine.leftovers()
        nvim.api.command("qall!", async_=True)
        wait_until(lambda: not machine.leftovers(), "tidying up", BUILD_S)
    assert not (machine.data / "venv").exists()


def test_uninstall_during_a_build_leaves_nothing(
    machine: Machine, silent_index: tuple[str, threading.Event]
) -> None:
    machine.give_python()
    index, asked = silent_index
    with machine.nvim(install_index=index) as nvim:
        nvim.lua(ENSURE)
        assert asked.wait(BUILD_S)
        nvim.lua("require('agent_ide.install').uninstall()")
        wait_until(lambda: not machine.data.exists(), "removal", BUILD_S)
        assert any("are removed" in message for message in told(nvim))


def test_progress_makes_no_prompt(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_uv()
    with Neovim(machine.home, env=machine.env, size=(80, 24)) as nvim:
        nvim.lua("vim.g.agent_ide = ...", {"auto_start": False, "install_wheels": wheels})
        nvim.lua(ENSURE)
        blocked = False

        def over() -> Any:
            nonlocal blocked
            blocked = blocked or nvim.api.api.get_mode()["blocking"]
            return blocked or nvim.lua("return _G.ended")

        wait_until(over, "the end of the build", BUILD_S)
        assert not blocked


def run_nvim(machine: Machine, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **machine.env, "HOME": str(machine.home)}
    for name in ("data", "state", "config", "cache"):
        env[f"XDG_{name.upper()}_HOME"] = str(machine.home / name)
    for name in ("VIRTUAL_ENV", "NVIM", "NVIM_APPNAME"):
        env.pop(name, None)
    command = [find_nvim(), *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=BUILD_S)


def build_lua(machine: Machine, *args: str) -> subprocess.CompletedProcess[str]:
    return run_nvim(machine, "--clean", *args, "-l", str(REPO / "build.lua"))


def test_build_lua(machine: Machine, wheels: str) -> None:
    machine.give_python()
    machine.give_uv()
    options = f"lua vim.g.agent_ide = {{ install_wheels = '{wheels}' }}"
    done = build_lua(machine, "--cmd", options)
    assert done.returncode == 0, done.stderr
    assert f"the Python packages are in {machine.data / 'venv'}" in done.stdout + done.stderr
    assert loads(str(machine.data / "venv/bin/python"))


def test_build_lua_in_a_coroutine_yields(machine: Machine, wheels: str) -> None:
    """As lazy.nvim runs it: it must give way, and say how far it is."""
    machine.give_python()
    machine.give_uv()
    with machine.nvim(install_wheels=wheels) as nvim:
        code = """
        local co = coroutine.create(assert(loadfile(...)))
        _G.steps = {}
        local function step()
          local ok, news = coroutine.resume(co)
          table.insert(_G.steps, news)
          if coroutine.status(co) == "dead" then
            _G.ended = { python = tostring(ok) }
          else
            vim.schedule(step)
          end
        end
        step()
        """
        nvim.lua(code, str(REPO / "build.lua"))
        assert ended(nvim) == {"python": "true"}
        assert "installing the packages with uv" in nvim.lua("return _G.steps")
    assert loads(str(machine.data / "venv/bin/python"))


def test_build_lua_fails_with_the_reason(machine: Machine) -> None:
    done = build_lua(machine)
    assert done.returncode == 1
    assert "there is no Python 3.11 or newer" in done.stderr


def test_update_remote_plugins_does_no_harm(machine: Machine, tmp_path: Path) -> None:
    """A user runs it for other plugins. Not with --clean: Neovim has no remote plugins then."""
    init = tmp_path / "init.lua"
    init.write_text(f"""
    vim.opt.runtimepath:prepend({str(REPO)!r})
    vim.g.agent_ide = {{ auto_start = false, python = {sys.executable!r} }}
    vim.g.python3_host_prog = {sys.executable!r}
    local update = vim.schedule_wrap(function()
      vim.cmd.UpdateRemotePlugins()
      local phase = require("agent_ide.host").info().phase
      io.stdout:write("host is ", phase, "; error is <", vim.v.errmsg, ">")
      vim.cmd.qall()
    end)
    vim.api.nvim_create_autocmd("VimEnter", {{ callback = update }})
    """)
    done = run_nvim(machine, "-u", str(init), "--headless")
    assert "host is off; error is <>" in done.stdout
    assert "python3 host registered plugins" in done.stderr
    assert (machine.home / "data/nvim/rplugin.vim").exists()
