"""What the user is told never stops Neovim: a hit-enter prompt would hold the host's calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import Neovim, wait_until

SHOW = "require('agent_ide.notify').show(...)"


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "nvim", size=(60, 12)) as nvim:
        yield nvim


def assert_free(nvim: Neovim) -> None:
    mode = nvim.api.api.get_mode()
    assert (mode["mode"], mode["blocking"]) == ("n", False), nvim.screen_text()


def messages(nvim: Neovim) -> str:
    return str(nvim.api.funcs.execute("messages"))


@pytest.mark.parametrize("level", ["info", "warn", "error"])
def test_long_message(nvim: Neovim, level: str) -> None:
    nvim.lua(SHOW, "x é 日本 " * 40, level)
    nvim.wait_screen("agent_ide: x é 日本")
    assert_free(nvim)


def test_several_in_a_row_and_line_breaks(nvim: Neovim) -> None:
    for number in range(5):
        nvim.lua(
            SHOW, f"message {number}\nwith a second line and quite a lot of words in it", "warn"
        )
    nvim.wait_screen("message 4; with")
    assert_free(nvim)
    wait_until(lambda: messages(nvim).count("agent_ide:") == 5, "all messages in :messages")


def test_the_log_has_all_of_it(nvim: Neovim) -> None:
    nvim.lua(SHOW, "long " * 100, "error")
    log = Path(nvim.lua("return require('agent_ide.log').path()"))
    wait_until(lambda: log.exists() and "long " * 100 in log.read_text(), "the log")


def test_a_plugins_notify_gets_it_whole(nvim: Neovim) -> None:
    nvim.lua("_G.told = {}; vim.notify = function(text) table.insert(_G.told, text) end")
    nvim.lua(SHOW, "long " * 100, "info")
    told = wait_until(lambda: nvim.lua("return _G.told"), "the message")
    assert told == ["agent_ide: " + "long " * 100]


def test_in_insert_mode_typing_goes_on(nvim: Neovim) -> None:
    nvim.feed("iabc")
    nvim.lua(SHOW, "x " * 100, "warn")
    nvim.feed("def<Esc>")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "abcdef"
    assert_free(nvim)


@pytest.mark.parametrize(("choice", "yes"), [("2", True), ("1", False), ("", False)])
def test_confirm(nvim: Neovim, choice: str, yes: bool) -> None:
    nvim.play_host()
    call = nvim.begin_call("confirm", {"question": "Start a kernel?"})
    nvim.api.api.input(f"{choice}<CR>")
    reply = wait_until(lambda: nvim.reply(call), "the answer")
    assert reply == (True, {"yes": yes})
