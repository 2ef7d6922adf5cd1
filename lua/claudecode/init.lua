--- What other configurations call of claudecode.nvim, for those who come from there.
---
--- Owns:     nothing.
--- Not here: its options (lua/agent_ide/claudecode.lua takes them), its commands (they are the same).
local M = {}

--- Options by the names of claudecode.nvim, or by those of :help agent_ide-config.
---@param opts? table
---@return table
function M.setup(opts)
  require("agent_ide").setup(opts)
  return M
end

---@return boolean
function M.start()
  require("agent_ide.host").start()
  return true
end

---@return boolean
function M.stop()
  require("agent_ide.host").stop()
  return true
end

---@return boolean
function M.is_claude_connected()
  return vim.iter(require("agent_ide.status").get().clients):any(function(client)
    return client.agent == "claude"
  end)
end

--- Mention a file, or lines of it (from 0 on).
---@param path string
---@param start_line? integer
---@param end_line? integer
---@return boolean accepted
function M.send_at_mention(path, start_line, end_line)
  local absolute = vim.fn.fnamemodify(path, ":p")
  return require("agent_ide.send").mention("claude", absolute, start_line, end_line or start_line)
end

---@return table
function M.get_version()
  local version = require("agent_ide.host").info().version
  return { version = "agent_ide " .. (version or "") }
end

return M
