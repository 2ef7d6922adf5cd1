"""What `make bench` leaves behind: build/bench.json, with the machine's facts.

Owns:     the JSON's shape.
Not here: the table (table.py), what is measured (the parts).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.table import Row

__all__ = ["REPO", "machine", "rows_of", "rows_to_json", "write"]

REPO = Path(__file__).resolve().parent.parent


def machine() -> dict[str, Any]:
    """What figures of two machines, or of two hours on one, differ by."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "neovim": _neovim(),
        **{name: version(name) for name in ("pynvim", "websockets", "aiohttp", "msgspec")},
        "commit": _said_by("git", "rev-parse", "--short", "HEAD"),
    }


def _neovim() -> str:
    nvim = _said_by(str(REPO / "scripts" / "find-nvim"))
    return _said_by(nvim, "--version").removeprefix("NVIM ") if nvim else ""


def _said_by(*command: str) -> str:
    """The first line; empty where the command is not to be had."""
    try:
        said = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said.stdout.partition("\n")[0].strip()


def rows_to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{**asdict(row), "holds": row.holds} for row in rows]


def rows_of(entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What `rows_to_json` has written."""
    return [Row(**{key: entry[key] for key in Row.__slots__}) for entry in entries]


def write(
    path: Path, rows: Sequence[Row], facts: Mapping[str, Any], errors: Mapping[str, str]
) -> None:
    content = {"machine": facts, "rows": rows_to_json(rows), "errors": errors}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
