"""Figures that a test saw, told at the end of the run; and how far a run goes.

Owns:     the option --long, the table of figures, build/figures.json.
Not here: measuring. Figures of speed belong to bench/.

    def test_something(scale, figure):
        attempts = scale(short=300, long=10_000)
        ...
        figure("growth of the host", 1.4, "MB", f"{attempts} attempts, at most 8")

A figure travels as the test's property, so that it also comes home from xdist's workers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

__all__ = ["Figure", "Scale", "figure", "pytest_addoption", "pytest_terminal_summary", "scale"]

PROPERTY = "figure"


class Scale(Protocol):
    def __call__(self, *, short: int, long: int) -> int: ...


class Figure(Protocol):
    def __call__(self, name: str, value: float, unit: str = "", detail: str = "") -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="torture tests take their long form")


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> Scale:
    """How many of something: the second count with --long."""
    is_long = bool(request.config.getoption("--long"))
    return lambda *, short, long: long if is_long else short


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Tell a figure at the end of the run; it is the test that judges it."""

    def tell(name: str, value: float, unit: str = "", detail: str = "") -> None:
        record_property(PROPERTY, {"name": name, "value": value, "unit": unit, "detail": detail})

    return tell


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    found = [
        {"test": report.nodeid, **value}
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == PROPERTY
    ]
    if not found:
        return
    terminalreporter.section("figures")
    for entry in found:
        line = f"{entry['name']:<60} {entry['value']:>10.6g} {entry['unit']:<4} {entry['detail']}"
        terminalreporter.line(line.rstrip())
    path = Path(config.rootpath) / "build" / "figures.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
