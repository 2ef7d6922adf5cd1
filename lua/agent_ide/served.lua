--- Waiting for an agent's server, which comes a moment after Neovim has started.
---
--- Owns:     nothing that outlives the wait.
--- Not here: the host's process (host.lua), who serves (status.lua).
local M = {}

local LOOK_MS = 250

--- From here on a user wonders whether the command was heard.
local NOTICE_MS = 1500

--- A host that runs serves within a second. Building the venv before is not counted.
local DEADLINE_MS = 30000

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

---@return boolean the host has failed to start: waiting is of no use
local function given_up()
  local phase = require("agent_ide.host").info().phase
  return not require("agent_ide.rpc").attached() and (phase == "off" or phase == "given_up")
end

--- Called every LOOK_MS while somebody waits.
---@param on_failure fun()
---@return fun()
local function looker(on_failure)
  local waited_ms, noticed = 0, false
  return vim.schedule_wrap(function()
    local installing = require("agent_ide.host").info().phase == "installing"
    waited_ms = waited_ms + (installing and 0 or LOOK_MS)
    if given_up() or waited_ms >= DEADLINE_MS then
      on_failure()
    elseif waited_ms >= NOTICE_MS and not noticed then
      noticed = true
      require("agent_ide.notify").show("waiting for the host to start")
    end
  end)
end

--- Call back once the agent is served; starts the host where there is none. Never blocks.
---@param agent string
---@param callback fun(server: agent_ide.Server?) nil: it did not come
function M.await(agent, callback)
  if not require("agent_ide.rpc").attached() then
    require("agent_ide.host").start()
  end
  local server = ready(agent)
  if server or given_up() then
    return callback(server)
  end
  local timer = assert(vim.uv.new_timer())
  local watch ---@type integer? nil once it is over
  local function finish(found)
    if watch then
      vim.api.nvim_del_autocmd(watch)
      watch = nil
      timer:close()
      callback(found)
    end
  end
  watch = vim.api.nvim_create_autocmd("User", {
    pattern = "AgentIdeStatus",
    desc = "agent_ide: wait for the server of " .. agent,
    callback = vim.schedule_wrap(function()
      -- scheduled: the callback may open windows, and this is inside the host's call
      local found = ready(agent)
      if found then
        finish(found)
      end
    end),
  })
  timer:start(LOOK_MS, LOOK_MS, looker(finish))
end

return M
