"""What the host is told of the folders the user works in, client or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import Neovim


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "nvim") as nvim:
        nvim.play_host()
        nvim.lua("vim.cmd.cd(vim.fn.fnameescape(...))", str(tmp_path))
        yield nvim


def later(nvim: Neovim) -> None:
    """What was scheduled before this has run."""
    nvim.lua("vim.schedule(function() require('agent_ide.rpc').notify('later') end)")
    nvim.wait_event("later")


def test_folders_each_once_the_current_one_first(nvim: Neovim, tmp_path: Path) -> None:
    for name in ("repo/.git", "repo/src", "tab", "window"):
        (tmp_path / name).mkdir(parents=True)
    nvim.command("cd repo/src")
    nvim.lua("require('agent_ide.folders').watch()")
    src = str(tmp_path / "repo/src")
    assert nvim.named("folders") == [{"folders": [src, str(tmp_path / "repo")]}]
    nvim.command("split | lcd ../../window | wincmd p")
    nvim.command("tabnew | tcd ../../tab")
    wanted = [str(tmp_path / name) for name in ("tab", "repo/src", "window")]
    nvim.wait_event("folders", lambda p: p["folders"] == wanted)
    nvim.command("tabclose")
    wanted = [src, str(tmp_path / "window"), str(tmp_path / "repo")]
    nvim.wait_event("folders", lambda p: p["folders"] == wanted)


def test_folders_of_language_servers(nvim: Neovim, tmp_path: Path) -> None:
    (tmp_path / "lsp é").mkdir()
    nvim.lua("require('agent_ide.folders').watch()")
    nvim.lua(
        """
        local function server()
          return {
            request = function(_, _, done) done(nil, { capabilities = {} }) return true, 1 end,
            notify = function() return true end,
            is_closing = function() return false end,
            terminate = function() end,
          }
        end
        vim.lsp.start({ name = "fake", cmd = server, root_dir = ... })
        """,
        str(tmp_path / "lsp é"),
    )
    nvim.wait_event("folders", lambda p: str(tmp_path / "lsp é") in p["folders"])


def test_nothing_new_is_not_repeated(nvim: Neovim) -> None:
    nvim.lua("require('agent_ide.folders').watch()")
    nvim.wait_event("folders")
    nvim.command("cd .")
    nvim.command("split | close | tabnew | tabclose")
    later(nvim)
    assert len(nvim.named("folders")) == 1


def test_nothing_after_the_host_has_gone(nvim: Neovim) -> None:
    nvim.lua("require('agent_ide.folders').watch()")
    nvim.wait_event("folders")
    nvim.lua("require('agent_ide.folders').unwatch()")
    nvim.command("cd /")
    later(nvim)
    assert len(nvim.named("folders")) == 1
