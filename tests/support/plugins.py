"""Other people's Neovim plugins, as they are published, for tests that stand on the real one.

Owns:     a cache folder with the wheels that carry them.
Not here: which versions (pyproject.toml, [tool.agent_ide.wheels]).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from .neovim import REPO, Neovim

__all__ = ["use_plugins"]

FOLDERS = {
    "nvim-zsh-profile": "nvim_zsh_profile/assets/nvim-lazy",
    "retronvim": "data/nvim/plugins",
}
CARRIERS = {"mini.nvim": "retronvim"}
"""Plugins that another wheel than the first carries."""


def cache_dir() -> Path:
    named = os.environ.get("AGENT_IDE_DEV_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(named) if named else Path(base) / "agent_ide-dev") / "plugins"


def installer() -> list[str]:
    """A venv made by uv has no pip."""
    uv = Path(sys.prefix) / "bin/uv"
    if uv.exists():
        return [str(uv), "pip", "install", "--quiet", "--no-deps", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]


def fetch(carrier: str) -> Path:
    """The folder that holds the plugins of one wheel, fetched unless it is there."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    version = project["tool"]["agent_ide"]["wheels"][carrier]
    folder = cache_dir() / f"{carrier}-{version}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        subprocess.run(
            [*installer(), "--target", str(fresh / "all"), f"{carrier}=={version}"],
            check=True,
            capture_output=True,
            timeout=120,
        )
        try:
            (fresh / "all" / FOLDERS[carrier]).rename(folder)
        except OSError:
            if not folder.exists():  # else another one was faster
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder


def use_plugins(nvim: Neovim, *names: str) -> None:
    """Put plugins on 'runtimepath'; the test is skipped where they cannot be had."""
    for name in names:
        carrier = CARRIERS.get(name, "nvim-zsh-profile")
        try:
            folder = fetch(carrier)
        except (OSError, subprocess.SubprocessError) as error:
            reason = f"{name}: the wheel {carrier} cannot be fetched ({error})"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)
        nvim.lua("vim.opt.runtimepath:append(...)", str(folder / name))
