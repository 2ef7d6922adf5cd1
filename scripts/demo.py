"""Show the plugin at work on a small sample project: `make demo`.

    scripts/demo.py              in a terminal: Neovim with an agent in a split, to play with
    scripts/demo.py --headless   by itself, each step printed; code 1 when one fails

Owns:     the sample project, the steps of the headless run.
Not here: the agent that stands in where `claude` or `copilot` is not installed (demo_agent.py).

Without a terminal it runs headless, with the stand-in: the real ones would need accounts.
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
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pynvim

AGENTS = {"claude": "ClaudeCode", "copilot": "CopilotCli"}
"""The agents, and what their commands begin with."""

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


def stand_in(agents: Iterable[str]) -> str:
    """Options of the plugin that make :ClaudeCode and :CopilotCli start the demo's own agent."""
    program = [sys.executable, str(ROOT / "scripts/demo_agent.py")]
    options = {agent: {"command": [*program, agent]} for agent in agents}
    return f"lua vim.g.agent_ide = vim.json.decode({json.dumps(json.dumps(options))})"


def own_folders(folder: Path) -> dict[str, str]:
    """An environment in which the demo leaves the user's files alone."""
    env = {
        **os.environ,
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "COPILOT_HOME": str(folder / "copilot"),
        "QWEN_HOME": str(folder / "qwen"),
    }
    for name in ("config", "data", "state", "cache"):
        env[f"XDG_{name.upper()}_HOME"] = str(folder / name)
    return env


def play(project: Path) -> int:
    """Open Neovim in this terminal with an agent beside the file."""
    pid_file = project.parent / "nvim.pid"
    tell = f"call writefile([getpid()], {str(pid_file)!r})"
    command = [str(ROOT / "scripts/nvim"), "-n", "--cmd", tell, "-c", "ClaudeCode"]
    env = dict(os.environ)
    missing = [agent for agent in AGENTS if not shutil.which(agent)]
    if missing == list(AGENTS):
        env = own_folders(project.parent)
    command += ["--cmd", stand_in(missing)]
    with subprocess.Popen([*command, "greet.py"], cwd=project, env=env) as screen:
        # a closed terminal window ends Neovim first, then us: the folder must not stay
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, lambda *_: screen.terminate())
        code = screen.wait()
    # the Neovim behind the screen ends a moment later, and would make its folders again
    pid = int(pid_file.read_text()) if pid_file.exists() else 0
    end = time.monotonic() + LIMIT_S
    while pid and runs(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return code


def runs(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc").is_dir()
    return stat.rpartition(")")[2].split()[0] != "Z"


class Rehearsal:
    """The headless run: what a user would do, done and checked step by step."""

    def __init__(self, project: Path) -> None:
        self._path = project / "greet.py"
        self._folder = project.parent
        variables = own_folders(project.parent)
        command = ["env", *(f"{name}={value}" for name, value in variables.items())]
        command += [str(ROOT / "scripts/nvim"), "-n", "--embed", "--headless"]
        # wide, so that the agents' lines are not broken
        command += ["--cmd", f"set columns=240 | cd {project}", "--cmd", stand_in(AGENTS)]
        self._nvim = pynvim.attach("child", argv=[*command, str(self._path)])
        self._pid: int = self._nvim.funcs.getpid()

    def run(self) -> None:
        self._step("Neovim has started and listens for both agents", lambda: self._locks() == 2)
        for agent, prefix in AGENTS.items():
            self._nvim.command(prefix)
            self._sees(agent, "connected", "Connected to Neovim")
        self._type("<C-\\><C-n><C-w>tggVjj")
        for agent in AGENTS:
            self._sees(agent, "sees the selected lines", "I see lines 1 to 3")
        self._type("<Esc>")
        self._accept("claude", "Good day")
        self._reject("claude")
        self._accept("copilot", "One line for one guest")
        self._nvim.command("qall!", async_=True)
        self._step("After :qa! no lock file is left", lambda: not self._locks())

    def _accept(self, agent: str, text: str) -> None:
        self._propose(agent)
        self._nvim.command(f"{AGENTS[agent]}DiffAccept")
        self._step(f"{agent}: accepted, it has written the file", lambda: text in self._text())
        self._step("Neovim shows the new text", lambda: self._buffer() == self._text())

    def _reject(self, agent: str) -> None:
        before = self._text()
        self._propose(agent)
        self._nvim.command(f"{AGENTS[agent]}DiffDeny")
        self._sees(agent, "rejected, the file is as before", "Rejected")
        if self._text() != before:
            raise DemoError(f"FAILED: {agent} has written what was rejected")

    def _propose(self, agent: str) -> None:
        """Press Enter in the agent's terminal and wait for the diff."""
        self._nvim.command(f"{AGENTS[agent]}Focus")
        self._type("<CR>")
        self._step(f"{agent}: it proposes an edit, Neovim shows a diff", lambda: self._diffs() == 2)

    def _sees(self, agent: str, what: str, text: str) -> None:
        self._step(f"{agent}: {what}", lambda: text in self._terminal(agent))

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
                seen = [f"{agent}'s terminal:\n{self._terminal(agent)}" for agent in AGENTS]
                raise DemoError("\n\n".join([f"FAILED: {what}", *seen]))
            time.sleep(0.02)
        print(f"ok: {what}", flush=True)

    def _type(self, keys: str) -> None:
        self._nvim.api.input(keys)

    def _locks(self) -> int:
        """Of the demo's agents; other servers have theirs beside them."""
        return sum(len(list(self._folder.glob(f"{agent}/ide/*.lock"))) for agent in AGENTS)

    def _text(self) -> str:
        return self._path.read_text(encoding="utf-8")

    def _buffer(self) -> str:
        lines = self._nvim.funcs.getbufline("greet.py", 1, "$")
        return "\n".join([*lines, ""])

    def _diffs(self) -> int:
        return sum(self._nvim.funcs.getwinvar(w.handle, "&diff") for w in self._nvim.windows)

    def _terminal(self, agent: str) -> str:
        for buffer in self._nvim.buffers:
            if buffer.vars.get("agent_ide_terminal") == agent:
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
