"""The real Claude Code CLI in a terminal, with nothing but this test's folders around it.

Owns:     finding the binary, its configuration and environment, prompts and dialogs.
Not here: the model (model.py), the editor (editor.py), the pty (terminal.py).
Source:   Claude Code 2.1.332; doc/protocols/claude-ide.md.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.e2e.terminal import Terminal
from tests.support.neovim import LIMIT_S, REPO

__all__ = [
    "ANSWER",
    "PROMPT",
    "Claude",
    "Facts",
    "claude_binary",
    "claude_facts",
    "cli_environment",
    "write_config",
]

_KEY = "no-key-the-model-is-a-script-000"

PROMPT = "❯"
"""Stands before what the user types."""

ANSWER = r"Do you want to (?:make this edit|create|overwrite)"
"""The CLI's own question about an edit, also while it is open in the editor."""


@functools.cache
def claude_binary() -> Path | None:
    """The CLI to test: $CLAUDE_BIN, else the pinned one if scripts/fetch_cli.py has it."""
    named = os.environ.get("CLAUDE_BIN")
    if named:
        return Path(named)
    command = [sys.executable, str(REPO / "scripts/fetch_cli.py"), "--cached", "claude"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class Facts:
    """What an old CLI does otherwise (doc/protocols/claude-ide.md, "An older CLI").

    reads_first:      it edits only a file that it has read.
    write_cuts_break: its Write loses the last line break of what was accepted.
    refuses_changed:  it does not edit a file that changed since it was read.
    shows_mode:       what stands below the prompt in the mode that asks.
    """

    reads_first: bool
    write_cuts_break: bool
    refuses_changed: bool
    shows_mode: str

    def written(self, accepted: str) -> str:
        """What its Write makes of a text that was accepted."""
        return accepted.removesuffix("\n") if self.write_cuts_break else accepted


OLD = (2, 1, 197)
"""The newest that was seen to be so."""


@functools.cache
def claude_facts() -> Facts:
    """The facts of the CLI to test."""
    binary = claude_binary()
    if binary is None:
        raise FileNotFoundError("no Claude Code CLI")
    shown = _shown_by(binary, "--version")
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", shown)
    assert version, shown
    is_old = tuple(map(int, version.groups())) <= OLD
    return Facts(
        reads_first=is_old,
        write_cuts_break=is_old,
        refuses_changed=is_old,
        shows_mode=r"\? for shortcuts" if is_old else "manual mode on",
    )


def _shown_by(binary: Path, option: str) -> str:
    home = {"HOME": "/nonexistent", "PATH": os.environ.get("PATH", os.defpath)}
    command = [str(binary), option]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=home).stdout


@functools.cache
def ask_mode(binary: Path) -> str:
    """The CLI's name for the permission mode that asks before each edit."""
    return "manual" if '"manual"' in _shown_by(binary, "--help") else "default"


def cli_environment(home: Path, model_url: str) -> dict[str, str]:
    """What the CLI needs to run offline: the scripted model, and nothing that goes elsewhere."""
    return {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": _KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_IDE_SKIP_AUTO_INSTALL": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_COST_WARNINGS": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        # the IDE's tools are in every request, not loaded on demand
        "ENABLE_TOOL_SEARCH": "false",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def write_config(home: Path, project: Path) -> None:
    """Answer every question of a first start beforehand."""
    trusted = {
        "allowedTools": [],
        "hasTrustDialogAccepted": True,
        "hasCompletedProjectOnboarding": True,
        "projectOnboardingSeenCount": 4,
    }
    config = {
        "numStartups": 10,
        "theme": "dark",
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "99.0.0",
        "lastReleaseNotesSeen": "99.0.0",
        "installMethod": "npm",
        "autoUpdates": False,
        "autoInstallIdeExtension": False,
        "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
        "hasIdeAutoConnectDialogBeenShown": True,
        "hasIdeOnboardingBeenShown": dict.fromkeys(("unknown", "xterm-256color"), True),
        "projects": {str(path): trusted for path in {project, project.resolve()}},
        "tipsHistory": {},
    }
    (home / ".claude.json").write_text(json.dumps(config), encoding="utf-8")


class Claude:
    """One CLI, started in a project, that knows the editor's port as one in a :terminal does."""

    def __init__(
        self,
        *,
        home: Path,
        project: Path,
        model_url: str,
        port: int,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        binary = claude_binary()
        if binary is None:
            raise FileNotFoundError("no Claude Code CLI")
        write_config(home, project)
        environment = cli_environment(home, model_url) | {"TMPDIR": str(home)}
        environment |= {"CLAUDE_CODE_SSE_PORT": str(port), "ENABLE_IDE_INTEGRATION": "true"}
        self.terminal = Terminal(
            [str(binary), "--permission-mode", ask_mode(binary), *args],
            env={**environment, **(env or {})},
            cwd=project,
        )
        self.pid = self.terminal.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.terminal.stop()

    def wait_ready(self) -> None:
        """Wait until it takes input."""
        self.terminal.wait_for(PROMPT, 6 * LIMIT_S)

    def write(self, text: str) -> None:
        """Type into the prompt and wait until it shows there."""
        self.terminal.type(text)
        self.terminal.wait_for(f"{PROMPT}.*{re.escape(text)}")

    def prompt(self, text: str) -> None:
        """Type a prompt and submit it. Enter comes once the text shows, else both are one paste."""
        self.write(text)
        typed = rf"{PROMPT}[^\n]*{re.escape(text)}[^\n]*\n─"
        self.terminal.press_until_gone(typed, "Enter")

    def decide(self, key: str) -> None:
        """Answer the CLI's own question about an edit, which ignores keys for its first second."""
        self.terminal.wait_for(ANSWER, 4 * LIMIT_S)
        self.terminal.press_until_gone(ANSWER, key)
