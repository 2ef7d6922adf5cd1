"""Run the tests with other Neovims, third parties and CLIs than the pinned ones.

    scripts/matrix.py                    every cell, then the e2e tests with an old Claude Code
    scripts/matrix.py 0.10.4             one cell; `claude` is the last one
    scripts/matrix.py 0.10.4 -- -k diff  what follows goes to pytest; tests replace the cell's
    scripts/matrix.py --again            what failed in a cell is tried once more, in the open

Owns:     a venv for each cell, in the developers' cache, and how the tests run in it.
Not here: the cells and which tests they run (pyproject.toml, [tool.agent_ide.matrix]), whether the
          host really has those versions (tests/test_versions.py).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from fetch_cli import VERSIONS, cache_dir  # noqa: E402

CELL = "AGENT_IDE_MATRIX"
"""Names the cell to the tests, which hold the host to its versions."""

LOCK = ROOT / "requirements.lock"
DEV_LOCK = ROOT / "requirements-dev.lock"
UV = ROOT / ".venv/bin/uv"

FAILED = 1
"""pytest's code for tests that failed; others say that the run itself went wrong."""


class MatrixError(Exception):
    """One line that says what is missing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """neovim: its version; libraries: the exact version of each of the host's third parties."""

    neovim: str
    libraries: Mapping[str, str]

    @property
    def series(self) -> str:
        return self.neovim.rpartition(".")[0]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared() -> dict[str, Any]:
    """The table [tool.agent_ide.matrix]."""
    found: dict[str, Any] = project()["tool"]["agent_ide"]["matrix"]
    return found


def oldest() -> dict[str, str]:
    """The floors of the project's dependencies."""
    found = (re.fullmatch(r"([\w.-]+)>=([\w.]+)", item) for item in dependencies())
    return {match[1]: match[2] for match in found if match}


def dependencies() -> list[str]:
    return list(project()["project"]["dependencies"])


def newest() -> dict[str, str]:
    """The pins, which `make lock` renews."""
    pins = re.findall(r"(?m)^([\w.-]+)==([\w.]+)", LOCK.read_text(encoding="utf-8"))
    return {name: version for name, version in pins if name in oldest()}


def cells() -> dict[str, Cell]:
    """All cells by the version of their Neovim."""
    versions = {"oldest": oldest(), "newest": newest()}
    return {
        neovim: Cell(neovim, {name: versions[which][name] for name, which in chosen.items()})
        for neovim, chosen in declared()["cells"].items()
    }


# -- what a cell needs -----------------------------------------------------------------------------


def check(command: Sequence[str | Path], failed: str) -> str:
    """Run a command that must succeed; its output.

    Raises:
        MatrixError: it did not; its own words are on stderr.
    """
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise MatrixError(failed)
    return done.stdout.strip()


def pins(cell: Cell, folder: Path) -> Path:
    """Pins of all that the tests need: the dev lock's wherever the cell's libraries allow them."""
    cells_own = folder / "cell.txt"
    cells_own.write_text("".join(f"{n}=={v}\n" for n, v in cell.libraries.items()))
    listed = folder / "requirements.txt"
    # uv keeps the pins that the output file holds already
    shutil.copy(DEV_LOCK, listed)
    command: list[str | Path] = [UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    command += ["--python", python_for_venvs()[0], ROOT / "pyproject.toml", "--extra", "dev"]
    command += ["--extra", "notebook", "--constraint", cells_own, "--output-file", listed]
    check(command, f"these versions do not go together: {dict(cell.libraries)}")
    return listed


def python_for_venvs() -> tuple[str, str]:
    """What uv calls the Python to use, and its version: this one, unless it is too new."""
    last = declared()["newest_python"]
    if sys.version_info[:2] > tuple(map(int, last.split("."))):
        return last, last
    return os.path.realpath(sys.executable), ".".join(map(str, sys.version_info[:2]))


def python_of(cell: Cell) -> Path:
    """The interpreter of the cell's venv, which is built unless it is there."""
    base, version = python_for_venvs()
    tools = hashlib.sha256(DEV_LOCK.read_bytes()).hexdigest()[:8]
    libraries = [f"{name}{number}" for name, number in cell.libraries.items()]
    venv = cache_dir() / "matrix" / "-".join([f"py{version}", *libraries, tools])
    if venv.is_dir():
        return venv / "bin/python"
    print(f"building {venv}", file=sys.stderr, flush=True)
    venv.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=venv.parent) as folder:
        fresh = Path(folder) / "venv"
        check([UV, "venv", "--quiet", "--python", base, fresh], "no venv could be made")
        install: list[str | Path] = [UV, "pip", "install", "--quiet", "--python"]
        # no compiler: a library that has no wheel for this Python is not in the matrix
        install += [fresh / "bin/python", "--only-binary=:all:", "-r", pins(cell, Path(folder))]
        check(install, f"these could not be installed: {dict(cell.libraries)}")
        fresh.rename(venv)
    return venv / "bin/python"


