--- Which window shows the file that the user works on.
---
--- Owns:     the file window seen last.
--- Not here: what is a file (share.lua).
local M = {}

local api = vim.api
local share = require("agent_ide.share")

---@type integer?
local last

---@param win integer
---@return boolean
function M.shows_file(win)
  return api.nvim_win_is_valid(win) and share.file(api.nvim_win_get_buf(win)) ~= nil
end

--- The current window when it shows a file; it is remembered.
---@return integer?
function M.current()
  local win = api.nvim_get_current_win()
  if M.shows_file(win) then
    last = win
    return win
  end
end

--- The current window, else the one the user has in mind while the cursor is in a terminal, a tree
--- or help. nil: no window shows a file.
---@return integer?
function M.find()
  local current = M.current()
  if current then
    return current
  end
  local candidates = { last or -1, vim.fn.win_getid(vim.fn.winnr("#")) }
  vim.list_extend(candidates, api.nvim_tabpage_list_wins(0))
  vim.list_extend(candidates, api.nvim_list_wins())
  return vim.iter(candidates):find(M.shows_file)
end

return M
