"""The host runs on the versions that a run claims; the matrix covers what we promise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts.matrix import cells, declared, dependencies, neovim_version, newest, oldest
from tests.e2e.editor import Editor
from tests.support.neovim import Neovim, find_nvim, wait_until
from tests.support.versions import asked_cell, expected_libraries, libraries_of

INFO = """
-- Neovim listens before it has read what scripts/nvim tells it
local ok, host = pcall(require, "agent_ide.host")
return ok and host.info() or {}
"""


def interpreter_of(pid: int) -> str:
    """The interpreter that a process was started with, as it was spelled: a venv's is a link."""
    command_line = Path(f"/proc/{pid}/cmdline")
    if not command_line.exists():
        pytest.skip("there is no /proc here")
    return os.fsdecode(command_line.read_bytes().split(b"\0")[0])


def loaded_from(pid: int) -> set[Path]:
    """The site-packages that a process has loaded native modules from."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    paths = {Path(line.split(maxsplit=5)[5]) for line in lines if line.endswith(".so")}
    folders = {parent for path in paths for parent in path.parents}
    return {folder for folder in folders if folder.name == "site-packages"}


class TestTheHost:
    """Whatever way a test starts it: by the option `python`, or by scripts/nvim."""

    def check(self, pid: int) -> None:
        assert libraries_of(interpreter_of(pid)) == expected_libraries()
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        ours = Path(sys.prefix).resolve() / "lib" / version / "site-packages"
        assert {folder.resolve() for folder in loaded_from(pid)} == {ours}

    def test_of_an_embedded_neovim(self, tmp_path: Path) -> None:
        options = f"lua vim.g.agent_ide = {{ python = {sys.executable!r} }}"
        with Neovim(tmp_path, args=["--cmd", options], plugin=True) as nvim:
            wait_until(lambda: "version" in nvim.lua(INFO), "the host's hello", 20)
            self.check(nvim.lua(INFO)["pid"])

    def test_of_scripts_nvim(self, short_folder: Path) -> None:
        with Editor(short_folder.resolve(), short_folder) as editor:
            # a table without members comes as a list
            wait_until(lambda: "version" in editor.lua(INFO), "the host's hello", 20)
            self.check(editor.lua(INFO)["pid"])


def test_this_run_is_what_it_claims_to_be() -> None:
    """The hosts in this process, and the Neovim."""
    assert libraries_of(sys.executable) == expected_libraries()
    cell = asked_cell()
    if cell:
        found = neovim_version(find_nvim())
        assert found.startswith(f"{cell.series}.")
        # Debian may have moved on within the series: scripts/matrix.py says so
        assert int(found.split(".")[2].split("-")[0]) >= int(cell.neovim.split(".")[2])


def test_the_oldest_and_the_newest_of_each_library_occur() -> None:
    found = cells().values()
    for name in oldest():
        occurring = {cell.libraries[name] for cell in found}
        assert occurring >= {oldest()[name], newest()[name]}, name


def test_every_dependency_has_a_floor_and_is_in_every_cell() -> None:
    assert len(oldest()) == len(dependencies()) == len(newest()) == 4
    assert all(set(cell.libraries) == set(oldest()) for cell in cells().values())


def test_the_oldest_neovim_of_the_matrix_is_the_oldest_that_is_promised(repo: Path) -> None:
    first = min(cells().values(), key=lambda cell: [int(n) for n in cell.neovim.split(".")])
    health = (repo / "lua/agent_ide/health.lua").read_text()
    assert f"needs Neovim {first.series} or newer" in health


def test_what_the_matrix_runs_exists(repo: Path) -> None:
    named = [*declared()["tests"], *declared()["claude"]["tests"]]
    paths = [item.removeprefix("--ignore=") for item in named if "tests/" in item]
    assert [path for path in paths if not (repo / path).exists()] == []
