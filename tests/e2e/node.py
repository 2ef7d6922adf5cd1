"""The Node that runs what comes from npm as scripts.

Owns:     finding one that is new enough.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess

from scripts.fetch_cli import bundled_node

__all__ = ["find_node"]


@functools.cache
def find_node(oldest: int) -> str | None:
    """The Node on PATH, or the one that `scripts/venv node` has put into the venv."""
    bundled = bundled_node()
    for candidate in (shutil.which("node"), str(bundled / "bin/node") if bundled else None):
        if candidate is None:
            continue
        shown = subprocess.run([candidate, "--version"], capture_output=True, text=True).stdout
        version = re.match(r"v(\d+)", shown)
        if version and int(version[1]) >= oldest:
            return candidate
    return None
