--- Texts on their way through a file, which only this user can read.
---
--- Owns:     nothing: who takes a text out deletes its file.
--- Not here: which texts go that way (`rpc.lua`, `text.lua`).
local M = {}

local uv = vim.uv
local whole_file = require("agent_ide.whole_file")

--- Put a text into a new file of that name; raises, and leaves none, where it is not written whole.
---@param path string
---@param text string
function M.write(path, text)
  local fd = assert(uv.fs_open(path, "wx", tonumber("600", 8)))
  local written, problem = uv.fs_write(fd, text)
  uv.fs_close(fd)
  if written ~= #text then
    uv.fs_unlink(path) -- nobody is to take a part of it for the whole
    error(problem or "the disk is full", 0)
  end
end

--- Put a text into a new file.
---@param text string
---@return string path
function M.put(text)
  local path = vim.fn.tempname()
  M.write(path, text)
  return path
end

--- Take a text out; the file is gone afterwards.
---@param path string
---@return string
function M.take(path)
  local text = assert(whole_file.read(path))
  uv.fs_unlink(path)
  return text
end

return M
