--- A review's view: which kind it is, and what keeps it up to date.
---
--- Owns:     the layout that the user has chosen for this session; of a shown review its view, the
---           old side's buffer, the group of its autocommands and the hunks.
--- Not here: how a kind looks (`split.lua`, `inline.lua`), when one opens (`init.lua`).
local M = {}

local api = vim.api
local facts = require("agent_ide.diff.facts")
local groups = require("agent_ide.diff.groups")
local hunks = require("agent_ide.diff.hunks")
local text = require("agent_ide.text")

--- In a large text the differences are looked for when the user pauses, not at every key.
local PAUSE_MS = 500

M.LAYOUTS = { "vertical", "horizontal", "inline" }

---@alias agent_ide.diff.Layout "vertical"|"horizontal"|"inline"

--- nil: as the option says.
---@type agent_ide.diff.Layout?
local chosen

--- A way to show a review.
---@class agent_ide.diff.View
---@field frame agent_ide.diff.Frame
---@field label fun(self, facts: agent_ide.diff.Facts) say what it is and what can be done
---@field refresh fun(self, hunks: agent_ide.diff.Hunk[]) show the differences as they are now
---@field close fun(self) take the windows away, leave the rest as it was

---@return agent_ide.diff.Layout
function M.layout()
  return chosen or require("agent_ide.config").get().diff.layout
end

---@param layout agent_ide.diff.Layout
function M.choose(layout)
  chosen = layout
end

---@param shown agent_ide.diff.Shown
---@return string changes with either text
local function version(shown)
  local tick = api.nvim_buf_get_changedtick
  return tick(shown.old_buf) .. " " .. tick(shown.proposal.buf)
end

---@param shown agent_ide.diff.Shown
---@param on_done fun() `shown.hunks` are as the texts are, unless those have changed meanwhile
local function compare(shown, on_done)
  local view, compared = shown.view, version(shown)
  hunks.find(shown.old_buf, shown.proposal.buf, function(found)
    if found and shown.view == view and version(shown) == compared then
      shown.compared, shown.hunks = compared, found
      view:refresh(found)
    end
    on_done()
  end)
end

--- Say anew what there is to say.
---@param shown agent_ide.diff.Shown
function M.label(shown)
  if shown.view then
    shown.view:label(facts.of(shown, shown.hunks))
  end
end

--- Look for the differences where the text of one side has changed.
---@param shown agent_ide.diff.Shown
---@param on_done? fun() at once, or soon for large texts
function M.refresh(shown, on_done)
  on_done = on_done or function() end
  if not (shown.view and shown.proposal:is_alive()) then
    return on_done()
  elseif shown.compared == version(shown) then
    M.label(shown)
    return on_done()
  end
  compare(shown, function()
    M.label(shown)
    on_done()
  end)
end

--- How much the proposal changes, as far as it is known.
---@param shown agent_ide.diff.Shown
---@return { added: integer, removed: integer, hunks: integer }?
function M.changes(shown)
  if shown.hunks then
    local added, removed = hunks.count(shown.hunks)
    return { added = added, removed = removed, hunks = #shown.hunks }
  end
end

--- The host's status has changed: the file may be another one now.
---@param shown agent_ide.diff.Shown
local function on_status(shown)
  local entry = vim.iter(require("agent_ide.status").get().reviews):find(function(review)
    return review.id == shown.request.id
  end)
  local stale = entry and entry.stale
  if stale ~= shown.stale then
    shown.stale = stale
    require("agent_ide.diff.disk").load(shown.old_buf, shown.request, shown.proposal)
    return M.refresh(shown)
  end
  M.label(shown)
end

--- A function that refreshes: at once, or for a large text when the user pauses.
---@param shown agent_ide.diff.Shown
---@return fun()
local function refresher(shown)
  if not text.is_large(shown.proposal.buf) then
    return function()
      M.refresh(shown)
    end
  end
  local changes = 0
  return function()
    changes = changes + 1
    local this_one = changes
    vim.defer_fn(function()
      if changes == this_one then
        M.refresh(shown)
      end
    end, PAUSE_MS)
  end
end

--- A function that runs once for all of its calls of one turn.
---@param run fun()
---@return fun()
local function soon(run)
  local is_due = false
  return function()
    if not is_due then
      is_due = true
      vim.schedule(function()
        is_due = false
        run()
      end)
    end
  end
end

---@param shown agent_ide.diff.Shown
local function keep_up_to_date(shown)
  local group = groups.take()
  shown.group = group
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = shown.proposal.buf,
    callback = refresher(shown),
  })
  api.nvim_create_autocmd({ "WinResized", "VimResized", "BufModifiedSet", "BufWritePost" }, {
    group = group,
    callback = soon(function()
      M.label(shown)
    end),
  })
  api.nvim_create_autocmd("User", {
    group = group,
    pattern = "AgentIdeStatus",
    callback = soon(function()
      if shown.view then
        on_status(shown)
      end
    end),
  })
