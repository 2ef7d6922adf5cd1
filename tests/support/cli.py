"""A small real program that stands where an agent's CLI stands: it says what it was given.

Owns:     one folder with the program and what it reports.
Not here: the protocols (tests/e2e has the real CLIs).

    cli = Cli(tmp_path)
    nvim.lua("vim.g.agent_ide = ...", {"claude": {"command": cli.command}})
    cli.started()["env"]["NO_PROXY"]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from .neovim import Neovim, wait_until

__all__ = ["HELP", "REVIEW", "SERVER", "Cli", "push_status"]

HELP = """\
Usage: claude [options] [command] [prompt]

Options:
  --model <model>                       Model for the current session.
  --permission-mode <mode>              Permission mode to use for the session
                                        (choices: "acceptEdits", "auto",
                                        "bypassPermissions", "manual",
                                        "dontAsk", "plan")
  -p, --print                           Print and exit ("default")
"""
"""The part of `claude --help` 2.1.332 that matters."""

PROGRAM = """\
#!{python}
import json, os, sys, tty
here = {folder!r}
with open(os.path.join(here, "asked"), "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if "--help" in sys.argv:
    print(open(os.path.join(here, "help")).read())
    sys.exit(0)
if "--version" in sys.argv:
    print("9.9.9 (Stand-in)")
    sys.exit(0)
tty.setraw(0)
report = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}}
with open(os.path.join(here, "started.part"), "w") as file:
    json.dump(report, file)
os.rename(os.path.join(here, "started.part"), os.path.join(here, "started"))
os.write(1, b"\\x1b[?2004hstand-in ready\\r\\n")
seen = b""
while not seen.endswith((b"exit0", b"exit3")):
    seen += os.read(0, 65536)
    with open(os.path.join(here, "typed"), "wb") as file:
        file.write(seen)
os.write(1, b"the last words\\r\\n")
sys.exit(int(seen[-1:]))
"""

SERVER = {
    "agent": "claude",
    "title": "Claude Code",
    "address": "127.0.0.1:12345",
    "files": [],
    "env": {"CLAUDE_CODE_SSE_PORT": "12345", "ENABLE_IDE_INTEGRATION": "true"},
}

REVIEW = {
    "id": 1,
    "agent": "claude",
    "title": "Claude Code",
    "client": "claude-1",
    "client_gone": False,
    "path": "/p/a.txt",
    "tab_name": "edit of a.txt",
    "state": "pending",
    "is_new": False,
}


class Cli:
    """The program, and what it has seen."""

    def __init__(self, home: Path, help_text: str = HELP) -> None:
        self.folder = home / "cli"
        self.folder.mkdir()
        self.path = self.folder / "claude"
        (self.folder / "help").write_text(help_text)
        self.path.write_text(PROGRAM.format(python=sys.executable, folder=str(self.folder)))
        self.path.chmod(0o755)

    @property
    def command(self) -> str:
        return str(self.path)

    def started(self) -> dict[str, Any]:
        """Wait until it runs: argv, env, cwd, pid."""
        path = self.folder / "started"
        wait_until(path.exists, "the start of the CLI")
        report: dict[str, Any] = json.loads(path.read_text())
        return report

    def asked(self) -> list[str]:
        """The command lines it was started with, oldest first."""
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def typed(self) -> bytes:
        """All that it has read from its terminal."""
        path = self.folder / "typed"
        return path.read_bytes() if path.exists() else b""

    def forget(self) -> None:
        """Make ready for the next start."""
        for name in ("started", "typed", "asked"):
            (self.folder / name).unlink(missing_ok=True)

    def alive(self) -> bool:
        try:
            os.kill(self.started()["pid"], 0)
        except ProcessLookupError:
            return False
        return True


def push_status(nvim: Neovim, **parts: object) -> None:
    """Be the host that says who serves and who is connected; Claude is served unless told."""
    nvim.call("status", {"servers": [SERVER], "clients": [], "reviews": [], **parts})
