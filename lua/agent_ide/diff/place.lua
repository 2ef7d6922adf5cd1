--- Where a review opens, and whether it gets the cursor.
---
--- Owns:     nothing.
--- Not here: which windows are for editing (`windows.lua`), the windows themselves (`frame.lua`).
local M = {}

local api = vim.api
local windows = require("agent_ide.windows")

--- A window narrower or lower than this shows no diff.
local MIN_WIDTH, MIN_HEIGHT = 10, 3

---@class agent_ide.diff.Place
---@field focus boolean the proposal gets the cursor
---@field kind "instead"|"beside"|"tab" instead of what the window shows; in a new window split off
---                                     it; in a new tab page
---@field win integer
---@field side? "left"|"right"|"above"|"below" for "beside"

--- The cursor is taken only from somebody who reads a file, never from somebody who types.
---@return boolean
local function may_focus()
  return require("agent_ide.config").get().diff.focus
    and windows.in_normal_mode()
    and windows.is_file(api.nvim_get_current_win())
end

--- Somebody's own diff in this tab page would take the review's windows in.
---@return boolean
local function has_diff()
  return vim.iter(api.nvim_tabpage_list_wins(0)):any(function(win)
    return vim.wo[win].diff
  end)
end

---@param win integer
---@param parts integer how many windows share it afterwards
---@param vertical boolean
---@return boolean
local function has_room(win, parts, vertical)
  local width, height = api.nvim_win_get_width(win), api.nvim_win_get_height(win)
  if vertical then
    return width >= parts * (MIN_WIDTH + 1) and height >= MIN_HEIGHT
  end
  return height >= parts * (MIN_HEIGHT + 1) and width >= MIN_WIDTH
end

---@param count integer how many windows it has
---@param vertical boolean they are side by side
---@param take_cursor? boolean nil: where that interrupts nobody
---@return agent_ide.diff.Place
function M.find(count, vertical, take_cursor)
  local current = api.nvim_get_current_win()
  local focus = take_cursor
  if focus == nil then
    focus = may_focus()
  end
  local tab = { focus = focus, kind = "tab", win = current }
  if require("agent_ide.config").get().diff.tab or (count > 1 and has_diff()) then
    return tab
  end
  -- a user who keeps the cursor keeps the window under it, too
  local win = windows.find_editing(not focus and current or nil)
  if win and has_room(win, count, vertical) then
    return { focus = focus, kind = "instead", win = win }
  end
  local base = windows.find_base()
  local editing = windows.is_editing(base)
  local side = editing and (vertical and "right" or "below") or windows.roomy_side(base)
  local across = side == "left" or side == "right"
  local parts = across == vertical and count + 1 or 2
  if has_room(base, parts, across) and has_room(base, count, vertical) then
    return { focus = focus, kind = "beside", win = base, side = side }
  end
  return tab
end

return M
