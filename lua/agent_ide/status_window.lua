--- The window of :AgentIde status.
---
--- Owns:     one float and its buffer while it is open.
--- Not here: what stands in it (status_text.lua).
local M = {}

local api = vim.api

--- The open one.
---@type { buf: integer, win: integer }?
local window

---@param lines string[]
---@return vim.api.keyset.win_config
local function placed(lines)
  local width = 40
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 2)
  end
  width = math.max(1, math.min(width, vim.o.columns - 4))
  local height = math.max(1, math.min(#lines, vim.o.lines - 4))
  return {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
  }
end

local function fill()
  if not window or not api.nvim_win_is_valid(window.win) then
    return
  end
  local lines = require("agent_ide.status_text").lines()
  vim.bo[window.buf].modifiable = true
  api.nvim_buf_set_lines(window.buf, 0, -1, false, lines)
  vim.bo[window.buf].modifiable = false
  api.nvim_win_set_config(window.win, placed(lines))
end

local function close()
  if window and api.nvim_win_is_valid(window.win) then
    api.nvim_win_close(window.win, true)
  end
  window = nil
end

---@param buf integer
local function watch(buf)
  local group = api.nvim_create_augroup("agent_ide_status_window", {})
  api.nvim_create_autocmd("User", {
    group = group,
    pattern = "AgentIdeStatus",
    desc = "agent_ide: show the new status",
    callback = fill,
  })
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buf,
    desc = "agent_ide: forget the status window",
    callback = function()
      api.nvim_clear_autocmds({ group = group })
    end,
  })
  api.nvim_create_autocmd("WinLeave", {
    group = group,
    buffer = buf,
    desc = "agent_ide: close the status window",
    callback = vim.schedule_wrap(function()
      -- the next one may be open already
      if window and window.buf == buf then
        close()
      end
    end),
  })
end

--- Show the status in a float that q, <Esc> and leaving it close. It follows changes.
function M.open()
  close()
  local lines = require("agent_ide.status_text").lines()
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  local config = placed(lines)
  config.style, config.border = "minimal", "rounded"
  config.title = " agent_ide "
  window = { buf = buf, win = api.nvim_open_win(buf, true, config) }
  for _, keys in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", keys, close, { buffer = buf, nowait = true, desc = "agent_ide: close" })
  end
  watch(buf)
end

return M