def nvim_of(cell: Cell) -> Path:
    nvim = Path(
        check(
            [ROOT / "scripts/fetch-neovim", cell.series],
            f"there is no Neovim {cell.series}: scripts/fetch-neovim says why",
        )
    )
    found = neovim_version(nvim)
    if found != cell.neovim:
        print(f"NOTE: this is Neovim {found}, pyproject.toml says {cell.neovim}", flush=True)
    return nvim


def neovim_version(nvim: Path | str) -> str:
    shown = subprocess.run([nvim, "--version"], capture_output=True, text=True, check=True).stdout
    return shown.splitlines()[0].removeprefix("NVIM v")


# -- running ---------------------------------------------------------------------------------------


def chosen(tests: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(more) if any(item.startswith("tests/") for item in more) else [*tests, *more]


def run_tests(
    name: str, python: str | Path, arguments: Sequence[str], env: Mapping[str, str], *, again: bool
) -> bool:
    """Run pytest; whether all is well in the end. Each cell remembers by itself what failed."""
    command = [python, "-m", "pytest", "-n", "2", "--dist", "loadfile", *arguments]
    command += ["-o", f"cache_dir={ROOT / 'build/matrix' / name}"]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}).returncode
    if code == FAILED and again:
        print(f"--- {name}: once more, what failed", flush=True)
        code = subprocess.run([*command, "--lf"], cwd=ROOT, env={**os.environ, **env}).returncode
    return code == 0


def run_cell(cell: Cell, more: Sequence[str], *, again: bool) -> bool:
    python = python_of(cell)
    env = {CELL: cell.neovim, "NVIM": str(nvim_of(cell))}
    return run_tests(cell.neovim, python, chosen(declared()["tests"], more), env, again=again)


def run_old_claude(more: Sequence[str], *, again: bool) -> bool:
    table = declared()["claude"]
    env = {VERSIONS: f"claude={table['version']}"}
    fetch = subprocess.run(
        [sys.executable, ROOT / "scripts/fetch_cli.py", "claude"],
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
    )
    if fetch.returncode != 0:
        raise MatrixError(f"there is no Claude Code {table['version']}")
    return run_tests("claude", sys.executable, chosen(table["tests"], more), env, again=again)


def main(argv: Sequence[str]) -> int:
    named = list(cells())
    parser = argparse.ArgumentParser(description="Run the tests with other versions.")
    parser.add_argument("cell", nargs="?", choices=[*named, "claude"], help="default: all")
    parser.add_argument("--again", action="store_true", help="try once more what failed")
    split = argv.index("--") if "--" in argv else len(argv)
    asked, more = parser.parse_args(argv[:split]), argv[split + 1 :]
    failed = []
    for name in [asked.cell] if asked.cell else [*named, "claude"]:
        print(f"--- matrix: {name}", flush=True)
        start = time.monotonic()
        try:
            if name == "claude":
                ok = run_old_claude(more, again=asked.again)
            else:
                ok = run_cell(cells()[name], more, again=asked.again)
        except MatrixError as error:
            print(error, file=sys.stderr)
            ok = False
        print(f"--- matrix: {name}: {time.monotonic() - start:.0f} s", flush=True)
        if not ok:
            failed.append(name)
    if failed:
        print(f"matrix: failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
