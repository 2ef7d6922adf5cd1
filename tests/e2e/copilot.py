"""The real GitHub Copilot CLI in a terminal, with nothing but this test's folders around it.

Owns:     finding the binary, its configuration and environment, prompts and dialogs.
Not here: the model (openai_model.py), the editor (editor.py), the pty (terminal.py).
Source:   Copilot CLI 1.0.102; doc/protocols/copilot-ide.md.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from scripts.fetch_cli import cache_dir
from tests.e2e.editor import Editor
from tests.e2e.terminal import Terminal
from tests.support.neovim import LIMIT_S, REPO

__all__ = [
    "ASKS",
    "PROMPT",
    "READY",
    "STOPPED",
    "Copilot",
    "copilot_binary",
    "copilot_environment",
    "prepare_home",
    "select_two_lines",
]

PROMPT = "❯"
"""Stands before what the user types."""

READY = r"/ commands"
"""A hint below an empty prompt, once everything is loaded."""

ASKS = r"❯ \d\. (?:Yes|No)\b"
"""The CLI's own question about an edit, also while it is open in the editor."""

STOPPED = r"Operation cancelled by user"
"""It says so after a rejection in the editor, or Esc."""


@functools.cache
def copilot_binary() -> Path | None:
    """The CLI to test: $COPILOT_BIN, else the pinned one if scripts/fetch_cli.py has it."""
    named = os.environ.get("COPILOT_BIN")
    if named:
        return Path(named)
    command = [sys.executable, str(REPO / "scripts/fetch_cli.py"), "--cached", "copilot"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return Path(found) if found else None


@functools.cache
def _unpacked(binary: Path) -> Path:
    """The folder of what the CLI unpacks at its first start, 235 MB, once for all tests."""
    # it does not say so in its help, but this variable names the folder, wherever HOME is
    folder = cache_dir() / "copilot-unpacked"
    folder.mkdir(parents=True, exist_ok=True)
    env = {
        "HOME": str(folder),
        "PATH": os.environ.get("PATH", os.defpath),
        "COPILOT_CACHE_HOME": str(folder),
        "COPILOT_OFFLINE": "true",
    }
    command = [str(binary), "--version"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=110)
    return folder


def copilot_environment(home: Path, model_url: str) -> dict[str, str]:
    """What the CLI needs to run offline: the scripted model, and nothing that goes elsewhere."""
    binary = copilot_binary()
    assert binary is not None
    return {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_CACHE_HOME": str(_unpacked(binary)),
        "COPILOT_DISABLE_TERMINAL_TITLE": "1",
        # this one has the tools `create` and `edit`
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_API_KEY": "no-key-the-model-is-a-script",
        "COPILOT_PROVIDER_BASE_URL": model_url,
        "COPILOT_PROVIDER_TYPE": "openai",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def prepare_home(home: Path, project: Path, trust: bool = True) -> None:
    """Answer every question of a first start beforehand; without trust all but one."""
    folder = home / ".copilot"
    folder.mkdir(mode=0o700, exist_ok=True)
    # trust is state, not a setting: it counts in this file only
    folders = sorted({str(project), str(project.resolve())}) if trust else []
    trusted = {"trustedFolders": folders}
    (folder / "config.json").write_text(json.dumps(trusted), encoding="utf-8")
    settings = {"banner": "never", "showTipsOnStartup": False}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def select_two_lines(editor: Editor, *clis: Copilot) -> None:
    """Select the first two lines of the current file and wait until the CLIs show it.

    Line by line: a busy CLI that finds two pushes at once may take the older for the newer.
    """
    editor.feed("<Esc>ggV")
    for cli in clis:
        cli.terminal.wait_for(r"(?m)@\S+:1$", 2 * LIMIT_S)
    editor.feed("j")
    for cli in clis:
        cli.terminal.wait_for(r"(?m)@\S+:1-2$", 2 * LIMIT_S)


class Copilot:
    """One CLI, started in a project's folder: it is told of no editor and finds it by itself."""

    def __init__(
        self,
        *,
        home: Path,
        project: Path,
        model_url: str,
        args: Sequence[str] = (),
        trust: bool = True,
    ) -> None:
        binary = copilot_binary()
        if binary is None:
            raise FileNotFoundError("no Copilot CLI")
        prepare_home(home, project, trust)
        env = copilot_environment(home, model_url)
        self.terminal = Terminal([str(binary), *args], env=env, cwd=project)
        self.pid = self.terminal.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.terminal.stop()

    def wait_ready(self) -> None:
        """Wait until it takes input."""
        self.terminal.wait_for(READY, 6 * LIMIT_S)

    def write(self, text: str) -> None:
        """Type into the prompt and wait until it shows there."""
        self.terminal.type(text)
        self.terminal.wait_for(f"{PROMPT}.*{re.escape(text)}")

    def prompt(self, text: str) -> None:
        """Type a prompt once it is idle and submit it.

        Enter comes once the text shows, else both are one paste.
        """
        self.wait_ready()
        self.write(text)
        typed = rf"{PROMPT}[^\n]*{re.escape(text)}[^\n]*\n─"
        self.terminal.press_until_gone(typed, "Enter")

    def decide(self, key: str) -> None:
        """Answer the CLI's own question about an edit: "1" yes, "3" no, or "Escape"."""
        self.terminal.wait_for(ASKS, 4 * LIMIT_S)
        if key == "3":
            # it wants a text about what to do instead
            self.terminal.press_until(r"❯ 3\. No", key)
            self.terminal.type("nothing")
            self.terminal.wait_for(r"❯ 3\. .*nothing")
            key = "Enter"
        self.terminal.press_until_gone(ASKS, key)
