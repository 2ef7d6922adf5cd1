--- Waiting for an agent's server, which comes a moment after Neovim has started.
---
--- Owns:     nothing that outlives the wait.
--- Not here: the host's process (host.lua), who serves (status.lua).
local M = {}

--- The first start may have to build the venv; a user who waits longer wants to know why.
local DEADLINE_MS = 60000

--- From here on a user wonders whether the command was heard.
local NOTICE_MS = 1500

---@param agent string
---@return agent_ide.Server?
function M.server(agent)
  for _, server in ipairs(require("agent_ide.status").get().servers) do
    if server.agent == agent then
      return server
    end
  end
end

--- The server of an agent whose host is there to answer.
---@param agent string
---@return agent_ide.Server?
local function ready(agent)
  return require("agent_ide.rpc").attached() and M.server(agent) or nil
end

--- Call back once the agent is served; starts the host where there is none. Never blocks.
---@param agent string
---@param callback fun(server: agent_ide.Server?) nil: it did not come in time
function M.await(agent, callback)
  local server = ready(agent)
  if server then
    return callback(server)
  end
  local timer = assert(vim.uv.new_timer())
  local noticed = false
  local watch ---@type integer?
  local function finish(found)
    if not watch then
      return
    end
    vim.api.nvim_del_autocmd(watch)
    watch = nil
    timer:close()
    callback(found)
  end
  watch = vim.api.nvim_create_autocmd("User", {
    pattern = "AgentIdeStatus",
    desc = "agent_ide: wait for the server of " .. agent,
    callback = function()
      local found = ready(agent)
      if found then
        -- not inside the host's call: the callback may open windows
        vim.schedule(function()
          finish(found)
        end)
      end
    end,
  })
  timer:start(
    NOTICE_MS,
    DEADLINE_MS,
    vim.schedule_wrap(function()
      if watch and not noticed then
        noticed = true
        require("agent_ide.notify").show("waiting for the host to start")
      else
        finish()
      end
    end)
  )
  require("agent_ide.host").start()
end

return M
