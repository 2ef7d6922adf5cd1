"""Which files an agent may learn of: the patterns of `do_not_share`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import Neovim


@pytest.fixture(scope="module")
def nvim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    with Neovim(tmp_path_factory.mktemp("nvim")) as nvim:
        yield nvim


def allowed(nvim: Neovim, path: str, *patterns: str) -> bool:
    if patterns:
        nvim.lua("require('agent_ide.config').setup({ do_not_share = ... })", patterns)
    else:
        nvim.lua("require('agent_ide.config').setup({})")
    return bool(nvim.lua("return require('agent_ide.share').allowed(...)", path))


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "server.key", "id_rsa", "id_rsa.pub", "a.pem"]
)
def test_secrets_are_not_shared_by_default(nvim: Neovim, name: str) -> None:
    assert not allowed(nvim, f"/p/{name}")


@pytest.mark.parametrize("name", ["env", "x.env", "keyboard", "key", "README.md", ".environment"])
def test_other_files_are(nvim: Neovim, name: str) -> None:
    assert allowed(nvim, f"/p/{name}")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets/", "/w/secrets/f"),
        ("/abs/x/*", "/abs/x/1"),
        ("/abs/x/*", "/abs/x/1/2"),
        ("a/**/z.txt", "/r/a/z.txt"),
        ("a/**/z.txt", "/r/a/b/c/z.txt"),
        ("**/deep/*.txt", "/r/s/deep/z.txt"),
        ("?.md", "/é.md"),
        ("[!a-c]x", "/dx"),
        ("\\!bang", "/!bang"),
        ("x%y.*~", "/x%y.1~"),
        ("a\\*b", "/a*b"),
    ],
)
def test_a_pattern_that_fits(nvim: Neovim, pattern: str, path: str) -> None:
    assert not allowed(nvim, path, pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets/", "/w/secrets"),
        ("/abs/x/*", "/r/abs/x/1"),
        ("a/**/z.txt", "/r/a/bz.txt"),
        ("?.md", "/ab.md"),
        ("[!a-c]x", "/ax"),
        ("*.tmp", "/a.TMP"),
        ("a\\*b", "/axb"),
        ("a.b", "/axb"),
    ],
)
def test_a_pattern_that_does_not(nvim: Neovim, pattern: str, path: str) -> None:
    assert allowed(nvim, path, pattern)


def test_the_last_pattern_decides(nvim: Neovim) -> None:
    assert allowed(nvim, "/p/public.key", "*.key", "!public.*")
    assert not allowed(nvim, "/p/other.key", "*.key", "!public.*")


def test_home(nvim: Neovim) -> None:
    home = nvim.eval("$HOME")
    assert not allowed(nvim, f"{home}/.ssh/config", "~/.ssh/*")


def test_a_link_to_a_secret(nvim: Neovim, tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    (tmp_path / "notes.txt").symlink_to(tmp_path / ".env")
    assert not allowed(nvim, str(tmp_path / "notes.txt"))
