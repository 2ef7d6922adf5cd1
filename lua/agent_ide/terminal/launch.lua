--- Command line and environment of an agent's CLI, and its start as a terminal job.
---
--- Owns:     nothing.
--- Not here: what an agent's arguments are called (agents/<name>.lua), windows (native.lua).
local M = {}

local agents = require("agent_ide.agents")

--- What an outer terminal says about itself; in ours it misleads the CLI. An outer VS Code's
--- TERM_PROGRAM makes Claude Code believe that its diffs open there.
local MISLEADING = { "TERM_PROGRAM", "TERM_PROGRAM_VERSION" }

--- The servers listen there; a CLI behind a proxy must not go through it.
local LOOPBACK = { "127.0.0.1", "localhost", "::1" }

---@class agent_ide.Launch
---@field argv string[]
---@field env table<string, string>
---@field cwd string

---@param value? string
---@return string
local function with_loopback(value)
  local hosts = vim.split(value or "", ",", { trimempty = true })
  for _, host in ipairs(LOOPBACK) do
    if not vim.tbl_contains(hosts, host) then
      table.insert(hosts, host)
    end
  end
  return table.concat(hosts, ",")
end

---@param agent agent_ide.Agent
---@param server agent_ide.Server?
---@return table<string, string>
local function environment(agent, server)
  local lower, upper = vim.env.no_proxy, vim.env.NO_PROXY
  local env = { no_proxy = with_loopback(lower or upper), NO_PROXY = with_loopback(upper or lower) }
  return vim.tbl_extend("force", env, server and server.env or {}, agents.config(agent.name).env)
end

---@param agent agent_ide.Agent
---@param args string[]
---@return boolean
local function chooses_mode(agent, args)
  return vim.iter(args):any(function(arg)
    return vim.iter(agent.mode_flags):any(function(flag)
      return arg == flag or vim.startswith(arg, flag .. "=")
    end)
  end)
end

---@param agent agent_ide.Agent
---@param given string[] the user's arguments, from the options and typed
---@param on_args fun(args: string[])
local function with_mode(agent, given, on_args)
  if not agent.asking_mode then
    return on_args(given)
  elseif not agents.config(agent.name).ask_permission or chooses_mode(agent, given) then
    return on_args(given)
  end
  require("agent_ide.agents.probe").ask(agents.command(agent.name), "--help", function(text)
    on_args(vim.list_extend(vim.deepcopy(agent.asking_mode(text)), given))
  end)
end

--- Find out all that a start needs. Never blocks; waits for the agent's server.
---@param agent agent_ide.Agent
---@param typed string[] arguments after the command
---@param on_ready fun(launch: agent_ide.Launch)
function M.prepare(agent, typed, on_ready)
  local cwd = vim.fn.getcwd()
  local given = vim.list_extend(vim.deepcopy(agents.config(agent.name).args), typed)
  with_mode(agent, given, function(args)
    require("agent_ide.served").await(agent.name, function(server)
      if not server or server.error then
        require("agent_ide.notify").show(
          ("%s starts without a connection to Neovim%s: see :checkhealth agent_ide"):format(
            agent.title,
            server and " (" .. server.error .. ")" or ""
          ),
          "warn"
        )
      end
      local argv = vim.list_extend(agents.command(agent.name), args)
      on_ready({ argv = argv, env = environment(agent, server), cwd = cwd })
    end)
  end)
end

---@param launch agent_ide.Launch
---@param on_exit fun(code: integer)
---@return integer job
local function start_here(launch, on_exit)
  local opts = {
    cwd = launch.cwd,
    env = launch.env,
    on_exit = function(_, code)
      on_exit(code)
    end,
  }
  if vim.fn.has("nvim-0.11") == 1 then
    opts.term = true
    return vim.fn.jobstart(launch.argv, opts)
  end
  return vim.fn.termopen(launch.argv, opts)
end

--- Start the CLI in a buffer that is shown in a window (the window gives the terminal its size).
---@param buf integer
---@param launch agent_ide.Launch
---@param on_exit fun(code: integer)
---@return integer? job
---@return string? err
function M.start(buf, launch, on_exit)
  local outer = {}
  for _, name in ipairs(MISLEADING) do
    outer[name] = vim.env[name]
    -- a job can be given variables but none can be taken from it: they go for the moment it starts
    vim.env[name] = nil
  end
  local ok, job = pcall(vim.api.nvim_buf_call, buf, function()
    return start_here(launch, on_exit)
  end)
  for name, value in pairs(outer) do
    vim.env[name] = value
  end
  if not ok or job <= 0 then
    local reason = ok and "it cannot be executed" or tostring(job):gsub("^.-:%d+: ", "")
    return nil, reason
  end
  return job
end

return M
