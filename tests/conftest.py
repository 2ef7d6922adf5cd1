"""Fixtures that every kind of test may use; the helpers they hand out live in tests/support."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repo() -> Path:
    """The checkout under test."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A private folder whose path leaves room for a unix socket's; tmp_path's may not."""
    with tempfile.TemporaryDirectory(prefix="ai-") as folder:
        yield Path(folder)


@pytest.fixture
def scratch_env(tmp_path: Path) -> dict[str, str]:
    """The environment of this process with HOME, XDG_* and the agents' folders in tmp_path."""
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NVIM", "NVIM_APPNAME", "NVIM_LISTEN_ADDRESS", "VIRTUAL_ENV")
        and not key.startswith(("CLAUDE", "COPILOT", "XDG_"))
    }
    home = tmp_path / "home"
    runtime = tmp_path / "run"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    env["HOME"] = str(home)
    env["XDG_RUNTIME_DIR"] = str(runtime)
    for name in ("config", "data", "state", "cache"):
        env[f"XDG_{name.upper()}_HOME"] = str(tmp_path / name)
    return env
