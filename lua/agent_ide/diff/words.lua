--- Which words of a line were changed.
---
--- Owns:     nothing; it is pure.
local M = {}

--- Longer lines are compared as a whole: a megabyte in one line has no words worth marking.
local MOST_BYTES = 2000

--- Words and single characters, each with the byte it begins at.
---@param line string
---@return string[] tokens
---@return integer[] starts 0-based
local function split(line)
  local tokens, starts, at = {}, {}, 1
  while at <= #line do
    -- bytes of other scripts count as letters
    local _, last = line:find("^[%w_\128-\255]+", at)
    if not last then
      _, last = line:find("^%s+", at)
    end
    last = last or at
    table.insert(tokens, line:sub(at, last))
    table.insert(starts, at - 1)
    at = last + 1
  end
  table.insert(starts, #line)
  return tokens, starts
end

---@param starts integer[]
---@param first integer
---@param count integer
---@return integer[]?
local function range(starts, first, count)
  return count > 0 and { starts[first], starts[first + count] } or nil
end

--- Byte ranges that differ between two lines; none where there is no second line, or where nothing
--- would be left unmarked.
---@param old string
---@param new? string
---@return integer[][] old_ranges 0-based, end exclusive
---@return integer[][] new_ranges
function M.changed(old, new)
  if not new or #old > MOST_BYTES or #new > MOST_BYTES then
    return {}, {}
  end
  local old_tokens, old_starts = split(old)
  local new_tokens, new_starts = split(new)
  local old_ranges, new_ranges = {}, {}
  for _, hunk in ipairs(require("agent_ide.text").hunks(old_tokens, new_tokens)) do
    table.insert(old_ranges, range(old_starts, hunk[1], hunk[2]))
    table.insert(new_ranges, range(new_starts, hunk[3], hunk[4]))
  end
  return old_ranges, new_ranges
end

return M
