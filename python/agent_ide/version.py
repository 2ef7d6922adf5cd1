"""The plugin's version, which lives in pyproject.toml only."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

__all__ = ["read"]


@functools.cache
def read() -> str:
    """Such as "0.1.0"."""
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    with pyproject.open("rb") as source:
        return str(tomllib.load(source)["project"]["version"])
