"""What is asked for, and how a tool is run for it.

Owns:     the job, the entries of the lock file, the log of the tools' output.
Not here: which tool (build.py), pip's own ways (with_pip.py).
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


class InstallError(Exception):
    """One line for the user: what failed and how to cure it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for on the command line."""

    target: Path
    lock: Path
    wheels: Path | None
    """A folder of wheels: nothing is fetched then."""
    index: str | None
    """A package index instead of the tool's own default."""
    only: tuple[str, ...]
    """Names in the lock to install; empty: all of them."""
    without: tuple[str, ...]
    """Names in the lock to leave out."""
    in_place: bool
    """Add to a venv that works, instead of building one beside it."""
    log: Path


def step(text: str) -> None:
    print("step", text, flush=True)


def run(job: Job, command: Sequence[str], failed: str) -> None:
    """Run a command with its output in the log.

    Raises:
        InstallError: it ended with another code than 0; `failed` says what that means.
    """
    with job.log.open("a", encoding="utf-8") as log:
        log.write(f"$ {without_password(' '.join(command))}\n")
        log.flush()
        try:
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_env()
            ).returncode
        except OSError as error:
            log.write(f"{error}\n")
            code = 127
    if code != 0:
        raise InstallError(failed)


def clean_env() -> dict[str, str]:
    """The environment without what would send the packages somewhere else."""
    drop = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"}
    drop |= {"PIP_REQUIRE_VIRTUALENV", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON"}
    return {key: value for key, value in os.environ.items() if key not in drop}


def without_password(text: str) -> str:
    """An index's address may carry a password; the log and the messages do not."""
    return re.sub(r"//[^/@\s]+@", "//***@", text)


def chosen(lock: str, only: Sequence[str], without: Sequence[str]) -> str:
    """The entries of a lock file that are wanted, hashes included."""
    entries = re.findall(r"(?m)^[A-Za-z0-9].*(?:\n[ \t]+.*)*", lock)
    named = {re.split(r"[=\s]", entry, maxsplit=1)[0]: entry for entry in entries}
    missing = {*only, *without} - named.keys()
    if missing:
        raise InstallError(f"the lock file does not hold {', '.join(sorted(missing))}")
    wanted = (set(only) or named.keys()) - set(without)
    return "".join(f"{entry}\n" for name, entry in named.items() if name in wanted)


@contextlib.contextmanager
def requirements(job: Job) -> Iterator[Path]:
    """A requirements file with the wanted entries."""
    if not (job.only or job.without):
        yield job.lock
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "requirements.txt")
        lock = job.lock.read_text(encoding="utf-8")
        path.write_text(chosen(lock, job.only, job.without), encoding="utf-8")
        yield path


def source_options(job: Job) -> list[str]:
    """Where the packages come from; pip and uv call these options the same."""
    options: list[str] = []
    if job.wheels:
        options += ["--no-index", "--find-links", str(job.wheels)]
    if job.index:
        options += ["--index-url", job.index]
    return options


def packages_failed(job: Job) -> str:
    """What it means for the user that the packages could not be installed."""
    if job.wheels:
        where = f"the wheel folder {job.wheels} (option install_wheels)"
        return f"the packages could not be installed from {where}: one is missing or differs"
    if job.index:
        where = f"{without_password(job.index)} (option install_index)"
        return f"the packages could not be fetched from {where}"
    return (
        "the packages could not be fetched: is this machine online? "
        "(options install_index and install_wheels name another source)"
    )
