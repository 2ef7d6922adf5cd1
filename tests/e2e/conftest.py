"""Fixtures of the end-to-end tests, and what happens when a CLI cannot be had."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.bed import Bed
from tests.e2e.claude import claude_binary
from tests.e2e.companion import companion_command
from tests.e2e.conformance import conformance_suite
from tests.e2e.copilot import copilot_binary
from tests.e2e.model import Model

NEEDED = {
    "claude": claude_binary,
    "copilot": copilot_binary,
    "gemini": partial(companion_command, "gemini"),
    "qwen": partial(companion_command, "qwen"),
    "conformance": conformance_suite,
}


def needed_by(item: pytest.Item) -> tuple[str, ...]:
    """What the test runs from npm."""
    marker = item.get_closest_marker("cli")
    return (marker.args or ("claude",)) if marker is not None else ()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell scripts/cli_drift.py which fact about which CLI a test holds; -k finds it by the CLI."""
    for item in items:
        needed = needed_by(item)
        if needed:
            item.extra_keyword_matches.update(needed)
            fact = (item.function.__doc__ or "").strip().partition("\n")[0]
            item.user_properties += [("agents", " ".join(needed)), ("fact", fact)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a CLI that is not there, with one line that counts them; CI must have it."""
    needed = needed_by(item)
    missing = [name for name in needed if NEEDED[name]() is None]
    if not missing:
        return
    reason = f"no {missing[0]} to run: `make cli` fetches it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what was on all screens, and the plugin's log, when a test has failed."""
    report = yield
    bed = getattr(item, "funcargs", {}).get("bed")
    if report.when == "call" and report.failed and isinstance(bed, Bed):
        report.sections += bed.evidence()
    return report


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder with a short, real path: sockets lie in it, and CLIs compare it."""
    path = Path(tempfile.mkdtemp(prefix="e2e-")).resolve()
    yield path
    # a killed process may still be writing
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


@pytest.fixture
def bed(folder: Path, model: Model) -> Iterator[Bed]:
    with Bed(folder, model) as bed:
        yield bed
    assert bed.logged_errors() == []
