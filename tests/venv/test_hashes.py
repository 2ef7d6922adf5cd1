"""What the builder installs is what the lock file names, to the byte: with pip and with uv.

No index and no network: a folder of wheels that are made here, and tampered with.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.neovim import REPO
from tests.support.wheels import base_python

TOOLS = ("pip", "uv")


def make_wheel(folder: Path, code: str, requires: str = "") -> Path:
    """A wheel of the package `one`, whose own list of hashes is right."""
    meta = "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n"
    meta += f"Requires-Dist: {requires}\n" if requires else ""
    tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {"one.py": code, "one-1.0.dist-info/METADATA": meta, "one-1.0.dist-info/WHEEL": tag}
    listed = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        listed += f"{name},sha256={digest.decode()},{len(text)}\n"
    path = folder / "one-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr("one-1.0.dist-info/RECORD", listed + "one-1.0.dist-info/RECORD,,\n")
    return path


class Builder:
    """A folder with wheels, a lock file, and a PATH on which there is uv or nothing."""

    def __init__(self, folder: Path, tool: str) -> None:
        self.wheels = folder / "wheels"
        self.bin = folder / "bin"
        self.venv = folder / "venv"
        self.lock = folder / "requirements.lock"
        self.log = folder / "log"
        self._builds = 0
        for path in (self.wheels, self.bin):
            path.mkdir()
        if tool == "uv":
            uv = shutil.which("uv", path=f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}")
            assert uv, "make deps-dev installs uv"
            (self.bin / "uv").symlink_to(uv)

    def pin(self, wheel: Path) -> None:
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        self.lock.write_text(f"one==1.0 \\\n    --hash=sha256:{digest}\n")

    def build(self, **env: str) -> tuple[int, str]:
        """Exit code and last line of a build. uv finds nothing in its cache."""
        self._builds += 1
        command = [base_python(), "-I", str(REPO / "scripts/make_venv.py"), str(self.venv)]
        command += ["--lock", str(self.lock), "--wheels", str(self.wheels), "--only", "one"]
        cache = str(self.log.with_name(f"cache-{self._builds}"))
        done = subprocess.run(
            [*command, "--log", str(self.log)],
            env={**os.environ, "PATH": str(self.bin), "UV_CACHE_DIR": cache, **env},
            capture_output=True,
            text=True,
        )
        return done.returncode, (done.stdout.splitlines() or [done.stderr])[-1]

    def installed(self) -> str:
        """What the package in the venv says; empty: there is none."""
        python = self.venv / "bin/python"
        if not python.exists():
            return ""
        command = [python, "-I", "-c", "import one; print(one.SAYS)"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    def refused(self, **env: str) -> bool:
        code, said = self.build(**env)
        assert said.startswith("error the packages could not be installed"), self.log.read_text()
        return code == 1


@pytest.fixture(params=TOOLS)
def builder(request: pytest.FixtureRequest, tmp_path: Path) -> Builder:
    return Builder(tmp_path, request.param)


def test_what_is_pinned_is_installed(builder: Builder) -> None:
    builder.pin(make_wheel(builder.wheels, "SAYS = 'good'\n"))
    code, said = builder.build()
    assert code == 0, said
    assert builder.installed() == "good"


def test_another_file_under_the_same_name_is_refused(builder: Builder) -> None:
    builder.pin(make_wheel(builder.wheels, "SAYS = 'good'\n"))
    assert builder.build()[0] == 0
    # other pins, so that it is built anew, and the venv that there is must stay
    make_wheel(builder.wheels, "SAYS = 'evil'\n")
    builder.lock.write_text("# newer\n" + builder.lock.read_text())
    # a user's own setting for other projects does not open ours
    assert builder.refused(UV_NO_VERIFY_HASHES="1", PIP_REQUIRE_HASHES="0")
    assert builder.installed() == "good"


def test_a_pin_without_a_hash_is_refused(builder: Builder) -> None:
    make_wheel(builder.wheels, "SAYS = 'good'\n")
    builder.lock.write_text("one==1.0\n")
    assert builder.refused()
    assert builder.installed() == ""


def test_a_dependency_that_is_not_pinned_is_refused(builder: Builder) -> None:
    builder.pin(make_wheel(builder.wheels, "SAYS = 'good'\n", requires="two"))
    two = make_wheel(builder.wheels, "SAYS = 'stowaway'\n")
    two.rename(builder.wheels / "two-1.0-py3-none-any.whl")
    builder.pin(make_wheel(builder.wheels, "SAYS = 'good'\n", requires="two"))
    assert builder.refused()
    assert builder.installed() == ""
