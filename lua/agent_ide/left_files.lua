--- Lock files and sockets that a host which has died would leave.
---
--- Owns:     the list of them.
--- Not here: when they go (host.lua). They stay during the back-off, because the next host takes port
---           and token over from them.
local M = {}

local uv = vim.uv

---@type string[]
local files = {}

--- The host's files of now; status.lua tells when it has learned of them. Those of the host before
--- stay known until they are gone: the new one takes them over one by one.
---@param paths string[]
function M.remember(paths)
  for _, path in ipairs(files) do
    if not vim.tbl_contains(paths, path) and uv.fs_lstat(path) then
      paths = vim.list_extend({ path }, paths)
    end
  end
  files = paths
end

---@param path string
---@return boolean the server of another Neovim has it by now: it got the port of our dead host
local function is_anothers(path)
  local text = path:find("%.lock$") and require("agent_ide.health.files").read(path)
  local pid = text and text:match('"pid":(%d+)')
  return pid ~= nil and tonumber(pid) ~= vim.fn.getpid()
end

function M.remove()
  for _, path in ipairs(files) do
    if not is_anothers(path) then
      uv.fs_unlink(path)
    end
  end
  files = {}
end

return M
