--- The text of a review as the agent proposed it.
---
--- Owns:     the text, or for a large one the private file that brought it: 10 MB are neither held as
---           a string nor written a second time.
--- Not here: the buffer that is filled with it (`proposal.lua`).
local M = {}

local rpc = require("agent_ide.rpc")
local text = require("agent_ide.text")
local whole_file = require("agent_ide.whole_file")

---@class agent_ide.diff.Original
---@field private inline? string
---@field private path? string
local Original = {}
Original.__index = Original

--- Take over what the host has sent; `drop` ends it.
---@param packed agent_ide.PackedText
---@return agent_ide.diff.Original
function M.new(packed)
  if packed.text_file then
    return setmetatable({ path = packed.text_file }, Original)
  end
  return setmetatable({ inline = rpc.unpack_text(packed) }, Original)
end

---@return string? text nil: somebody has deleted the file
function Original:text()
  return self.inline or whole_file.read(self.path)
end

--- Fill an empty buffer with it.
---@param buf integer
---@return boolean filled
function Original:fill(buf)
  if self.path and text.fill_from_file(buf, self.path) then
    return true
  end
  local whole = self:text()
  if whole then
    text.fill(buf, whole)
  end
  return whole ~= nil
end

function Original:drop()
  if self.path then
    vim.uv.fs_unlink(self.path)
  end
end

return M
