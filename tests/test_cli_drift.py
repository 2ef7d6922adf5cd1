"""`make cli-drift` tells a broken fact from one that holds, and misses none."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.cli_drift import Result, results, told
from tests.support.neovim import REPO

RUN = """
import pytest

@pytest.fixture(autouse=True)
def about(request, record_property):
    record_property("agents", "claude copilot" if "both" in request.node.name else "claude")
    record_property("fact", request.function.__doc__)

def test_holds():
    "It connects."

def test_both_broken():
    "It closes."
    assert 1 == 2, "no close_tab"

def test_not_tried():
    "It mentions."
    pytest.skip("no claude to run")
"""


@pytest.fixture
def found(tmp_path: Path) -> list[Result]:
    """What a real run of pytest reports."""
    (tmp_path / "test_it.py").write_text(RUN)
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=it.xml", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    return list(results(tmp_path / "it.xml"))


def test_the_report_groups_what_is_broken_by_the_cli(found: list[Result]) -> None:
    text, good = told(found, {"claude": ("1.0", "2.0"), "copilot": ("3.0", "3.0")})
    assert text.splitlines() == [
        "claude 1.0 -> 2.0",
        "  1 of 3 tests hold their facts",
        "  BROKEN: It closes.",
        "    test_it.py::test_both_broken",
        "    AssertionError: no close_tab",
        "  NOT TRIED: It mentions.",
        "    test_it.py::test_not_tried",
        "    no claude to run",
        "copilot 3.0 -> 3.0 (the pinned one)",
        "  0 of 1 tests hold their facts",
        "  BROKEN: It closes.",
        "    test_it.py::test_both_broken",
        "    AssertionError: no close_tab",
    ]
    assert not good


def test_it_is_good_only_when_every_cli_was_tried(found: list[Result]) -> None:
    holds = [result for result in found if not result.reason]
    assert [result.fact for result in holds] == ["It connects."]
    assert told(holds, {"claude": ("1", "1")})[1]
    assert not told(holds, {"claude": ("1", "1"), "qwen": ("1", "1")})[1]


def test_every_test_with_a_real_cli_says_its_fact() -> None:
    silent = [
        f"{path.name}::{node.name}"
        for path in sorted((REPO / "tests/e2e").glob("test_*.py"))
        # those mostly run no agent's CLI
        if path.name not in ("test_bed.py", "test_conformance.py", "test_demo.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if not ast.get_docstring(node)
    ]
    assert silent == []
