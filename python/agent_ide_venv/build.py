"""Build a venv beside its place, then swap it in.

Owns:     which tool builds it (uv, else pip), the swap, the stamp, one build at a time.
Not here: when to build (lua/agent_ide/install.lua for users, the Makefile for a checkout).
Above:    scripts/make_venv.py runs it; `step TEXT` lines tell how far it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from agent_ide_venv.job import (
    InstallError,
    Job,
    packages_failed,
    requirements,
    run,
    source_options,
    step,
)
from agent_ide_venv.with_pip import pip_install

STAMP = "agent_ide.json"
CHECK = "import pynvim, websockets, aiohttp, msgspec"


def uv_install(job: Job, uv: str, python: Path, listed: Path) -> None:
    command = [uv, "pip", "install", "--python", str(python), "--compile-bytecode", "--quiet"]
    command += ["--require-hashes", "-r", str(listed), *source_options(job)]
    run(job, command, packages_failed(job))


def uv_venv(job: Job, uv: str, folder: Path) -> bool:
    """Make an empty venv; False when this uv cannot (too old, or broken)."""
    try:
        run(job, [uv, "venv", "--quiet", "--python", sys.executable, str(folder)], "uv venv")
    except InstallError:
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


def runs(python: Path, code: str) -> bool:
    try:
        return subprocess.run([python, "-I", "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def fill(job: Job, folder: Path) -> None:
    """Make `folder` a venv, unless it is one, and put the packages there."""
    python = folder / "bin" / "python"
    uv = shutil.which("uv")
    if not (job.in_place and runs(python, "")):
        step("creating the environment")
        shutil.rmtree(folder, ignore_errors=True)
        if not (uv and uv_venv(job, uv, folder)):
            uv = None
            venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    step(f"installing {', '.join(job.only) or 'the packages'} with {'uv' if uv else 'pip'}")
    with requirements(job) as listed:
        if uv:
            uv_install(job, uv, python, listed)
        else:
            pip_install(job, python, listed)
    if not job.only:
        step("checking that they load")
        run(job, [str(python), "-I", "-c", CHECK], "the installed packages do not load")


def stamp(job: Job, python: Path) -> dict[str, str]:
    """What lua/agent_ide/install.lua compares to tell whether the venv is what it should be."""
    return {
        "file": job.lock.name,
        "lock": hashlib.sha256(job.lock.read_bytes()).hexdigest(),
        "python": os.path.realpath(python),
    }


def current(job: Job) -> bool:
    """Did another one build what we are about to build?"""
    python = job.target / "bin" / "python"
    try:
        found = json.loads((job.target / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(found == stamp(job, python)) and runs(python, CHECK)


def beside(job: Job, what: str) -> str:
    return str(job.target.with_name(f"{job.target.name}.{what}-"))


def swap_in(job: Job) -> None:
    """Build beside the target and swap: a venv that is half there is never seen."""
    for kind in ("new", "old"):
        # what a build that was killed has left; nobody else builds, we hold the lock
        for left in glob.glob(glob.escape(beside(job, kind)) + "*"):
            shutil.rmtree(left, ignore_errors=True)
    fresh = Path(beside(job, "new") + str(os.getpid()))
    old = Path(beside(job, "old") + str(os.getpid()))
    try:
        fill(job, fresh)
        content = json.dumps(stamp(job, fresh / "bin" / "python"))
        (fresh / STAMP).write_text(content, encoding="utf-8")
        if job.target.exists():
            job.target.rename(old)
        fresh.rename(job.target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def exclusive(job: Job) -> Iterator[None]:
    """One build of a target at a time. The kernel frees the lock when we die."""
    path = job.target.with_name(f"{job.target.name}.lock")
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            step("waiting for another Neovim that is installing")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build(job: Job) -> None:
    """Build what the job names, or find that it is there already.

    Raises:
        InstallError: with one line for the user; nothing half-built stays.
    """
    try:
        job.target.parent.mkdir(parents=True, exist_ok=True)
        job.log.parent.mkdir(parents=True, exist_ok=True)
        job.log.touch(mode=0o600)
        with exclusive(job):
            if job.in_place:
                fill(job, job.target)
            elif current(job):
                print("ready the packages are there", flush=True)
            else:
                swap_in(job)
    except OSError as error:
        # a full disk, a folder that may not be written
        raise InstallError(str(error)) from error
