"""Fixtures that every kind of test may use; the helpers they hand out live in tests/support."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.figures import figure, pytest_addoption, pytest_terminal_summary, scale
from tests.support.versions import pytest_report_header

__all__ = [
    "figure",
    "pytest_addoption",
    "pytest_report_header",
    "pytest_terminal_summary",
    "repo",
    "scale",
    "short_folder",
]


@pytest.fixture(scope="session")
def repo() -> Path:
    """The checkout under test."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A private folder whose path leaves room for a unix socket's; tmp_path's may not."""
    with tempfile.TemporaryDirectory(prefix="ai-") as folder:
        yield Path(folder)
