--- What the user commands do.
---
--- Owns:     nothing.
--- Not here: their names, ranges and completion (plugin/agent_ide.lua defines them at start, without
---           loading this file); the modules that do the work.
local M = {}

local agents = require("agent_ide.agents")
local notify = require("agent_ide.notify")

---@param problem string
local function refuse(problem)
  notify.show(problem, "warn")
end

--- Tell the host; says so where there is none.
---@param event string
---@param payload? table
local function tell_host(event, payload)
  if not require("agent_ide.rpc").notify(event, payload) then
    refuse("the host is not running: :AgentIde start")
  end
end

---@param agent string
local function select_model(agent)
  local spec, terminal = agents.get(agent), require("agent_ide.terminal")
  vim.ui.select(agents.config(agent).models, {
    prompt = spec.title .. " model:",
    kind = "agent_ide.model",
    format_item = function(model)
      return model.name
    end,
  }, function(model)
    if not model then
      return
    elseif terminal.running(agent) then
      require("agent_ide.send").text(agent, spec.model_prompt(model.value), true)
    else
      terminal.open(agent, spec.model_args(model.value))
    end
  end)
end

--- `name=` in front names one of several terminals; the rest is for the program.
---@param cmd vim.api.keyset.create_user_command.command_args
---@return string[] args
---@return string? session
local function terminal_arguments(cmd)
  local session = cmd.fargs[1] and cmd.fargs[1]:match("^name=(.*)$")
  return vim.list_slice(cmd.fargs, session and 2 or 1), session
end

--- The commands of an agent's family, by what follows its prefix.
---@type table<string, fun(agent: string, cmd: vim.api.keyset.create_user_command.command_args)>
local family = {
  [""] = function(agent, cmd)
    require("agent_ide.terminal").toggle(agent, terminal_arguments(cmd))
  end,
  Open = function(agent, cmd)
    require("agent_ide.terminal").open(agent, terminal_arguments(cmd))
  end,
  Close = function(agent, cmd)
    local _, session = terminal_arguments(cmd)
    require("agent_ide.terminal").close(agent, session)
  end,
  Focus = function(agent, cmd)
    require("agent_ide.terminal").focus(agent, terminal_arguments(cmd))
  end,
  Start = function()
    require("agent_ide.host").start()
  end,
  Stop = function()
    require("agent_ide.host").stop()
  end,
  Status = function()
    require("agent_ide.status_window").open()
  end,
  Send = function(agent, cmd)
    require("agent_ide.send_commands").here(agent, cmd)
  end,
  SendText = function(agent, cmd)
    require("agent_ide.send").text(agent, cmd.args, cmd.bang)
  end,
  Add = function(agent, cmd)
    require("agent_ide.send_commands").add(agent, cmd.fargs)
  end,
  TreeAdd = function(agent, cmd)
    require("agent_ide.send_commands").tree(agent, cmd)
  end,
  DiffAccept = function()
    require("agent_ide.diff.commands").settle("accept")
  end,
  DiffDeny = function()
    require("agent_ide.diff.commands").settle("reject")
  end,
  CloseAllDiffs = function()
    tell_host("close_diffs")
  end,
  SelectModel = select_model,
}

--- Run a command of an agent's family.
---@param agent string
---@param name string what follows the prefix
---@param cmd vim.api.keyset.create_user_command.command_args
function M.run(agent, name, cmd)
  local from_visual = cmd.range == 2
    and cmd.line1 == vim.fn.line("'<")
    and cmd.line2 == vim.fn.line("'>")
  -- what is selected now is what the user means, also when no client is connected yet
  require("agent_ide.selection").snapshot(from_visual)
  family[name](agent, cmd)
end

---@param lead string
---@return string[]
function M.complete_terminal(lead)
  local names = {} ---@type table<string, true>
  for _, session in ipairs(require("agent_ide.terminal.sessions").list()) do
    names["name=" .. session.name] = session.name ~= "" or nil
  end
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.tbl_keys(names))
end

--- Files for a command line; the argument is split at spaces that are not escaped.
---@param lead string
---@return string[]
function M.complete_path(lead)
  local typed = lead:gsub("\\(.)", "%1")
  return vim.tbl_map(function(path)
    return (path:gsub("[ \\]", "\\%0"))
  end, vim.fn.getcompletion(typed, "file"))
end

return M
