--- Command line, environment and working directory of an agent's CLI.
---
--- Owns:     nothing.
--- Not here: what an agent's arguments are called (agents/<name>.lua), the start itself (providers).
local M = {}

local agents = require("agent_ide.agents")

---@class agent_ide.Launch
---@field argv string[]
---@field env table<string, string>
---@field cwd string

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

---@return string
local function git_root()
  local file = require("agent_ide.share").file(vim.api.nvim_get_current_buf())
  return file and vim.fs.root(file, ".git")
    or vim.fs.root(vim.fn.getcwd(), ".git")
    or vim.fn.getcwd()
end

--- The option terminal.cwd.
---@param agent string
---@param name string
---@return string
local function working_directory(agent, name)
  local wanted = require("agent_ide.config").get().terminal.cwd
  if wanted == "git" then
    return git_root()
  elseif type(wanted) ~= "function" then
    return vim.fn.getcwd()
  end
  local ok, folder = pcall(wanted, agent, name)
  if ok and type(folder) == "string" and vim.fn.isdirectory(folder) == 1 then
    return vim.fn.fnamemodify(folder, ":p")
  end
  local found = ok and ("returned %s, which is no folder"):format(vim.inspect(folder)) or "failed"
  require("agent_ide.log").warn("terminal.cwd %s: %s", found, folder)
  require("agent_ide.notify").show(
    ("the function terminal.cwd %s; Neovim's own is taken (:AgentIde log)"):format(found),
    "warn"
  )
  return vim.fn.getcwd()
end

--- Find out all that a start needs. Never blocks; waits for the agent's server.
---@param agent agent_ide.Agent
---@param name string of the session
---@param typed string[] arguments after the command
---@param on_ready fun(launch: agent_ide.Launch)
function M.prepare(agent, name, typed, on_ready)
  local cwd = working_directory(agent.name, name)
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
      on_ready({
        argv = vim.list_extend(agents.command(agent.name), args),
        env = require("agent_ide.terminal.environment").of(agent.name, server),
        cwd = cwd,
      })
    end)
  end)
end

return M
