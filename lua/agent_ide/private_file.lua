--- Texts on their way through a file, which only this user can read.
---
--- Owns:     nothing: who takes a text out deletes its file.
--- Not here: which texts go that way (`rpc.lua`, `text.lua`).
local M = {}

local uv = vim.uv

--- Put a text into a new file of that name.
---@param path string
---@param text string
function M.write(path, text)
  local fd = assert(uv.fs_open(path, "wx", tonumber("600", 8)))
  assert(uv.fs_write(fd, text))
  assert(uv.fs_close(fd))
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
  local fd = assert(uv.fs_open(path, "r", 0))
  local text = assert(uv.fs_read(fd, assert(uv.fs_fstat(fd)).size, 0))
  uv.fs_close(fd)
  uv.fs_unlink(path)
  return text
end

return M
