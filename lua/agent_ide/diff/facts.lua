--- What there is to say of a review: its turn, its size, what a user should know before a verdict.
---
--- Owns:     nothing.
--- Not here: how it is put into words and room (`label.lua`); the lifecycle (the host's).
local M = {}

---@class agent_ide.diff.Note
---@field [1] string in words
---@field [2] string where there is little room

---@class agent_ide.diff.Facts
---@field id integer
---@field agent string
---@field path string
---@field is_new boolean
---@field number integer its place among the waiting reviews
---@field of integer how many wait
---@field added? integer lines; nil: too large to count all the time
---@field removed? integer
---@field notes agent_ide.diff.Note[] what a user should know, the most important first
---@field state? string what is awaited instead of a verdict

--- Whether a verdict is awaited from the user.
---@param review agent_ide.Review
---@return boolean
function M.waits(review)
  return review.state ~= "accepted"
end

---@param id integer
---@return agent_ide.Review? entry nil: the host has not told of it yet
---@return integer number
---@return integer of
local function in_status(id)
  local waiting = vim.tbl_filter(M.waits, require("agent_ide.status").get().reviews)
  for number, review in ipairs(waiting) do
    if review.id == id then
      return review, number, #waiting
    end
  end
  return nil, 1, 1
end

---@param path string
---@return boolean
local function has_unsaved_changes(path)
  local buf = require("agent_ide.files").find(path)
  return buf ~= nil and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified
end

---@param request agent_ide.diff.Request
---@param entry? agent_ide.Review
---@return agent_ide.diff.Note[]
local function notes(request, entry)
  local found = {}
  if entry and entry.stale then
    table.insert(found, { entry.stale, entry.stale })
  end
  if has_unsaved_changes(request.path) then
    table.insert(found, { "your unsaved changes are not in this diff", "unsaved changes" })
  end
  if request.writes == "proposed" then
    table.insert(found, { request.agent .. " writes its own text", "own text" })
  end
  if request.is_new and not vim.uv.fs_stat(vim.fs.dirname(request.path)) then
    table.insert(found, { "new folder", "new folder" })
  end
  return found
end

--- What is awaited instead of a verdict.
---@param shown agent_ide.diff.Shown
---@return string?
function M.state(shown)
  if shown.leaving then
    return "over (" .. shown.leaving .. "): it closes when you are back in Normal mode"
  elseif shown.told == "accept" then
    return ("accepted: waiting for %s to write the file"):format(shown.request.agent)
  elseif shown.told == "reject" then
    return "rejected"
  end
end

---@param shown agent_ide.diff.Shown
---@param hunks? agent_ide.diff.Hunk[]
---@return agent_ide.diff.Facts
function M.of(shown, hunks)
  local request = shown.request
  local entry, number, of = in_status(request.id)
  local added, removed
  if hunks then
    added, removed = require("agent_ide.diff.hunks").count(hunks)
  end
  return {
    id = request.id,
    agent = request.agent,
    path = request.path,
    is_new = request.is_new,
    number = number,
    of = of,
    added = added,
    removed = removed,
    notes = notes(request, entry),
    state = M.state(shown),
  }
end

return M
