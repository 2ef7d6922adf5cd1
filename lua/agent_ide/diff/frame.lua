--- The windows of a review in the user's editing area, and everything as it was afterwards.
---
--- Owns:     the windows, what is needed to put everything back.
--- Not here: the buffers and what the windows look like (`split.lua`, `inline.lua`), where they open
---           (`place.lua`), verdicts (`init.lua`).
local M = {}

local api = vim.api
local groups = require("agent_ide.diff.groups")
local windows = require("agent_ide.windows")

---@class agent_ide.diff.Part
---@field buf integer
---@field win integer

---@class agent_ide.diff.FrameRequest
---@field id integer of the review
---@field bufs integer[] one window for each, the proposal last
---@field vertical boolean side by side
---@field take_cursor? boolean nil: where that interrupts nobody
---@field on_broken fun() a window of it is gone, or shows something else

---@class agent_ide.diff.Frame
---@field request agent_ide.diff.FrameRequest
---@field parts agent_ide.diff.Part[] the proposal last
---@field tab integer
---@field tab_is_ours boolean
---@field focused boolean it took the cursor
---@field sizes agent_ide.Sizes of the tab page, as they were
---@field before? { buf: integer, view: table, alternate: integer } what the first window showed
---@field came_from integer the window that had the cursor
---@field lent? agent_ide.diff.Lent the user's own window, where the review has no other
---@field group? integer
---@field closed boolean
local Frame = {}
Frame.__index = Frame

