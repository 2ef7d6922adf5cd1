--- What the host is told first: the options, and which Neovim it serves.
---
--- Owns:     the version of this half.
--- Not here: when it is sent (host.lua).
--- Source:   doc/channel.md, event `start`.
local M = {}

M.root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))))

---@return string? version from pyproject.toml, where it lives
local function read_version()
  for line in io.lines(M.root .. "/pyproject.toml") do
    local found = line:match('^version = "(.-)"')
    if found then
      return found
    end
  end
end

--- Read when this half is loaded: an update on disk does not change what runs.
M.version = read_version()

--- Options that are not data (functions) are for this half only.
---@param value any
---@return any
local function data_only(value)
  if type(value) ~= "table" then
    return type(value) ~= "function" and value or nil
  end
  -- an empty table stays the one it is: it may be marked as a dictionary
  return vim.tbl_isempty(value) and value or vim.tbl_map(data_only, value)
end

---@return table the payload of `start`
function M.start()
  local version = vim.version()
  return {
    version = M.version,
    config = data_only(require("agent_ide.config").get()),
    editor = {
      pid = vim.fn.getpid(),
      version = ("%d.%d.%d"):format(version.major, version.minor, version.patch),
      runtime_dir = require("agent_ide.rpc").runtime_dir(),
      log_file = require("agent_ide.log").path(),
      state_dir = vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "agent_ide"),
      runtime = vim.env.VIMRUNTIME,
      language = vim.v.lang,
      shell = vim.o.shell,
    },
  }
end

return M
