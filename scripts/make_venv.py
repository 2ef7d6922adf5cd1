"""Build a venv with the locked third parties: the entry for the Makefile and the plugin.

Run by a bare Python >= 3.11. Prints `step TEXT` lines as it goes, and when it fails
`error TEXT` as its last line and ends with code 1.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from agent_ide_venv.build import build
from agent_ide_venv.job import InstallError, Job


def parse(argv: Sequence[str]) -> Job:
    parser = argparse.ArgumentParser(description="Build a venv with the locked third parties.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--index")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--in-place", action="store_true")
    parser.add_argument("--log", type=Path, default=Path(os.devnull))
    found = parser.parse_args(argv)
    return Job(
        # absolute, not resolved: a data folder behind a symlink stays spelled as the user has it
        target=found.target.absolute(),
        lock=found.lock,
        wheels=found.wheels,
        index=found.index,
        only=tuple(found.only),
        without=tuple(found.without),
        in_place=found.in_place,
        log=found.log,
    )


def stop(number: int, frame: object) -> None:
    """Neovim ends, or its terminal is gone: unwind, so that what is half-built is removed."""
    sys.exit(128 + number)


def main(argv: Sequence[str]) -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        build(parse(argv))
    except InstallError as error:
        print("error", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