--- Neovim takes what a smaller screen lacks from the last window.
---@param self agent_ide.diff.Frame
local function balance(self)
  local first, last = self.parts[1].win, self.parts[#self.parts].win
  if first == last or not (api.nvim_win_is_valid(first) and api.nvim_win_is_valid(last)) then
    return
  end
  local get = self.request.vertical and api.nvim_win_get_width or api.nvim_win_get_height
  local set = self.request.vertical and api.nvim_win_set_width or api.nvim_win_set_height
  set(first, math.ceil((get(first) + get(last)) / 2))
end

---@param part agent_ide.diff.Part?
---@return boolean
local function shows(part)
  return part ~= nil
    and api.nvim_win_is_valid(part.win)
    and api.nvim_win_get_buf(part.win) == part.buf
end

--- A window for the second buffer, beside the first one's.
---@param request agent_ide.diff.FrameRequest
---@param base integer
---@return agent_ide.diff.Part[]? nil: there is no room
local function split_off(request, base)
  if #request.bufs == 1 then
    return {}
  end
  local win = windows.split(request.bufs[2], base, request.vertical and "right" or "below")
  return win and { { buf = request.bufs[2], win = win } } or nil
end

--- Make the windows, without moving the cursor.
---@param self agent_ide.diff.Frame
---@param place agent_ide.diff.Place
---@return boolean
local function make_windows(self, place)
  local first = place.win
  if place.kind == "beside" then
    local win = windows.split(self.request.bufs[1], place.win, place.side)
    if not win then
      return false
    end
    first = win
  end
  local rest = split_off(self.request, first)
  if not rest then
    if place.kind == "beside" then
      api.nvim_win_close(first, true)
    end
    return false
  end
  if place.kind == "instead" then
    self.before = {
      buf = api.nvim_win_get_buf(first),
      view = api.nvim_win_call(first, vim.fn.winsaveview),
      alternate = api.nvim_win_call(first, function()
        return vim.fn.bufnr("#")
      end),
    }
    windows.swap_buffer(first, self.request.bufs[1])
  end
  self.parts = { { buf = self.request.bufs[1], win = first }, unpack(rest) }
  return true
end

--- The same in a tab page of its own; the user stays where they are.
---@param self agent_ide.diff.Frame
local function make_tab(self)
  local before = api.nvim_get_current_win()
  vim.cmd.sbuffer({
    args = { tostring(self.request.bufs[1]) },
    mods = { tab = vim.fn.tabpagenr("$"), noautocmd = true, keepalt = true, silent = true },
  })
  local first = api.nvim_get_current_win()
  local rest = split_off(self.request, first)
  self.tab_is_ours = true
  if rest then
    self.parts = { { buf = self.request.bufs[1], win = first }, unpack(rest) }
  else
    vim.cmd("noautocmd tabclose")
  end
  vim.cmd("noautocmd call win_gotoid(" .. before .. ")")
end

--- By whatever means a window goes, one of these tells; the rest is looked at afterwards.
---@param self agent_ide.diff.Frame
local function watch(self)
  local function look()
    vim.schedule(function()
      windows.when_free(function()
        if not self.closed and not vim.iter(self.parts):all(shows) then
          self.request.on_broken()
        end
      end)
    end)
  end
  self.group = groups.take()
  if self.before and #self.parts == 1 then
    self.lent = require("agent_ide.diff.lent").watch(self.parts[1], self.before.buf, self.group)
  end
  local events = { "WinClosed", "TabClosed" }
  api.nvim_create_autocmd(events, { group = self.group, callback = look })
  api.nvim_create_autocmd("VimResized", {
    group = self.group,
    callback = function()
      balance(self)
    end,
  })
  for _, buf in ipairs(self.request.bufs) do
    api.nvim_create_autocmd({ "BufWinLeave", "BufUnload", "BufWipeout" }, {
      group = self.group,
      buffer = buf,
      callback = look,
    })
  end
end

--- Open the windows.
---@param request agent_ide.diff.FrameRequest
---@return agent_ide.diff.Frame? nil: there is no room
function M.open(request)
  local find = require("agent_ide.diff.place").find
  local place = find(#request.bufs, request.vertical, request.take_cursor)
  local self = setmetatable({
    request = request,
    parts = {},
    came_from = api.nvim_get_current_win(),
    tab_is_ours = false,
    focused = place.focus,
    closed = false,
  }, Frame)
  windows.keeping_sizes(0, place.win, function()
    self.sizes = windows.sizes(0)
    if place.kind == "tab" or not make_windows(self, place) then
      self.before = nil
      make_tab(self)
    end
  end)
  if #self.parts == 0 then
    return nil
  end
  self.tab = api.nvim_win_get_tabpage(self:win())
  watch(self)
  return self
end

--- The proposal's window.
---@return integer
function Frame:win()
  return self.parts[#self.parts].win
end

--- Give each window its options.
---@param options table<string, any>
function Frame:set_options(options)
  for _, part in ipairs(self.parts) do
    for name, value in pairs(options) do
      api.nvim_set_option_value(name, value, { win = part.win, scope = "local" })
    end
  end
end

--- Say in each window what it shows.
---@param bar fun(index: integer, width: integer): string
function Frame:set_winbars(bar)
  for index, part in ipairs(self.parts) do
    if shows(part) then
      local text = bar(index, api.nvim_win_get_width(part.win))
      api.nvim_set_option_value("winbar", text, { win = part.win, scope = "local" })
    end
  end
end

--- Put the cursor into the proposal.
function Frame:focus()
  if api.nvim_win_is_valid(self:win()) then
    api.nvim_set_current_win(self:win())
  end
end

--- Whether the cursor is in it.
---@return boolean
function Frame:has_cursor()
  local current = api.nvim_get_current_win()
  return vim.iter(self.parts):any(function(part)
    return part.win == current
  end)
end

--- Show again what the first window showed.
---@param self agent_ide.diff.Frame
---@param win integer
local function put_back(self, win)
  local buf = self.before.buf
  if not api.nvim_buf_is_valid(buf) then
    buf = api.nvim_create_buf(true, false)
  end
  -- its file may have been written by now
  require("agent_ide.reload").look(buf)
  windows.swap_buffer(win, buf)
  if buf == self.before.buf then
    api.nvim_win_call(win, function()
      vim.fn.winrestview(self.before.view)
      if api.nvim_buf_is_valid(self.before.alternate) then
        vim.fn.setreg("#", self.before.alternate)
      end
    end)
  end
end

---@param win integer
---@return boolean
local function is_terminal(win)
  return vim.bo[api.nvim_win_get_buf(win)].buftype == "terminal"
end

--- The window that the user's own buffer comes back to. Where they closed it, the proposal's takes
--- its part.
---@param self agent_ide.diff.Frame
---@return integer?
local function staying(self)
  local first, last = self.parts[1], self.parts[#self.parts]
  if not self.before then
    return nil
  elseif shows(first) then
    return first.win
  elseif self.lent then
    return self.lent:replacement()
  end
  return not api.nvim_win_is_valid(first.win) and shows(last) and last.win or nil
end

--- The user's windows as they were. A window of ours that the user has put to other use is theirs.
---@param self agent_ide.diff.Frame
local function restore_windows(self)
  local had_cursor = self:has_cursor() or not api.nvim_win_is_valid(self.came_from)
  local stays = staying(self)
  for _, part in ipairs(vim.tbl_filter(shows, self.parts)) do
    if part.win ~= stays then
      windows.close(part.win)
    end
  end
  if stays then
    put_back(self, stays)
    if stays ~= self.parts[1].win and #self.parts == 1 then
      -- another window in its place, as large as it was
      self.sizes.windows[stays] = self.sizes.windows[self.parts[1].win]
      self.sizes.windows[self.parts[1].win] = nil
    end
  end
  local back = self.came_from
  if stays and (not api.nvim_win_is_valid(back) or is_terminal(back)) then
    -- who walked here from the agent's terminal has left its prompt: the file is what they see now
    back = stays
  end
  if had_cursor and api.nvim_win_is_valid(back) then
    api.nvim_set_current_win(back)
  end
end

--- Take the windows away. Safe to call in any mode and more than once.
function Frame:close()
  if self.closed then
    return
  end
  self.closed = true
  groups.give_back(self.group)
  if api.nvim_tabpage_is_valid(self.tab) then
    windows.keeping_sizes(self.tab, self.parts[1].win, function()
      restore_windows(self)
    end)
    windows.restore_sizes(self.tab, self.sizes)
  end
end

return M
