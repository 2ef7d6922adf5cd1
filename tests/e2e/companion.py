"""The real Gemini CLI and Qwen Code in a terminal, with only this test's folders around them.

Owns:     finding the programs, their settings and environment, prompts and questions.
Not here: the models (gemini_model.py, openai_model.py), the editor (editor.py), the pty
          (terminal.py).
Source:   Gemini CLI 0.61.0, Qwen Code 0.24.4; doc/protocols/gemini-ide.md.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.e2e.model import Block, use
from tests.e2e.node import find_node
from tests.e2e.terminal import Terminal
from tests.support.neovim import LIMIT_S, REPO

__all__ = ["CLIS", "Companion", "Kind", "companion_command"]

READY = r"Type your message"
"""Stands in an empty prompt."""

OLDEST_NODE = 22
"""Qwen Code's; Gemini CLI runs on it as well."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What differs.

    asks:       its question about an edit.
    below:      what is on the screen below the lines of its prompt.
    rejected:   what it says of an edit that was not accepted.
    takes_text: in the terminal, a Yes takes the text that the editor has.
    """

    name: str
    asks: str
    below: str
    rejected: str
    takes_text: bool

    def write(self, path: Path, text: str) -> list[list[Block]]:
        """Turns that write a whole file."""
        return [[use("write_file", file_path=str(path), content=text)]]

    def edit(self, path: Path, old: str, new: str) -> list[list[Block]]:
        """Turns that edit a file."""
        if self.name == "gemini":
            tool = use(
                "replace",
                file_path=str(path),
                old_string=old,
                new_string=new,
                instruction="as asked",
            )
            return [[tool]]
        # it edits no file that it has not read
        read = use("read_file", file_path=str(path))
        return [[read], [use("edit", file_path=str(path), old_string=old, new_string=new)]]

    def settings(self) -> dict[str, Any]:
        """Every question of a first start answered, nothing that asks the model by itself."""
        common: dict[str, Any] = {
            "ide": {"enabled": True, "hasSeenNudge": True},
            "privacy": {"usageStatisticsEnabled": False},
        }
        auth = "gemini-api-key" if self.name == "gemini" else "openai"
        common["security"] = {"auth": {"selectedType": auth}, "folderTrust": {"enabled": False}}
        if self.name == "gemini":
            general = {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}
            return {**common, "general": general, "telemetry": {"enabled": False}}
        return {
            **common,
            "general": {"enableAutoUpdate": False, "disableUpdateNag": True, "language": "en"},
            "ui": {"enableFollowupSuggestions": False},
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }

    def environment(self, home: Path, tmp: Path, model_url: str) -> dict[str, str]:
        """What it needs to run offline."""
        env = {
            "HOME": str(home),
            "TMPDIR": str(tmp),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "COLORTERM": "truecolor",
            "NO_UPDATE_NOTIFIER": "1",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        if self.name == "gemini":
            return {
                **env,
                "GEMINI_API_KEY": "no-key-the-model-is-a-script",
                "GOOGLE_GEMINI_BASE_URL": model_url,
                "GEMINI_MODEL": "gemini-2.5-flash",
                "GEMINI_CLI_NO_RELAUNCH": "true",
            }
        return {
            **env,
            "OPENAI_API_KEY": "no-key-the-model-is-a-script",
            "OPENAI_BASE_URL": model_url,
            "OPENAI_MODEL": "model",
        }

    def launcher(self, path: Path) -> Path:
        """A program that is the CLI, as npm would have put it on PATH."""
        command = companion_command(self.name)
        assert command is not None
        path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def prepare(self, home: Path) -> None:
        folder = home / f".{self.name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(self.settings()), encoding="utf-8")


CLIS = {
    "gemini": Kind("gemini", r"1\. Allow once", r"▀+\n", r"Rejected", takes_text=True),
    "qwen": Kind("qwen", r"1\. Yes, allow once", r"─+\n", r"- Edit", takes_text=False),
}


@functools.cache
def companion_command(name: str) -> tuple[str, ...] | None:
    """Program and script of the pinned CLI; None when it or a Node that can run it is missing."""
    command = [sys.executable, str(REPO / "scripts/fetch_cli.py"), "--cached", name]
    found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    node = find_node(OLDEST_NODE)
    return (node, found) if node and found else None


class Companion:
    """One CLI, started in a project's folder: it finds the editor by itself."""

    def __init__(
        self,
        kind: Kind,
        *,
        home: Path,
        tmp: Path,
        project: Path,
        model_url: str,
        args: Sequence[str] = ("--approval-mode", "default"),
    ) -> None:
        command = companion_command(kind.name)
        if command is None:
            raise FileNotFoundError(f"no {kind.name}")
        kind.prepare(home)
        env = kind.environment(home, tmp, model_url)
        # in a container Gemini CLI looks for an IDE outside, unless this is set
        env["SSH_CONNECTION"] = "127.0.0.1 1 127.0.0.1 2"
        self.kind = kind
        self.terminal = Terminal([*command, *args], env=env, cwd=project)
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

    def prompt(self, text: str) -> None:
        """Type a prompt once it is idle and submit it.

        Enter comes once the text shows, else both are one paste.
        """
        # not the same text further up: that is an earlier prompt
        typed = rf"> {re.escape(text)} *\n(?: *\n)*{self.kind.below} [^\n]*(?:/directory|project)"
        self._type(text, typed)
        sent = rf"(?s)\A(?!.*{typed}).*(?:{READY}|{self.kind.asks})"
        for _ in range(5):
            self.terminal.key("Enter")
            try:
                # an Enter that comes too soon is a line break; one more on a question is a yes
                self.terminal.wait_for(sent, LIMIT_S)
            except AssertionError:
                if self.terminal.shows(typed):
                    continue
            break
        self.terminal.wait_for(sent, 4 * LIMIT_S)

    def _type(self, text: str, typed: str) -> None:
        """Type into the empty prompt; the first moments after an answer it may take nothing."""
        for _ in range(5):
            self.wait_ready()
            self.terminal.type(text)
            try:
                self.terminal.wait_for(typed, 1.5)
            except AssertionError:
                continue
            return
        self.terminal.wait_for(typed)

    def look_for_editor(self) -> None:
        """Let it look again: by itself it does so once, when it starts."""
        self.wait_ready()
        self.terminal.type("/ide enable")
        # before that is offered, Enter would take another command
        self.terminal.wait_for(r"(?i)enable +enable IDE")
        self.terminal.key("Enter")

    def decide(self, key: str) -> None:
        """Answer its own question about an edit: "1" yes, or "Escape"."""
        self.terminal.wait_for(self.kind.asks, 4 * LIMIT_S)
        self.terminal.press_until_gone(self.kind.asks, key)
