--- A file's bytes, read in one piece.
---
--- Owns:     nothing.
--- Not here: what they are decoded to (`text.lua`), files of which only a part is wanted.
local M = {}

local uv = vim.uv

---@param path string
---@return string? bytes nil: it cannot be read
---@return string? problem
function M.read(path)
  local fd, problem = uv.fs_open(path, "r", 0)
  if not fd then
    return nil, problem
  end
  -- not io.read, whose buffer would be there a second time
  local bytes
  bytes, problem = uv.fs_read(fd, assert(uv.fs_fstat(fd)).size, 0)
  uv.fs_close(fd)
  return bytes, problem
end

return M
