"""What a Neovim and its host hold at one moment.

Owns:     the counting.
Not here: when it is counted, what may differ (test_soak.py).
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.live import Live
from tests.support.neovim import wait_until

__all__ = ["Inventory", "memory_mb", "take", "tasks_at_end", "wait_calm"]

CALM_S = 20.0
"""Ten seconds after a verdict neither Neovim nor the host waits for the agent's write any more."""

_TIMERS = """
  local timers = 0
  vim.uv.walk(function(handle)
    if vim.uv.handle_get_type(handle) == "timer" and not handle:is_closing() then
      timers = timers + 1
    end
  end)
  return timers
"""

# handles: those of libuv that Lua has made (timers, watchers of files, pipes), closed ones not
_COUNTS = """
  collectgarbage()
  collectgarbage()
  local handles = {}
  vim.uv.walk(function(handle)
    if not handle:is_closing() then
      local kind = vim.uv.handle_get_type(handle)
      handles[kind] = (handles[kind] or 0) + 1
    end
  end)
  local timers = handles.timer or 0
  handles.timer = nil
  local others = 0
  for _, count in pairs(handles) do
    others = others + count
  end
  return {
    timers = timers,
    ["other handles"] = others,
    autocommands = #vim.api.nvim_get_autocmds({}),
    groups = #vim.fn.getcompletion("", "augroup"),
    namespaces = vim.tbl_count(vim.api.nvim_get_namespaces()),
    buffers = #vim.api.nvim_list_bufs(),
    windows = #vim.api.nvim_list_wins(),
    channels = #vim.api.nvim_list_chans(),
    signs = #vim.fn.sign_getdefined(),
    ["Lua KB"] = math.floor(collectgarbage("count")),
  }
"""


@dataclass(frozen=True, slots=True)
class Inventory:
    """counts: by name; what is counted in KB or MB may grow a little, the others not at all."""

    neovim_mb: float
    host_mb: float
    counts: dict[str, int]


def wait_calm(live: Live) -> None:
    """Wait until all is put away; what is left after that counts."""
    with suppress(AssertionError):
        wait_until(lambda: live.editor.lua(_TIMERS) == 0, "the end of timers", CALM_S)


def take(live: Live) -> Inventory:
    """Count what is there; nobody may be connected."""
    host = live.wait_served()
    wait_until(lambda: not live.editor.clients(), "that everybody has gone")
    counts: dict[str, Any] = live.editor.lua(_COUNTS)
    counts["files of Neovim"] = _files(live.editor.pid)
    counts["files of the host"] = _files(host)
    counts["threads of the host"] = len(os.listdir(f"/proc/{host}/task"))
    counts["files in the runtime folder"] = _texts(live)
    return Inventory(memory_mb(live.editor.pid), memory_mb(host), counts)


def tasks_at_end(live: Live) -> list[int]:
    """How many tasks each host that has ended had in the end, oldest first."""
    return [int(count) for count in re.findall(r"= the host stops with (\d+) tasks", live.log())]


def _files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_mb(pid: int) -> float:
    """What is resident, as `top` has it."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def _texts(live: Live) -> int:
    folders = (live.editor.runtime, live.folder / "tmp")
    return sum(1 for folder in folders for path in folder.rglob("*") if path.is_file())
