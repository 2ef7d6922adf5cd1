"""Show the plugin at work on a small sample project: `make demo`.

    scripts/demo.py              in a terminal: Neovim with an agent in a split, to play with
    scripts/demo.py --headless   by itself, each step printed; code 1 when one fails

Owns:     the sample project, the steps of the headless run.
Not here: the agent that stands in where `claude` is not installed (demo_agent.py).

Without a terminal it runs headless, with the stand-in: a real `claude` would need an account.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pynvim

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 20.0

SAMPLE = '''\
"""A guest book."""


def greeting(name: str) -> str:
    return "Hello " + name


if __name__ == "__main__":
    print(greeting("Ada"))
'''


class DemoError(Exception):
    """One line that says which step failed, and what was seen instead."""


def stand_in() -> str:
    """Options of the plugin that make :ClaudeCode start the demo's own agent."""
    agent = [sys.executable, str(ROOT / "scripts/demo_agent.py")]
    options = {"claude": {"command": agent}}
    return f"lua vim.g.agent_ide = vim.json.decode({json.dumps(json.dumps(options))})"


def own_folders(folder: Path) -> dict[str, str]:
    """An environment in which the demo leaves the user's files alone."""
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "claude")}
    for name in ("config", "data", "state", "cache"):
        env[f"XDG_{name.upper()}_HOME"] = str(folder / name)
    return env


def play(project: Path) -> int:
    """Open Neovim in this terminal with an agent beside the file."""
    socket = project.parent / "nvim.sock"
    command = [str(ROOT / "scripts/nvim"), "-n", "--listen", str(socket), "-c", "ClaudeCode"]
    env = dict(os.environ)
    if not shutil.which("claude"):
        env = own_folders(project.parent)
        command += ["--cmd", stand_in()]
    with subprocess.Popen([*command, "greet.py"], cwd=project, env=env) as screen:
        # a closed terminal window ends Neovim first, then us: the folder must not stay
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, lambda *_: screen.terminate())
        code = screen.wait()
    # the Neovim behind the screen ends a moment later, and would make its folders again
    end = time.monotonic() + LIMIT_S
    while socket.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return code


class Rehearsal:
    """The headless run: what a user would do, done and checked step by step."""

    def __init__(self, project: Path) -> None:
        self._path = project / "greet.py"
        self._locks = project.parent / "claude/ide"
        variables = own_folders(project.parent)
        command = ["env", *(f"{name}={value}" for name, value in variables.items())]
        command += [str(ROOT / "scripts/nvim"), "-n", "--embed", "--headless"]
        # wide, so that the agent's lines are not broken
        command += ["--cmd", f"set columns=200 | cd {project}", "--cmd", stand_in()]
        self._nvim = pynvim.attach("child", argv=[*command, str(self._path)])
        self._pid: int = self._nvim.funcs.getpid()

    def run(self) -> None:
        self._step("Neovim has started and listens for agents", self._locked)
        self._nvim.command("ClaudeCode")
        self._step(
            "The agent in the split is connected", lambda: self._shows("Connected to Neovim")
        )
        self._type("<C-\\><C-n><C-w>pggVjj")
        self._step("It sees the selected lines", lambda: self._shows("I see lines 1 to 3"))
        self._type("<Esc>")
        self._propose()
        self._nvim.command("ClaudeCodeDiffAccept")
        self._step("Accepted: the agent has written the file", lambda: "Good day" in self._text())
        self._step("Neovim shows the new text", lambda: self._buffer() == self._text())
        self._propose()
        before = self._text()
        self._nvim.command("ClaudeCodeDiffDeny")
        self._step("Rejected: the agent says so", lambda: self._shows("Rejected"))
        self._step("The file is as before", lambda: self._text() == before)
        self._nvim.command("qall!", async_=True)
        self._step("After :qa! no lock file is left", lambda: not self._locked())

    def _propose(self) -> None:
        """Press Enter in the agent's terminal and wait for the diff."""
        self._nvim.command("ClaudeCodeFocus")
        self._type("<CR>")
        self._step("The agent proposes an edit, Neovim shows a diff", lambda: self._diffs() == 2)

    def close(self) -> None:
        # asyncio would warn that the loop is gone when the child ends
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        with suppress(OSError):
            self._nvim.close()
            os.kill(self._pid, signal.SIGKILL)

    def _step(self, what: str, done: Callable[[], object]) -> None:
        end = time.monotonic() + LIMIT_S
        while not done():
            if time.monotonic() > end:
                raise DemoError(f"FAILED: {what}\n\nThe agent's terminal:\n{self._terminal()}")
            time.sleep(0.02)
        print(f"ok: {what}", flush=True)

    def _type(self, keys: str) -> None:
        self._nvim.api.input(keys)

    def _locked(self) -> bool:
        return bool(list(self._locks.glob("*.lock")))

    def _shows(self, text: str) -> bool:
        return text in self._terminal()

    def _text(self) -> str:
        return self._path.read_text(encoding="utf-8")

    def _buffer(self) -> str:
        lines = self._nvim.funcs.getbufline("greet.py", 1, "$")
        return "\n".join([*lines, ""])

    def _diffs(self) -> int:
        return sum(self._nvim.funcs.getwinvar(w.handle, "&diff") for w in self._nvim.windows)

    def _terminal(self) -> str:
        for buffer in self._nvim.buffers:
            if buffer.name.startswith("term://"):
                return "\n".join(buffer[:])
        return "(none)"


def rehearse(project: Path) -> int:
    rehearsal = Rehearsal(project)
    try:
        rehearsal.run()
    except (DemoError, OSError, pynvim.NvimError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        rehearsal.close()
    print("The demo has passed.")
    return 0


def main(argv: list[str]) -> int:
    folder = Path(tempfile.mkdtemp(prefix="agent-ide-demo-")).resolve()
    project = folder / "project"
    try:
        project.mkdir()
        (project / "greet.py").write_text(SAMPLE, encoding="utf-8")
        seen = sys.stdin.isatty() and sys.stdout.isatty()
        return play(project) if seen and "--headless" not in argv else rehearse(project)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
