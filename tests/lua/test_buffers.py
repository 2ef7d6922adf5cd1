"""What the host is told of open files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import Neovim


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "nvim") as nvim:
        nvim.play_host()
        nvim.lua("vim.cmd.cd(vim.fn.fnameescape(...))", str(tmp_path))
        yield nvim


def edit(nvim: Neovim, path: Path) -> None:
    nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))


def track(nvim: Neovim) -> None:
    nvim.call("track", {"enabled": True})
    nvim.wait_event("buffers")


def wait_buffers(nvim: Neovim, suits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait for an event whose buffers, by file name, suit."""

    def by_name(payload: Any) -> dict[str, Any]:
        return {Path(buffer["path"]).name: buffer for buffer in payload["buffers"]}

    return by_name(nvim.wait_event("buffers", lambda payload: suits(by_name(payload))))


def test_what_is_open(nvim: Neovim, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1\n2\n")
    edit(nvim, tmp_path / "a.py")
    edit(nvim, tmp_path / "new.rb")
    nvim.command("set filetype=ruby")
    track(nvim)
    told = nvim.named("buffers")[0]
    times = [buffer.pop("last_used") for buffer in told["buffers"]]
    assert all(abs(time.time() - at) < 600 for at in times)
    assert told == {
        "buffers": [
            {
                "path": str(tmp_path / "a.py"),
                "active": False,
                "dirty": False,
                "untitled": False,
                "language_id": "python",
                "line_count": 2,
            },
            {
                "path": str(tmp_path / "new.rb"),
                "active": True,
                "dirty": False,
                "untitled": True,
                "language_id": "ruby",
                "line_count": 1,
            },
        ]
    }


def test_each_change_is_told(nvim: Neovim, tmp_path: Path) -> None:
    edit(nvim, tmp_path / "a.txt")
    track(nvim)
    nvim.feed("ione<CR>two<Esc>")
    wait_buffers(nvim, lambda b: b["a.txt"]["dirty"] and b["a.txt"]["line_count"] == 2)
    nvim.command("write")
    wait_buffers(nvim, lambda b: not b["a.txt"]["dirty"] and not b["a.txt"]["untitled"])
    edit(nvim, tmp_path / "b.txt")
    wait_buffers(nvim, lambda b: "b.txt" in b and b["b.txt"]["active"] and not b["a.txt"]["active"])
    nvim.command("file c.txt")
    wait_buffers(nvim, lambda b: "c.txt" in b)
    nvim.command("bwipeout!")
    wait_buffers(nvim, lambda b: "c.txt" not in b and b["a.txt"]["active"])
    nvim.command("set nobuflisted")
    wait_buffers(nvim, lambda b: "a.txt" not in b)


def test_the_file_stays_active_in_a_terminal(nvim: Neovim, tmp_path: Path) -> None:
    edit(nvim, tmp_path / "a.txt")
    nvim.command("split | terminal cat")
    track(nvim)
    assert list(wait_buffers(nvim, lambda b: b["a.txt"]["active"])) == ["a.txt"]


def test_a_file_not_loaded_yet_has_a_language(nvim: Neovim, tmp_path: Path) -> None:
    nvim.command("badd later.py")
    track(nvim)
    wait_buffers(nvim, lambda b: b["later.py"]["language_id"] == "python")


def test_secrets_are_not_named(nvim: Neovim, tmp_path: Path) -> None:
    edit(nvim, tmp_path / ".env")
    edit(nvim, tmp_path / "a.txt")
    track(nvim)
    assert list(wait_buffers(nvim, bool)) == ["a.txt"]


def test_nothing_new_is_not_repeated(nvim: Neovim, tmp_path: Path) -> None:
    edit(nvim, tmp_path / "a.txt")
    track(nvim)
    nvim.lua("vim.api.nvim_exec_autocmds({ 'BufEnter', 'TextChanged', 'DirChanged' }, {})")
    nvim.feed("ix<Esc>")
    wait_buffers(nvim, lambda b: b["a.txt"]["dirty"])
    assert len(nvim.named("buffers")) == 2


def test_nothing_after_the_last_client(nvim: Neovim, tmp_path: Path) -> None:
    edit(nvim, tmp_path / "a.txt")
    track(nvim)
    nvim.call("track", {"enabled": False})
    before = len(nvim.named("buffers"))
    edit(nvim, tmp_path / "b.txt")
    nvim.call("track", {"enabled": True})
    wait_buffers(nvim, lambda b: "b.txt" in b)
    assert len(nvim.named("buffers")) == before + 1
