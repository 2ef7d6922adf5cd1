--- A review in two windows in diff mode: the file on disk beside the proposal.
---
--- Owns:     how the two windows look.
--- Not here: the windows themselves (`frame.lua`), the buffers (`disk.lua`, `proposal.lua`).
---           `inline.lua` is another view with the same methods.
local M = {}

local api = vim.api
local text = require("agent_ide.text")

--- Above either, folds are not kept up to date with the diff: that is what makes it slow.
local LARGE_LINES, LARGE_BYTES = 5000, 512 * 1024

---@class agent_ide.diff.Split : agent_ide.diff.View
---@field frame agent_ide.diff.Frame
local Split = {}
Split.__index = Split

---@param shown agent_ide.diff.Shown
---@param frame agent_ide.diff.Frame
local function set_diff(shown, frame)
  local large = api.nvim_buf_line_count(shown.proposal.buf) > LARGE_LINES
    or text.bytes(shown.proposal.buf) > LARGE_BYTES
  frame:set_options({
    scrollbind = true,
    cursorbind = true,
    wrap = false,
    foldmethod = large and "manual" or "diff",
    foldenable = not large,
    foldlevel = 0,
    winhighlight = require("agent_ide.diff.highlights").IN_DIFF_MODE,
    diff = true,
  })
end

--- Open the view.
---@param shown agent_ide.diff.Shown
---@param request { vertical: boolean, take_cursor?: boolean, on_broken: fun() }
---@return agent_ide.diff.View? nil: there is no room
function M.open(shown, request)
  local frame = require("agent_ide.diff.frame").open({
    id = shown.request.id,
    bufs = { shown.old_buf, shown.proposal.buf },
    vertical = request.vertical,
    take_cursor = request.take_cursor,
    on_broken = request.on_broken,
  })
  if not frame then
    return nil
  end
  set_diff(shown, frame)
  return setmetatable({ frame = frame }, Split)
end

---@param facts agent_ide.diff.Facts
function Split:label(facts)
  local label = require("agent_ide.diff.label")
  self.frame:set_winbars(function(index, width)
    return index == 1 and label.old(facts, width) or label.new(facts, width)
  end)
end

--- Nothing: Neovim compares by itself.
function Split:refresh() end

function Split:close()
  self.frame:close()
end

return M