end

---@param shown agent_ide.diff.Shown
local function tell_tab(shown)
  local message = "%s proposes a change of %s: see tab page %d"
  local name = vim.fs.basename(shown.request.path)
  local number = api.nvim_tabpage_get_number(shown.view.frame.tab)
  require("agent_ide.diff.attention").call(message:format(shown.request.agent, name, number))
end

--- Show the first difference.
---@param shown agent_ide.diff.Shown
local function go_to_first(shown)
  local first = shown.hunks and shown.hunks[1]
  if first then
    api.nvim_win_set_cursor(shown.view.frame:win(), { hunks.lnum(first), 0 })
    shown.view:refresh(shown.hunks)
  end
end

--- Open the view.
---@param shown agent_ide.diff.Shown
---@param take_cursor? boolean nil: where that interrupts nobody
---@param on_broken fun() a window of it is gone; called once at most, never after `close`
---@param on_compared fun() the differences are known
---@return boolean opened false: there is no room
function M.open(shown, take_cursor, on_broken, on_compared)
  require("agent_ide.diff.highlights").define()
  local layout = M.layout()
  shown.compared = nil
  shown.old_buf = require("agent_ide.diff.disk").new(shown.request, shown.proposal)
  local kind = layout == "inline" and "agent_ide.diff.inline" or "agent_ide.diff.split"
  shown.view = require(kind).open(shown, {
    vertical = layout == "vertical",
    take_cursor = take_cursor,
    on_broken = on_broken,
  })
  if not shown.view then
    M.close(shown)
    return false
  end
  local view, win = shown.view, shown.view.frame:win()
  -- colours and differences take as long as all before: what is there can be seen meanwhile
  M.label(shown)
  vim.cmd.redraw()
  require("agent_ide.colours").give(shown.old_buf, shown.proposal:colour())
  local place = api.nvim_win_get_cursor(win)
  M.refresh(shown, function()
    -- not under the hands of a user who has gone on reading
    if shown.view == view and vim.deep_equal(api.nvim_win_get_cursor(win), place) then
      go_to_first(shown)
    end
    on_compared()
  end)
  if shown.view ~= view then
    return true
  end
  keep_up_to_date(shown)
  if view.frame.focused then
    view.frame:focus()
  elseif view.frame.tab_is_ours then
    tell_tab(shown)
  end
  return true
end

--- Take the view away; the proposal's buffer stays.
---@param shown agent_ide.diff.Shown
function M.close(shown)
  if shown.group then
    groups.give_back(shown.group)
    shown.group = nil
  end
  if shown.view then
    shown.view:close()
    shown.view = nil
  end
  if shown.old_buf and api.nvim_buf_is_valid(shown.old_buf) then
    api.nvim_buf_delete(shown.old_buf, { force = true })
  end
  shown.old_buf = nil
end

return M
