"""One place for a test: a home, a project, scripted models, and what is started in them.

Owns:     the folders, the order in which things start and end.
Not here: how an editor or a CLI is driven (editor.py, claude.py, copilot.py).
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeAlias

from tests.e2e.claude import (
    Claude,
    claude_binary,
    claude_facts,
    cli_environment,
    write_config,
)
from tests.e2e.companion import CLIS, Companion
from tests.e2e.copilot import Copilot, copilot_binary, copilot_environment, prepare_home
from tests.e2e.editor import Editor
from tests.e2e.gemini_model import GeminiModel
from tests.e2e.model import Model, say, use
from tests.e2e.openai_model import OpenAiModel
from tests.e2e.terminal import Terminal
from tests.support.neovim import LIMIT_S

__all__ = ["AGREED", "Bed", "edit_turns", "read_turns"]

AGREED = "as agreed"


Turns: TypeAlias = list[list[dict[str, Any]]]


def read_turns(*paths: Path) -> Turns:
    """What stands before an edit of these files, for a Claude Code that wants them read first."""
    # a part is enough, and a large file is not read whole
    reads = [use("Read", file_path=str(path), offset=1, limit=2) for path in paths]
    return [reads] if claude_facts().reads_first else []


def edit_turns(path: Path, old: str, new: str) -> Turns:
    """A script for Claude Code: edit a file, then say so."""
    edit = use("Edit", file_path=str(path), old_string=old, new_string=new)
    return [*read_turns(path), [edit], [say("All done.")]]


class Bed:
    """Folders and processes of one test.

    home, project: HOME of all, and the directory in which all start.
    model:         the model that Claude asks.
    """

    def __init__(self, folder: Path, model: Model) -> None:
        self.folder = folder
        self.model = model
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.home.mkdir(mode=0o700)
        self._running = ExitStack()
        self._screens: list[tuple[str, Terminal]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @cached_property
    def copilot_model(self) -> OpenAiModel:
        """The model that Copilot asks."""
        return self._running.enter_context(OpenAiModel())

    @cached_property
    def gemini_model(self) -> GeminiModel:
        return self._running.enter_context(GeminiModel())

    @cached_property
    def qwen_model(self) -> OpenAiModel:
        return self._running.enter_context(OpenAiModel())

    def companion_model(self, name: str) -> GeminiModel | OpenAiModel:
        """The model that Gemini CLI asks, or the one that Qwen Code asks."""
        return self.gemini_model if name == "gemini" else self.qwen_model

    def write(self, name: str, content: bytes | str) -> Path:
        """Put a file into the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def start_editor(self, *files: str | Path, agent: str = "", options: str = "") -> Editor:
        """Start Neovim on files and wait for its Claude server.

        Args:
            files: arguments of Neovim.
            agent: its program is on Neovim's PATH and finds its model, for :ClaudeCode and the
                   like.
            options: more options of the plugin, as fields of a Lua table.
        """
        args = ["--", *map(str, files)] if files else []
        env = self._agent_environment(agent) if agent else {}
        editor = Editor(self.folder, self.project, args=args, env=env, options=options)
        self._running.enter_context(editor)
        self._screens.append(("screen of Neovim", editor.terminal))
        editor.wait_host()
        return editor

    def start_claude(self, editor: Editor, *args: str) -> Claude:
        """Start a CLI beside Neovim and wait until both know each other."""
        lock = editor.lock()
        assert lock is not None
        before = editor.clients()
        cli = Claude(
            home=self.home,
            project=self.project,
            model_url=self.model.url,
            port=lock.port,
            args=args,
        )
        self._running.enter_context(cli)
        self._screens.append(("screen of the CLI", cli.terminal))
        cli.wait_ready()
        editor.wait_clients(len(before) + 1)
        if editor.call("bufname"):
            # once it shows the file it listens; it proposes an earlier edit in its terminal only
            cli.terminal.wait_for("⧉", 4 * LIMIT_S)
        return cli

    def start_copilot(self, editor: Editor, *, trust: bool = True) -> Copilot:
        """Start a CLI beside Neovim and wait until it has found it by itself.

        Args:
            trust: it knows already that the user trusts the project's folder.
        """
        editor.wait_copilot_lock()
        before = editor.clients()
        url = self.copilot_model.url
        cli = Copilot(home=self.home, project=self.project, model_url=url, trust=trust)
        self._running.enter_context(cli)
        self._screens.append(("screen of the Copilot CLI", cli.terminal))
        cli.wait_ready()
        editor.wait_clients(len(before) + 1)
        return cli

    def start_copilot_on(self, *files: str | Path) -> tuple[Editor, Copilot]:
        editor = self.start_editor(*files)
        return editor, self.start_copilot(editor)

    def propose(self, cli: Copilot, path: Path) -> None:
        """Let Copilot propose "two" -> "TWO"; it says AGREED of the file once it has edited it."""
        edit = use("edit", path=str(path), old_str="two", new_str="TWO")
        self.copilot_model.plan([edit], [say(f"Edited {path.name} {AGREED}.")])
        cli.prompt(f"edit {path.name}")

    def start_companion(self, name: str, editor: Editor) -> Companion:
        """Start Gemini CLI or Qwen Code beside Neovim and wait until both know each other."""
        editor.wait_companion_file(name)
        before = editor.clients()
        cli = Companion(
            CLIS[name],
            home=self.home,
            tmp=self.folder / "tmp",
            project=self.project,
            model_url=self.companion_model(name).url,
        )
        self._running.enter_context(cli)
        self._screens.append((f"screen of {name}", cli.terminal))
        cli.wait_ready()
        editor.wait_clients(len(before) + 1)
        return cli

    def evidence(self) -> list[tuple[str, str]]:
        """Titles and texts of what a failed test should show: screens and logs."""
        screens = [(title, terminal.text().rstrip()) for title, terminal in self._screens]
        return [*screens, ("end of the plugin's log", self.log()[-4000:])]

    def log(self) -> str:
        """The plugin's log, of both halves."""
        paths = sorted((self.folder / "state").rglob("agent_ide*.log"))
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)

    def logged_errors(self) -> list[str]:
        """Lines of the log that tell of a fault, and of what was not caught."""
        return [line for line in self.log().splitlines() if re.search(r"(?i)\berror\b", line)]

    def start(self, *files: str | Path) -> tuple[Editor, Claude]:
        editor = self.start_editor(*files)
        return editor, self.start_claude(editor)

    def _agent_environment(self, agent: str) -> dict[str, str]:
        if agent == "claude":
            binary = claude_binary()
            write_config(self.home, self.project)
            env = cli_environment(self.home, self.model.url)
        elif agent == "copilot":
            binary = copilot_binary()
            prepare_home(self.home, self.project)
            env = copilot_environment(self.home, self.copilot_model.url)
        else:
            binary = CLIS[agent].launcher(self.folder / f"{agent}.sh")
            CLIS[agent].prepare(self.home)
            url = self.companion_model(agent).url
            env = CLIS[agent].environment(self.home, self.folder / "tmp", url)
        assert binary is not None
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / agent).symlink_to(binary)
        return {**env, "PATH": f"{folder}:{env['PATH']}"}
