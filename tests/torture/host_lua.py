"""What the state machine over a host asks Neovim, in Lua.

Owns:     the questions.
Not here: who asks (host_world.py).
"""

from __future__ import annotations

__all__ = ["CLEAN", "PROBLEMS", "SELECT", "TEXTS"]

# A user whose lists are a plugin's: the first entry that is wanted is taken, a moment later.
SELECT = """
  vim.ui.select = function(items, _, on_choice)
    local wanted = vim.g.wanted == "Yes" and #items or 1
    vim.schedule(function()
      on_choice(items[wanted], wanted)
    end)
  end
"""

# What does not fit together: the host's status on one side, windows and buffers on the other.
PROBLEMS = """
  local problems = {}
  local states, shown = {}, {}
  for _, review in ipairs(require("agent_ide").reviews()) do
    states[review.id] = review.state
  end
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
    local kind, id = name:match("^agent%-ide://(%a+)/(%d+)/")
    if kind then
      shown[tonumber(id)] = true
    end
  end
  local turns, queued = 0, 0
  for id, state in pairs(states) do
    local turn = state == "pending" or state == "opening"
    turns = turns + (turn and 1 or 0)
    queued = queued + (state == "queued" and 1 or 0)
    if state == "pending" and not shown[id] then
      table.insert(problems, ("review %d is pending, and nobody sees it"):format(id))
    end
  end
  if turns > 1 or (turns == 0 and queued > 0) then
    table.insert(problems, ("%d are shown, %d wait"):format(turns, queued))
  end
  local mode = vim.api.nvim_get_mode().mode
  for id in pairs(shown) do
    local state = states[id]
    if (mode == "n" or mode == "t") and state ~= "pending" and state ~= "accepted" then
      table.insert(problems, ("a window shows review %d, which is %s"):format(id, state or "gone"))
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local id = vim.api.nvim_buf_get_name(buf):match("^agent%-ide://%a+/(%d+)/")
    if id and mode == "n" and not states[tonumber(id)] then
      table.insert(problems, ("a buffer of review %s, which is gone"):format(id))
    end
  end
  return problems
"""

TEXTS = """
  local texts = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      table.insert(texts, table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\\n"))
    end
  end
  return texts
"""

CLEAN = """
  vim.cmd("silent! tabonly! | silent! only!")
  vim.cmd.enew({ bang = true })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if buf ~= vim.api.nvim_get_current_buf() then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
  vim.cmd("messages clear")
  vim.v.errmsg = ""
"""
