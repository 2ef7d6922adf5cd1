"""A Neovim with the commands, a stand-in CLI, and a message log to read.

Owns:     how such a Neovim is set up for the tests of commands, terminal and sending.
Not here: the Neovim itself and the CLI (tests/support).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.cli import Cli, push_status
from tests.support.neovim import Neovim, wait_until

__all__ = ["Bed", "bed"]

RECORD_MESSAGES = """
_G.told = {}
vim.notify = function(message) table.insert(_G.told, message) end
"""


class Bed:
    """nvim: the editor, with its host played by the test; cli: what it starts as `claude`."""

    def __init__(self, nvim: Neovim, cli: Cli, project: Path) -> None:
        self.nvim = nvim
        self.cli = cli
        self.project = project

    def told(self) -> list[str]:
        """What the user was told, oldest first."""
        return list(self.nvim.lua("return _G.told"))

    def wait_told(self, part: str) -> str:
        def look() -> list[str]:
            return [message for message in self.told() if part in message]

        return wait_until(look, f"a message with {part!r} (told: {self.told()})")[0]

    def terminal_buffer(self) -> int:
        """The terminal's buffer; 0: there is none."""
        code = """
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.b[buf].agent_ide_terminal then return buf end
        end
        return 0
        """
        return int(self.nvim.lua(code))

    def terminal_windows(self) -> list[int]:
        buf = self.terminal_buffer()
        return list(self.nvim.api.funcs.win_findbuf(buf)) if buf else []

    def in_terminal(self) -> bool:
        return bool(self.nvim.lua("return vim.b.agent_ide_terminal ~= nil"))

    def open_agent(self) -> None:
        """Start the CLI and leave the cursor in its terminal, in terminal mode."""
        self.nvim.command("ClaudeCodeOpen")
        self.cli.started()
        wait_until(lambda: self.nvim.mode() == "t", "terminal mode")

    def edit(self, name: str, text: str) -> Path:
        path = self.project / name
        path.write_text(text)
        self.nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))
        return path


@contextmanager
def bed(tmp_path: Path, options: dict[str, Any] | None = None, **start: Any) -> Iterator[Bed]:
    """A bed whose Claude server is up and which nobody is connected to."""
    cli = Cli(tmp_path)
    project = tmp_path / "project"
    project.mkdir()
    settings: dict[str, Any] = {"auto_start": False, **(options or {})}
    settings["claude"] = {"command": cli.command, **settings.get("claude", {})}
    with Neovim(tmp_path / "nvim", size=(100, 30), **start) as nvim:
        nvim.api.funcs.chdir(str(project))
        nvim.lua(RECORD_MESSAGES)
        nvim.lua("vim.g.agent_ide = ...", settings)
        nvim.play_host()
        nvim.command("runtime plugin/agent_ide.lua")
        push_status(nvim)
        yield Bed(nvim, cli, project)
