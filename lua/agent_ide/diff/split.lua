--- A review in two windows in diff mode: the file on disk beside the proposal.
---
--- Owns:     the two windows, the old side's buffer, what is needed to put everything back.
--- Not here: the proposal's buffer (`proposal.lua`), where it opens (`place.lua`), verdicts
---           (`init.lua`). Another kind of view has the same methods: close, focus, label.
local M = {}

local api = vim.api
local windows = require("agent_ide.windows")

--- Above either, folds are not kept up to date with the diff: that is what makes it slow.
local LARGE_LINES, LARGE_BYTES = 5000, 512 * 1024

---@class agent_ide.diff.Split
---@field review agent_ide.diff.Request
---@field proposal agent_ide.diff.Proposal
---@field old_buf integer
---@field old_win integer
---@field new_win integer
---@field tab integer
---@field tab_is_ours boolean
---@field sizes agent_ide.Sizes of the tab page, as they were
---@field before? { buf: integer, view: table, alternate: integer } what the old side's window showed
---@field came_from integer the window that had the cursor
---@field on_broken fun() a window of it is gone, or shows something else
---@field group? integer
---@field closed boolean
local Split = {}
Split.__index = Split

---@param win integer
---@param options table<string, any>
local function set_local(win, options)
  for name, value in pairs(options) do
    api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

---@param self agent_ide.diff.Split
---@param on boolean
local function set_diff(self, on)
  local large = api.nvim_buf_line_count(self.proposal.buf) > LARGE_LINES
    or #self.proposal.original > LARGE_BYTES
  for _, win in ipairs({ self.old_win, self.new_win }) do
    set_local(win, {
      scrollbind = on,
      cursorbind = on,
      wrap = false,
      foldmethod = large and "manual" or "diff",
      foldenable = not large,
      foldlevel = 0,
      diff = on,
    })
  end
end

--- Make the two windows, without moving the cursor.
---@param self agent_ide.diff.Split
---@param place agent_ide.diff.Place
---@param vertical boolean
---@return boolean
local function make_windows(self, place, vertical)
  local new_side = vertical and "right" or "below"
  if place.kind == "instead" then
    self.before = {
      buf = api.nvim_win_get_buf(place.win),
      view = api.nvim_win_call(place.win, vim.fn.winsaveview),
      alternate = api.nvim_win_call(place.win, function()
        return vim.fn.bufnr("#")
      end),
    }
    local new_win = windows.split(self.proposal.buf, place.win, new_side)
    if not new_win then
      return false
    end
    windows.swap_buffer(place.win, self.old_buf)
    self.old_win, self.new_win = place.win, new_win
    return true
  end
  local old_win = windows.split(self.old_buf, place.win, place.side)
  local new_win = old_win and windows.split(self.proposal.buf, old_win, new_side)
  if old_win and not new_win then
    api.nvim_win_close(old_win, true)
  end
  self.old_win, self.new_win = old_win, new_win
  return new_win ~= nil
end

--- The same in a tab page of its own; the user stays where they are.
---@param self agent_ide.diff.Split
---@param vertical boolean
local function make_tab(self, vertical)
  local before = api.nvim_get_current_win()
  vim.cmd.sbuffer({
    args = { tostring(self.old_buf) },
    mods = { tab = vim.fn.tabpagenr("$"), noautocmd = true, keepalt = true, silent = true },
  })
  self.old_win = api.nvim_get_current_win()
  self.new_win = windows.split(self.proposal.buf, self.old_win, vertical and "right" or "below")
  self.tab_is_ours = true
  vim.cmd("noautocmd call win_gotoid(" .. before .. ")")
end

--- Bring the first difference into sight.
---@param self agent_ide.diff.Split
local function to_first_hunk(self)
  if #self.proposal.original > LARGE_BYTES then
    return
  end
  local old = table.concat(api.nvim_buf_get_lines(self.old_buf, 0, -1, true), "\n") .. "\n"
  local new = table.concat(api.nvim_buf_get_lines(self.proposal.buf, 0, -1, true), "\n") .. "\n"
  local diff = vim.text.diff or vim.diff
  local hunk = diff(old, new, { result_type = "indices" })[1]
  if hunk then
    api.nvim_win_set_cursor(self.new_win, { math.max(1, hunk[3]), 0 })
  end
end

--- Say in both windows what they show.
---@param state string what the user can do, or what is awaited
function Split:label(state)
  local label = require("agent_ide.diff.label")
  local labels = {
    [self.old_win] = label.old(self.review),
    [self.new_win] = label.new(self.review, state),
  }
  for win, text in pairs(labels) do
    if api.nvim_win_is_valid(win) then
      set_local(win, { winbar = text })
    end
  end
