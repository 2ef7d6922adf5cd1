"""A folder with the wheels of requirements.lock, fetched once and kept in the developers' cache.

Owns:     that folder.
Not here: what is installed from it (tests/lua/test_install.py).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent_ide_venv.with_pip import bundled_pip

from .neovim import REPO

__all__ = ["base_python", "pip_wheel", "wheel_folder"]

LOCK = REPO / "requirements.lock"


def base_python() -> str:
    """The Python that this venv was made from."""
    return os.path.realpath(sys.executable)


def pip_wheel() -> Path:
    """The wheel of pip that this Python carries."""
    found = bundled_pip()
    assert found, "this Python has no ensurepip"
    return Path(found)


def _cache() -> Path:
    named = os.environ.get("AGENT_IDE_DEV_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent_ide-dev"


def wheel_folder() -> Path:
    """Fetch the wheels unless they are there.

    Raises:
        AssertionError: pip could not fetch them; its words are the message.
    """
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = _cache() / "wheels" / f"{python}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".wheels-", dir=folder.parent))
    command = [sys.executable, str(pip_wheel() / "pip"), "download", "--quiet", "--dest"]
    command += [str(fresh), "--only-binary", ":all:", "--require-hashes", "-r", str(LOCK)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    try:
        fresh.rename(folder)
    except OSError:
        # another run was faster
        shutil.rmtree(fresh)
    return folder
