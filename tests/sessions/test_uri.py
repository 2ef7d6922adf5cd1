"""Paths and URIs, either way."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ide.wire.uri import from_uri, to_raw_uri, to_uri


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/home/user/file.ts", "file:///home/user/file.ts"),
        ("/p/a é#%.py", "file:///p/a%20%C3%A9%23%25.py"),
        ("/p/a+b~c.py", "file:///p/a%2Bb~c.py"),
        ("/", "file:///"),
    ],
)
def test_to_uri(path: str, uri: str) -> None:
    assert to_uri(path) == uri
    assert from_uri(uri) == path


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        (r"C:\Dev\file.ts", "file:///c%3A/Dev/file.ts"),
        (r"d:\a b\é.py", "file:///d%3A/a%20b/%C3%A9.py"),
        (r"\\server\share\f.py", "file://server/share/f.py"),
    ],
)
def test_windows(path: str, uri: str) -> None:
    assert to_uri(path, PureWindowsPath) == uri


def test_raw_uri_is_understood() -> None:
    assert to_raw_uri("/p/a é#%.py") == "file:///p/a é#%.py"
    assert from_uri("file:///p/a é#%.py") == "/p/a é#%.py"
    assert from_uri("file:///p/100%.py") == "/p/100%.py"


@pytest.mark.parametrize(
    "text",
    ["", "a.py", "./a.py", "http://h/a", "untitled:Untitled-1", "oil:///p", "file://", "/a\0b"],
)
def test_nothing_but_an_absolute_path(text: str) -> None:
    assert from_uri(text) is None


def test_localhost_is_here() -> None:
    assert from_uri("file://localhost/p/a.py") == "/p/a.py"


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1))
def test_encoded_and_back(name: str) -> None:
    path = "/p/" + name
    assert from_uri(to_uri(path)) == path
    assert from_uri(path) == path
