--- The user's own window, lent to a review that has no other: when they close it, it must come back.
---
--- Owns:     the window that takes its place.
--- Not here: what it shows then (`frame.lua`).
local M = {}

local api = vim.api
local windows = require("agent_ide.windows")

---@class agent_ide.diff.Lent
---@field part agent_ide.diff.Part
---@field buf integer what it showed before
---@field spare? integer a window in its place
---@field gap? agent_ide.Gap where it was
local Lent = {}
Lent.__index = Lent

---@class agent_ide.Gap
---@field neighbour integer the window that had it beside
---@field side "left"|"right"|"above"|"below" of the neighbour

---@param layout table as winlayout() gives it
---@param last boolean the last window of it
---@return integer win
local function leaf(layout, last)
  while layout[1] ~= "leaf" do
    layout = layout[2][last and #layout[2] or 1]
  end
  return layout[2]
end

---@param layout table as winlayout() gives it
---@param win integer
---@return agent_ide.Gap?
local function gap_in(layout, win)
  local kind, parts = layout[1], layout[2]
  if kind == "leaf" then
    return nil
  end
  for index, part in ipairs(parts) do
    if part[1] == "leaf" and part[2] == win then
      local after = index < #parts
      local side = kind == "row" and (after and "left" or "right") or (after and "above" or "below")
      return { neighbour = leaf(parts[after and index + 1 or index - 1], not after), side = side }
    end
    local found = gap_in(part, win)
    if found then
      return found
    end
  end
end

--- Where a window is among the others, while it still is there.
---@param win integer
---@return agent_ide.Gap? nil: it is the only one
local function gap_of(win)
  local tab = api.nvim_tabpage_get_number(api.nvim_win_get_tabpage(win))
  return gap_in(vim.fn.winlayout(tab), win)
end

--- A window where another one was.
---@param gap agent_ide.Gap
---@param buf integer
---@return integer? win nil: there is no room any more
local function fill(gap, buf)
  return api.nvim_win_is_valid(gap.neighbour) and windows.split(buf, gap.neighbour, gap.side) or nil
end

---@return boolean
function Lent:is_open()
  return api.nvim_win_is_valid(self.part.win)
    and api.nvim_win_get_buf(self.part.win) == self.part.buf
end

--- Make the window in its place while it still is there: it gets its size and its jumps.
function Lent:make_spare()
  if not self.spare then
    -- not possible while its buffer is being wiped out
    self.spare = windows.split(self.buf, self.part.win, "below")
  end
end

--- The window that takes its place once it is gone.
---@return integer? nil: there is no room
function Lent:replacement()
  if self.spare and api.nvim_win_is_valid(self.spare) then
    return self.spare
  end
  return not api.nvim_win_is_valid(self.part.win) and self.gap and fill(self.gap, self.buf) or nil
end

--- Watch how it goes.
---@param part agent_ide.diff.Part
---@param buf integer what it showed before
---@param group integer of autocommands
---@return agent_ide.diff.Lent
function M.watch(part, buf, group)
  local self = setmetatable({ part = part, buf = buf }, Lent)
  api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(part.win),
    callback = function()
      self:make_spare()
      self.gap = gap_of(part.win)
    end,
  })
  api.nvim_create_autocmd("QuitPre", {
    group = group,
    buffer = part.buf,
    desc = "`:q` in the last window would ask about the proposal, or end Neovim",
    callback = function()
      local all = require("agent_ide.diff.typed_write").quits_all()
      if all or api.nvim_get_current_win() ~= part.win then
        return
      end
      self:make_spare()
      vim.schedule(function()
        if self:is_open() and self.spare then
          -- it did not quit after all
          windows.close(self.spare)
          self.spare = nil
        end
      end)
    end,
  })
  return self
end

return M
