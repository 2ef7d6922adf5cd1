"""What is watched while an agent is connected is switched on piece by piece, and off at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.neovim import wait_until

from .bed import Bed, bed

PUSHED = {"selection", "buffers"}

WATCHING = """
return vim.tbl_count(vim.iter(vim.api.nvim_get_autocmds({})):fold({}, function(groups, autocommand)
  local group = autocommand.group_name or ""
  for _, name in ipairs({ "selection", "buffers", "diagnostics", "outside", "changes" }) do
    if group == "agent_ide_" .. name then
      groups[group] = true
    end
  end
  return groups
end))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def test_all_is_watched_once_it_is_answered(desk: Bed) -> None:
    desk.nvim.call("track", {"enabled": True})
    assert desk.nvim.lua(WATCHING) == 5
    wait_until(lambda: all(desk.nvim.named(name) for name in PUSHED), "what there is now")
    desk.nvim.call("track", {"enabled": False})
    assert desk.nvim.lua(WATCHING) == 0


def test_who_goes_while_it_is_switched_on_leaves_nothing(desk: Bed) -> None:
    begun = desk.nvim.begin_call("track", {"enabled": True})
    over = desk.nvim.begin_call("track", {"enabled": False})
    wait_until(lambda: desk.nvim.reply(begun) and desk.nvim.reply(over), "both answers")
    assert desk.nvim.lua(WATCHING) == 0
    again = [desk.nvim.begin_call("track", {"enabled": True}) for _ in range(3)]
    wait_until(lambda: all(map(desk.nvim.reply, again)), "all answers")
    assert desk.nvim.lua(WATCHING) == 5
