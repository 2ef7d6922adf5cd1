"""Which versions a run is about, and which an interpreter has.

Owns:     the head line of a run, reading versions.
Not here: which versions go together (pyproject.toml, scripts/matrix.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from scripts.matrix import CELL, Cell, cells, neovim_version, newest, oldest
from tests.support.neovim import find_nvim

__all__ = ["asked_cell", "expected_libraries", "libraries_of", "pytest_report_header"]

_READ = """
import importlib.metadata, json, sys
print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))
"""


def libraries_of(python: str) -> dict[str, str]:
    """The host's third parties as that interpreter finds them when it runs as the host does."""
    command = [python, "-I", "-c", _READ, *oldest()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def asked_cell() -> Cell | None:
    """The cell of the matrix that this run is; None: the pinned versions."""
    named = os.environ.get(CELL)
    return cells()[named] if named else None


def expected_libraries() -> dict[str, str]:
    cell = asked_cell()
    return dict(cell.libraries) if cell else newest()


def pytest_report_header() -> str:
    python = ".".join(map(str, sys.version_info[:3]))
    try:
        neovim = neovim_version(find_nvim())
    except FileNotFoundError:
        neovim = "none"
    found = {"Neovim": neovim, "Python": python, **libraries_of(sys.executable)}
    return "versions: " + ", ".join(f"{name} {version}" for name, version in found.items())
