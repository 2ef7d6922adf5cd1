"""Install with pip, also for a Python that came without it (Debian without python3-venv).

Owns:     finding a pip that can fill a venv which has none.
Not here: the venv (build.py). A pip that is fetched comes only from an index that was named.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from agent_ide_venv.job import (
    InstallError,
    Job,
    clean_env,
    packages_failed,
    run,
    source_options,
    without_password,
)

# Debian keeps the wheels of ensurepip apart from the module
PIP_WHEEL_DIRS = ("/usr/share/python-wheels",)
DOWNLOAD_SECONDS = 60


def bundled_pip() -> str | None:
    """The wheel of pip that ensurepip carries. It runs as it is, so the venv needs no pip."""
    folders = [*PIP_WHEEL_DIRS]
    with contextlib.suppress(ImportError):
        import ensurepip

        folders.insert(0, os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"))
    return newest_wheel(folders)


def newest_wheel(folders: Sequence[str]) -> str | None:
    for folder in folders:
        found = sorted(glob.glob(os.path.join(glob.escape(folder), "pip-*.whl")), key=version_key)
        if found:
            return found[-1]
    return None


def version_key(path: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", os.path.basename(path).split("-")[1])]


class Links(html.parser.HTMLParser):
    """The files that a package's page on an index lists."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.urls += [value for key, value in attrs if tag == "a" and key == "href" and value]


def fetch_pip(index: str, folder: str) -> str:
    """Fetch pip's wheel from the index that was named, for a Python that came without pip.

    Raises:
        InstallError: the index has none, or does not answer.
    """
    page = index.rstrip("/") + "/pip/"
    named = without_password(index)
    try:
        with urllib.request.urlopen(page, timeout=DOWNLOAD_SECONDS) as answer:
            links = Links()
            links.feed(answer.read().decode("utf-8", "replace"))
        wheels = [u for u in links.urls if re.search(r"/pip-[\d.]+-py3-none-any\.whl(#|$)", u)]
        if not wheels:
            raise InstallError(f"{named} holds no pip (option install_index)")
        best = max(wheels, key=lambda u: version_key(u.split("#")[0]))
        name = os.path.basename(best.split("#")[0])
        url = urllib.parse.urljoin(page, best)
        with urllib.request.urlopen(url, timeout=DOWNLOAD_SECONDS) as answer:
            data = answer.read()
    except OSError as error:
        raise InstallError(f"pip could not be fetched from {named}: {error}") from error
    digest = re.search(r"#sha256=([0-9a-f]{64})", best)
    if digest and hashlib.sha256(data).hexdigest() != digest[1]:
        raise InstallError(f"the pip that {named} gave is not the one it promised")
    path = os.path.join(folder, name)
    Path(path).write_bytes(data)
    return path


def pip_command(job: Job, python: Path, folder: str) -> list[str]:
    """How to run a pip that installs into `python`'s venv.

    Raises:
        InstallError: there is no pip on this machine and none can be fetched.
    """
    wheel = bundled_pip() or (newest_wheel([str(job.wheels)]) if job.wheels else None)
    index = job.index or os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_DEFAULT_INDEX")
    if not wheel and has_pip():
        return [sys.executable, "-m", "pip", "--python", str(python)]
    if not wheel and index:
        wheel = fetch_pip(index, folder)
    if not wheel:
        raise InstallError(
            f"{sys.executable} came without pip: install the package python3-venv (Debian, Ubuntu) "
            "or uv, then try again"
        )
    return [str(python), os.path.join(wheel, "pip")]


def has_pip() -> bool:
    command = [sys.executable, "-m", "pip", "--version"]
    return subprocess.run(command, capture_output=True, env=clean_env()).returncode == 0


def pip_install(job: Job, python: Path, listed: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = pip_command(job, python, folder)
        command += ["install", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--require-hashes", "-r", str(listed), *source_options(job)]
        run(job, command, packages_failed(job))
