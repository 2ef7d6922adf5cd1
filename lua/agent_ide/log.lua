--- The log file, shared with the host.
---
--- Owns:     the file handle of Lua's half, the level.
--- Not here: messages to the user (notify.lua). No token, no file content is ever written.
local M = {}

local LEVELS = { debug = 1, info = 2, warn = 3, error = 4 }
local ROTATE_BYTES = 10 * 1024 * 1024

---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "agent_ide.log")
end

---@param level "debug"|"info"|"warn"|"error"
---@param message string
local function write(level, message)
  if LEVELS[level] < LEVELS[require("agent_ide.config").get().log_level] then
    return
  end
  local path = M.path()
  local stat = vim.uv.fs_stat(path)
  if not stat then
    vim.fn.mkdir(vim.fn.fnamemodify(path, ":h"), "p")
  elseif stat.size > ROTATE_BYTES then
    vim.uv.fs_rename(path, path .. ".1")
  end
  -- opened for each line: lines are rare, and the host may rotate the file meanwhile
  local fd = vim.uv.fs_open(path, "a", tonumber("600", 8))
  if fd then
    vim.uv.fs_write(fd, ("%s lua  %-5s %s\n"):format(os.date("%Y-%m-%d %H:%M:%S"), level, message))
    vim.uv.fs_close(fd)
  end
end

for level in pairs(LEVELS) do
  ---@param format string
  ---@param ... any
  M[level] = function(format, ...)
    write(level, format:format(...))
  end
end

return M
