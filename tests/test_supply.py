"""SECURITY.md names for each promise tests that exist; the licence list is about the pins."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import licences


@pytest.fixture
def named(repo: Path) -> set[str]:
    """The paths that SECURITY.md names as what holds a promise."""
    return set(re.findall(r"`(tests/[\w./]+)`", (repo / "SECURITY.md").read_text()))


def test_the_tests_that_hold_the_promises_exist(repo: Path, named: set[str]) -> None:
    assert len(named) > 15
    assert [path for path in sorted(named) if not (repo / path).is_file()] == []


def test_every_promise_has_its_test(repo: Path) -> None:
    promises = (repo / "SECURITY.md").read_text().partition("## Not promised")[0]
    points = re.findall(r"(?m)^\* (?:.+\n(?:  .+\n)*)", promises)
    assert len(points) > 12
    assert [point for point in points if "`tests/" not in point] == []


def test_links_lead_somewhere(repo: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (repo / "SECURITY.md").read_text())
    assert [link for link in links if not (repo / link).is_file()] == []


def test_the_list_of_licences_is_about_what_is_pinned(repo: Path) -> None:
    command = [sys.executable, str(repo / "scripts/licences.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pinned = {pin for packages in licences.by_part().values() for pin in packages.items()}
    assert licences.written().keys() == pinned


def test_another_version_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "licences.md"
    text = licences.DOCUMENT.read_text()
    other.write_text(re.sub(r"\| aiohttp \| [\d.]+ \|", "| aiohttp | 3.0.0 |", text))
    monkeypatch.setattr(licences, "DOCUMENT", other)
    assert licences.main(["--check"]) == 1
    assert "make licences" in capsys.readouterr().err


def test_no_licence_asks_more_than_notice() -> None:
    """Nothing that would bind who uses or passes on the plugin."""
    known = r"(?i)\b(mit|mit-0|apache|bsd|isc|psf)\b|python software foundation"
    unknown = {pin: text for pin, text in licences.written().items() if not re.search(known, text)}
    assert unknown == {}
    assert not [text for text in licences.written().values() if "GPL" in text.upper()]
