"""What the host is told of diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_ide.editor.nvim import read_diagnostics
from tests.support.neovim import Neovim

SET = "vim.diagnostic.set(vim.api.nvim_create_namespace('n'), vim.fn.bufnr(...), select(2, ...))"


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "nvim") as nvim:
        nvim.play_host()
        nvim.lua("vim.cmd.cd(vim.fn.fnameescape(...))", str(tmp_path))
        nvim.command("edit a.txt")
        nvim.feed("ia é b<Esc>")
        yield nvim


def track(nvim: Neovim) -> None:
    nvim.call("track", {"enabled": True})


def set_diagnostics(nvim: Neovim, name: str, *items: dict[str, Any]) -> None:
    nvim.lua(SET, name, list(items))


def wait_items(nvim: Neovim, path: Path, count: int) -> list[Any]:
    def items(payload: Any) -> list[Any]:
        return list(msgspec.json.decode(payload["items"]))

    event = nvim.wait_event(
        "diagnostics", lambda p: p["path"] == str(path) and len(items(p)) == count
    )
    return items(event)


def told(nvim: Neovim, path: Path) -> int:
    """How often something was said of a file."""
    return sum(payload["path"] == str(path) for payload in nvim.named("diagnostics"))


def test_an_item_is_whole(nvim: Neovim, tmp_path: Path) -> None:
    track(nvim)
    full = {"lnum": 0, "col": 2, "end_lnum": 0, "end_col": 4, "message": "odd", "severity": 2}
    bare = {"lnum": 0, "col": 5, "message": "bare"}
    set_diagnostics(nvim, "a.txt", {**full, "source": "lint", "code": "E1"}, bare)
    items = wait_items(nvim, tmp_path / "a.txt", 2)
    assert {
        "message": "odd",
        "severity": 2,
        "range": {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 4}},
        "source": "lint",
        "code": "E1",
    } in items
    assert {
        "message": "bare",
        "severity": 1,
        "range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 5}},
    } in items


def test_what_is_known_is_sent_first_and_clean_is_told(nvim: Neovim, tmp_path: Path) -> None:
    item = {"lnum": 0, "col": 0, "message": "m"}
    set_diagnostics(nvim, "a.txt", item)
    nvim.command("badd b.txt")
    set_diagnostics(nvim, "b.txt", item, item)
    track(nvim)
    wait_items(nvim, tmp_path / "a.txt", 1)
    wait_items(nvim, tmp_path / "b.txt", 2)
    set_diagnostics(nvim, "a.txt")
    wait_items(nvim, tmp_path / "a.txt", 0)
    nvim.command("bwipeout b.txt")
    wait_items(nvim, tmp_path / "b.txt", 0)


def test_what_became_clean_between_two_clients_is_told(nvim: Neovim, tmp_path: Path) -> None:
    item = {"lnum": 0, "col": 0, "message": "m"}
    nvim.command("badd b.txt | badd c.txt")
    track(nvim)
    for name in ("a.txt", "b.txt", "c.txt"):
        set_diagnostics(nvim, name, item)
        wait_items(nvim, tmp_path / name, 1)
    nvim.call("track", {"enabled": False})
    set_diagnostics(nvim, "a.txt")
    nvim.command("bwipeout b.txt")
    track(nvim)
    wait_items(nvim, tmp_path / "a.txt", 0)
    wait_items(nvim, tmp_path / "b.txt", 0)
    assert told(nvim, tmp_path / "c.txt") == 2, "it still has one: told anew, once"


def test_a_renamed_file_is_clean_under_its_old_name(nvim: Neovim, tmp_path: Path) -> None:
    track(nvim)
    set_diagnostics(nvim, "a.txt", {"lnum": 0, "col": 0, "message": "m"})
    wait_items(nvim, tmp_path / "a.txt", 1)
    nvim.command("file c.txt")
    wait_items(nvim, tmp_path / "a.txt", 0)
    wait_items(nvim, tmp_path / "c.txt", 1)


def test_secrets_and_what_is_no_file_stay_here(nvim: Neovim, tmp_path: Path) -> None:
    track(nvim)
    item = {"lnum": 0, "col": 0, "message": "SECRET"}
    nvim.command("badd .env")
    set_diagnostics(nvim, ".env", item)
    nvim.command("new | set buftype=nofile | file scratch")
    set_diagnostics(nvim, "scratch", item)
    set_diagnostics(nvim, "a.txt", {**item, "message": "m"})
    wait_items(nvim, tmp_path / "a.txt", 1)
    assert "SECRET" not in str(nvim.events)


def test_the_worst_come_first_and_their_number_is_limited(nvim: Neovim, tmp_path: Path) -> None:
    track(nvim)
    hints = [{"lnum": 0, "col": 0, "message": "h", "severity": 4} for _ in range(3000)]
    set_diagnostics(nvim, "a.txt", *hints, {"lnum": 0, "col": 0, "message": "e", "severity": 1})
    items = wait_items(nvim, tmp_path / "a.txt", 1000)
    assert items[0]["message"] == "e"


def test_long_messages_are_limited_too(nvim: Neovim, tmp_path: Path) -> None:
    track(nvim)
    long = [{"lnum": 0, "col": 0, "message": "x" * 100_000, "severity": 2} for _ in range(9)]
    set_diagnostics(nvim, "a.txt", *long, {"lnum": 0, "col": 0, "message": "e", "severity": 1})
    items = wait_items(nvim, tmp_path / "a.txt", 6)
    assert items[0]["message"] == "e"


def test_odd_items_do_not_hide_the_others(nvim: Neovim, tmp_path: Path) -> None:
    track(nvim)
    nvim.lua(
        """
        vim.diagnostic.set(vim.api.nvim_create_namespace("n"), vim.fn.bufnr("a.txt"), {
          { lnum = 0, col = 0, message = "no\\255utf-8", source = vim.NIL, code = vim.NIL },
          { lnum = 0, col = 0, message = "number", code = 7 },
        })
        """
    )
    event = nvim.wait_event("diagnostics", lambda p: "utf-8" in p["items"])
    first, second = read_diagnostics(event)
    assert (first.message, first.source, first.code) == ("no\ufffdutf-8", None, None)
    assert second.code == "7"


def test_many_files_do_not_stall_the_editor(nvim: Neovim, tmp_path: Path) -> None:
    nvim.lua(
        """
        local namespace = vim.api.nvim_create_namespace("n")
        for file = 1, 300 do
          local items = {}
          for line = 1, 50 do
            items[line] = { lnum = 0, col = 0, message = "m" .. line }
          end
          vim.diagnostic.set(namespace, vim.fn.bufadd(("many%03d.txt"):format(file)), items)
        end
        """
    )
    nvim.lua(
        """
        Longest = 0
        -- the processor's time, so that a busy machine does not count
        local last = os.clock()
        local timer = vim.uv.new_timer()
        timer:start(0, 1, vim.schedule_wrap(function()
          Longest = math.max(Longest, (os.clock() - last) * 1000)
          last = os.clock()
        end))
        """
    )
    track(nvim)
    for number in (1, 150, 300):
        wait_items(nvim, tmp_path / f"many{number:03}.txt", 50)
    assert len(nvim.named("diagnostics")) == 300
    # one slice, one file more than fits into it, and a collection of garbage
    assert nvim.lua("return Longest") < 40