end

---@param win integer?
---@param buf integer
---@return boolean
local function shows(win, buf)
  return win ~= nil and api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf
end

---@param self agent_ide.diff.Split
---@return boolean
local function is_whole(self)
  return shows(self.old_win, self.old_buf) and shows(self.new_win, self.proposal.buf)
end

--- By whatever means a window goes, one of these tells; the rest is looked at afterwards.
---@param self agent_ide.diff.Split
local function watch(self)
  local function look()
    vim.schedule(function()
      windows.when_free(function()
        if not self.closed and not is_whole(self) then
          self.on_broken()
        end
      end)
    end)
  end
  self.group = api.nvim_create_augroup("agent_ide.diff." .. self.review.id, { clear = true })
  local events = { "WinClosed", "TabClosed" }
  api.nvim_create_autocmd(events, { group = self.group, callback = look })
  for _, buf in ipairs({ self.old_buf, self.proposal.buf }) do
    api.nvim_create_autocmd({ "BufWinLeave", "BufUnload", "BufWipeout" }, {
      group = self.group,
      buffer = buf,
      callback = look,
    })
  end
end

---@param self agent_ide.diff.Split
local function tell_tab(self)
  local message = "%s proposes a change of %s: see tab page %d"
  local name, number = vim.fs.basename(self.review.path), api.nvim_tabpage_get_number(self.tab)
  require("agent_ide.notify").show(message:format(self.review.agent, name, number))
end

--- Open the view.
---@param review agent_ide.diff.Request
---@param proposal agent_ide.diff.Proposal
---@param on_broken fun() called once at most, never after `close`
---@return agent_ide.diff.Split? view
---@return string? problem
function M.open(review, proposal, on_broken)
  local vertical = require("agent_ide.config").get().diff.layout == "vertical"
  local place = require("agent_ide.diff.place").find(vertical)
  local self = setmetatable({
    review = review,
    proposal = proposal,
    on_broken = on_broken,
    came_from = api.nvim_get_current_win(),
    old_buf = require("agent_ide.diff.disk").new(review, proposal),
    tab_is_ours = false,
    closed = false,
  }, Split)
  windows.keeping_sizes(0, place.win, function()
    self.sizes = windows.sizes(0)
    if place.kind == "tab" or not make_windows(self, place, vertical) then
      self.before = nil
      make_tab(self, vertical)
    end
  end)
  if not self.new_win then
    self:close()
    return nil, "there is no room for a diff"
  end
  self.tab = api.nvim_win_get_tabpage(self.new_win)
  set_diff(self, true)
  to_first_hunk(self)
  watch(self)
  if place.focus then
    self:focus()
  elseif self.tab_is_ours then
    tell_tab(self)
  end
  return self
end

--- Put the cursor into the proposal.
function Split:focus()
  if api.nvim_win_is_valid(self.new_win) then
    api.nvim_set_current_win(self.new_win)
  end
end

--- Whether the cursor is in it.
---@return boolean
function Split:has_cursor()
  local win = api.nvim_get_current_win()
  return win == self.new_win or win == self.old_win
end

--- Show again what the old side's window showed.
---@param self agent_ide.diff.Split
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

--- The user's windows as they were. A window of ours that the user has put to other use is theirs.
---@param self agent_ide.diff.Split
local function restore_windows(self)
  local had_cursor = self:has_cursor() or not api.nvim_win_is_valid(self.came_from)
  local old_shown = shows(self.old_win, self.old_buf)
  local new_shown = shows(self.new_win, self.proposal.buf)
  local stays ---@type integer?
  if self.before then
    -- where the user closed the old side, the proposal's window takes its part
    stays = old_shown and self.old_win
      or (not api.nvim_win_is_valid(self.old_win) and new_shown and self.new_win)
      or nil
  end
  for win, shown in pairs({ [self.old_win] = old_shown, [self.new_win] = new_shown }) do
    if shown and win ~= stays then
      windows.close(win)
    end
  end
  if stays then
    put_back(self, stays)
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
function Split:close()
  if self.closed then
    return
  end
  self.closed = true
  if self.group then
    api.nvim_del_augroup_by_id(self.group)
  end
  if self.tab and api.nvim_tabpage_is_valid(self.tab) then
    windows.keeping_sizes(self.tab, self.old_win, function()
      restore_windows(self)
    end)
    windows.restore_sizes(self.tab, self.sizes)
  end
  if api.nvim_buf_is_valid(self.old_buf) then
    api.nvim_buf_delete(self.old_buf, { force = true })
  end
end

return M
