"""The :help: its tags are valid, its links lead somewhere, nothing is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import REPO, Neovim

HELP = REPO / "doc/agent_ide.txt"

FAMILIES = ("ClaudeCode", "CopilotCli", "GeminiCli", "QwenCode", "AgentIde")


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "nvim") as nvim:
        yield nvim


def own_tags(nvim: Neovim, folder: Path) -> set[str]:
    """Tags as :helptags makes them; it fails on a doubled one."""
    folder.mkdir()
    shutil.copy(HELP, folder)
    nvim.api.funcs.execute(f"helptags {folder}", "")
    lines = (folder / "tags").read_text().splitlines()
    return {line.split("\t")[0] for line in lines}


def test_every_link_leads_to_a_tag(nvim: Neovim, tmp_path: Path) -> None:
    tags = own_tags(nvim, tmp_path / "doc")
    links = set(re.findall(r"\|([^|\s]+)\|", HELP.read_text()))
    assert len(links) > 40
    for link in sorted(links - tags):
        assert link in nvim.api.funcs.getcompletion(link, "help"), f"no tag {link}"


def test_every_command_map_and_subcommand_has_a_tag(nvim: Neovim, tmp_path: Path) -> None:
    tags = own_tags(nvim, tmp_path / "doc")
    nvim.command("let g:agent_ide = {'auto_start': v:false}")
    nvim.command("runtime plugin/agent_ide.lua")
    commands = [name for name in nvim.api.api.get_commands({}) if name.startswith(FAMILIES)]
    assert len(commands) >= 28
    assert {f":{name}" for name in commands} <= tags
    subcommands = nvim.api.funcs.getcompletion("AgentIde ", "cmdline")
    assert len(subcommands) >= 13
    assert {f":AgentIde-{name}" for name in subcommands} <= tags
    maps = [found["lhs"] for found in nvim.api.api.get_keymap("n")]
    prefixes = tuple(f"<Plug>({family}" for family in FAMILIES)
    ours = [lhs for lhs in maps if lhs.startswith(prefixes)]
    assert len(ours) >= 19
    assert set(ours) <= tags


def test_lines_fit_the_help_window() -> None:
    long = [line for line in HELP.read_text().splitlines() if len(line) > 79]
    assert long == []


def test_the_pictures_are_what_neovim_shows(nvim: Neovim) -> None:
    """Colours and wording of the screen are those of one Neovim, the pinned one."""
    if nvim.lua("return vim.fn.has('nvim-0.11') == 0 or vim.fn.has('nvim-0.12') == 1"):
        pytest.skip("the pictures are drawn with Neovim 0.11")
    command = [sys.executable, str(REPO / "scripts/pictures.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
