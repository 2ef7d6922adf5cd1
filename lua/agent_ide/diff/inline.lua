--- A review in one window: the proposal, with what it removes shown in between.
---
--- Owns:     the extmarks that show the differences.
--- Not here: the window itself (`frame.lua`), what differs (`hunks.lua`). `split.lua` is another view
---           with the same methods.
local M = {}

local api = vim.api
local words = require("agent_ide.diff.words")

local ns = api.nvim_create_namespace("agent_ide.diff.inline")

--- More removed lines of one hunk are counted, not shown.
local MOST_REMOVED = 500

--- More hunks are left without marks: a whole file rewritten is read, not compared.
local MOST_HUNKS = 1000

---@class agent_ide.diff.Inline : agent_ide.diff.View
---@field frame agent_ide.diff.Frame
---@field shown agent_ide.diff.Shown
local Inline = {}
Inline.__index = Inline

--- Text as a buffer would show it.
---@param line string
---@param tabstop integer
---@return string
local function visible(line, tabstop)
  return (vim.fn.strtrans((line:gsub("\t", (" "):rep(tabstop)))))
end

--- A removed line: what the new one does not have stands out.
---@param line string
---@param ranges integer[][] byte ranges of changed words, 0-based, end exclusive
---@param tabstop integer
---@return string[][]
local function removed_line(line, ranges, tabstop)
  local chunks, at = {}, 0
  local function add(last, group)
    if last > at then
      table.insert(chunks, { visible(line:sub(at + 1, last), tabstop), group })
      at = last
    end
  end
  for _, range in ipairs(ranges) do
    add(range[1], "AgentIdeDelete")
    add(range[2], "AgentIdeText")
  end
  add(#line, "AgentIdeDelete")
  -- to the window's edge, as a highlighted line goes
  table.insert(chunks, { (" "):rep(400), "AgentIdeDelete" })
  return chunks
end

---@param buf integer
---@param row integer
---@param sign string
---@param group string
local function mark_line(buf, row, sign, group)
  api.nvim_buf_set_extmark(buf, ns, row, 0, {
    -- not line_hl_group, which would cover the changed words
    end_row = row + 1,
    end_col = 0,
    hl_group = group,
    hl_eol = true,
    strict = false,
    priority = 50,
  })
  api.nvim_buf_set_extmark(buf, ns, row, 0, {
    sign_text = sign,
    sign_hl_group = group,
    priority = 50,
  })
end

---@param self agent_ide.diff.Inline
---@param hunk agent_ide.diff.Hunk
---@param lines string[][] chunks of each
local function show_removed(self, hunk, lines)
  local buf = self.shown.proposal.buf
  local last_row = api.nvim_buf_line_count(buf) - 1
  -- below the line before; above the first where there is none before or others replace them
  local above = hunk.new_count > 0 or hunk.new_first == 0
  local row = math.max(0, math.min(hunk.new_first - 1, last_row))
  api.nvim_buf_set_extmark(buf, ns, row, 0, {
    virt_lines = lines,
    virt_lines_above = above,
    sign_text = hunk.new_count == 0 and (above and "‾" or "_") or nil,
    sign_hl_group = hunk.new_count == 0 and "AgentIdeDelete" or nil,
    priority = 50,
  })
end

---@param self agent_ide.diff.Inline
---@param hunk agent_ide.diff.Hunk
local function decorate(self, hunk)
  local buf = self.shown.proposal.buf
  local first = math.max(0, hunk.old_first - 1)
  local shown_count = math.min(hunk.old_count, MOST_REMOVED)
  local old = hunk.old_count > 0
      and api.nvim_buf_get_lines(self.shown.old_buf, first, first + shown_count, false)
    or {}
  local new = hunk.new_count > 0
      and api.nvim_buf_get_lines(
        buf,
        hunk.new_first - 1,
        hunk.new_first - 1 + hunk.new_count,
        false
      )
    or {}
  local removed = {}
  for i, line in ipairs(old) do
    local old_ranges, new_ranges = words.changed(line, new[i])
    table.insert(removed, removed_line(line, old_ranges, vim.bo[buf].tabstop))
    for _, range in ipairs(new_ranges) do
      api.nvim_buf_set_extmark(buf, ns, hunk.new_first - 2 + i, range[1], {
        end_col = range[2],
        hl_group = "AgentIdeText",
        priority = 150,
      })
    end
  end
  if hunk.old_count > shown_count then
    local more = ("… %d more removed lines"):format(hunk.old_count - shown_count)
    table.insert(removed, { { more, "AgentIdeDelete" } })
  end
  for i = 1, #new do
    mark_line(buf, hunk.new_first - 2 + i, i <= #old and "~" or "+", "AgentIdeAdd")
  end
  if #removed > 0 then
    show_removed(self, hunk, removed)
  end
end

--- Removed lines above the first one are out of sight unless the window is told to show them.
---@param self agent_ide.diff.Inline
---@param first? agent_ide.diff.Hunk
local function show_top(self, first)
  local at_top = first and first.old_count > 0 and first.new_first <= 1
  local win = self.frame:win()
  if at_top and api.nvim_win_is_valid(win) then
    api.nvim_win_call(win, function()
      if vim.fn.winsaveview().topline == 1 then
        local most = math.max(0, api.nvim_win_get_height(win) - 2)
        vim.fn.winrestview({ topfill = math.min(first.old_count, most) })
      end
    end)
  end
end

--- Show the differences as they are now.
---@param found agent_ide.diff.Hunk[]
function Inline:refresh(found)
  local buf = self.shown.proposal.buf
  if not api.nvim_buf_is_loaded(buf) then
    return
  end
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for index, hunk in ipairs(found) do
    if index > MOST_HUNKS then
      break
    end
    decorate(self, hunk)
  end
  show_top(self, found[1])
end

--- Open the view.
---@param shown agent_ide.diff.Shown
---@param request { take_cursor?: boolean, on_broken: fun() }
---@return agent_ide.diff.View? nil: there is no room
function M.open(shown, request)
  local frame = require("agent_ide.diff.frame").open({
    id = shown.request.id,
    bufs = { shown.proposal.buf },
    vertical = true,
    take_cursor = request.take_cursor,
    on_broken = request.on_broken,
  })
  if not frame then
    return nil
  end
  frame:set_options({ signcolumn = "yes", foldenable = false, conceallevel = 0 })
  return setmetatable({ frame = frame, shown = shown }, Inline)
end

---@param facts agent_ide.diff.Facts
function Inline:label(facts)
  self.frame:set_winbars(function(_, width)
    return require("agent_ide.diff.label").alone(facts, width)
  end)
end

function Inline:close()
  if api.nvim_buf_is_valid(self.shown.proposal.buf) then
    api.nvim_buf_clear_namespace(self.shown.proposal.buf, ns, 0, -1)
  end
  self.frame:close()
end

return M
