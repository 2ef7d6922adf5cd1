--- The keys of a review.
---
--- Owns:     maps local to its buffers.
--- Not here: what a verdict leads to (`init.lua`), what a hunk is (`hunks.lua`).
local M = {}

local api = vim.api
local hunks = require("agent_ide.diff.hunks")
local notify = require("agent_ide.notify")
local views = require("agent_ide.diff.view")

--- The hunk under the cursor.
---@param shown agent_ide.diff.Shown
---@return agent_ide.diff.Hunk?
local function hunk_at_cursor(shown)
  local lnum = api.nvim_win_get_cursor(shown.view.frame:win())[1]
  return shown.hunks[hunks.at(shown.hunks, lnum)]
end

--- Go to the next hunk after a line that nobody has agreed to yet, from the first one after the last.
---@param shown agent_ide.diff.Shown
---@param lnum integer
local function move_on(shown, lnum)
  local open = vim.tbl_filter(function(hunk)
    return not hunks.is_accepted(shown.proposal.buf, hunk)
  end, shown.hunks)
  local next_one = vim.iter(open):find(function(hunk)
    return hunks.lnum(hunk) > lnum
  end) or open[1]
  if next_one then
    api.nvim_win_set_cursor(shown.view.frame:win(), { hunks.lnum(next_one), 0 })
  else
    notify.show("no more hunks: accept or reject the whole now")
  end
end

---@param shown agent_ide.diff.Shown
local function accept_hunk(shown)
  local hunk = hunk_at_cursor(shown)
  local lnum = api.nvim_win_get_cursor(shown.view.frame:win())[1]
  if hunk then
    hunks.accept(shown.proposal.buf, hunk)
  end
  move_on(shown, lnum)
end

---@param shown agent_ide.diff.Shown
local function reject_hunk(shown)
  local hunk = hunk_at_cursor(shown)
  if hunk then
    return hunks.reject(shown.old_buf, shown.proposal.buf, hunk)
  end
  move_on(shown, api.nvim_win_get_cursor(shown.view.frame:win())[1])
end

--- Map the keys in both buffers of a view; those for a hunk where the cursor can be in one.
---@param shown agent_ide.diff.Shown
---@param decide fun(verdict: "accept"|"reject")
---@param may_edit fun(): boolean false: it is decided; the user was told
function M.map(shown, decide, may_edit)
  local keys = require("agent_ide.config").get().diff.keys
  if not keys then
    return
  end
  local function map(buf, name, what, run)
    if keys[name] then
      local desc = ("agent_ide: %s proposed by %s"):format(what, shown.request.agent)
      vim.keymap.set("n", keys[name], run, { buffer = buf, desc = desc })
    end
  end
  for _, buf in ipairs({ shown.proposal.buf, shown.old_buf }) do
    for _, verdict in ipairs({ "accept", "reject" }) do
      map(buf, verdict, verdict .. " the change", function()
        decide(verdict)
      end)
    end
  end
  for name, run in pairs({ accept_hunk = accept_hunk, reject_hunk = reject_hunk }) do
    map(shown.proposal.buf, name, name:gsub("_", " this "), function()
      views.refresh(shown, function()
        if shown.view and shown.hunks and may_edit() then
          run(shown)
        end
      end)
    end)
  end
end

return M
