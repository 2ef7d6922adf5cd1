--- Agents that lost their connection and have not come back.
---
--- Owns:     the list of them.
--- Not here: who is connected (status.lua).
local M = {}

---@type agent_ide.Client[]
local lost = {}

---@param client agent_ide.Client
---@return boolean its process is there, as far as can be seen
local function lives(client)
  return not client.pid or vim.uv.kill(client.pid, 0) == 0
end

---@param client agent_ide.Client
---@param other agent_ide.Client
---@return boolean
local function is_same(client, other)
  return client.agent == other.agent and client.pid == other.pid
end

---@param before agent_ide.Client[]
---@param now agent_ide.Client[]
---@param host_gone boolean
function M.compare(before, now, host_gone)
  for _, client in ipairs(now) do
    lost = vim.tbl_filter(function(other)
      return not is_same(client, other)
    end, lost)
  end
  if host_gone then
    vim.list_extend(lost, before)
  end
end

--- Those whose connection went with the host, as long as their process lives.
---@return agent_ide.Client[]
function M.list()
  lost = vim.tbl_filter(lives, lost)
  return lost
end

return M
