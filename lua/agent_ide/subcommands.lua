--- What :AgentIde does.
---
--- Owns:     nothing.
--- Not here: the agents' own commands (commands.lua), the modules that do the work.
local M = {}

local notify = require("agent_ide.notify")

local function open_log()
  local path = require("agent_ide.log").path()
  if not vim.uv.fs_stat(path) then
    return notify.show("nothing has been logged yet (" .. path .. ")")
  end
  vim.cmd.split(vim.fn.fnameescape(path))
  vim.bo.readonly = true
  vim.cmd.normal({ "G", bang = true })
end

---@param action? string
local function kernel(action)
  if action ~= "restart" and action ~= "stop" then
    notify.show("expected :AgentIde kernel restart, or :AgentIde kernel stop", "warn")
  elseif not require("agent_ide.rpc").notify("kernel", { action = action }) then
    notify.show("the host is not running: :AgentIde start", "warn")
  end
end

--- What a terminal outside Neovim needs, as one message.
---@param format? string
local function print_env(format)
  local environment = require("agent_ide.terminal.environment")
  local text = environment.text(format)
  if not text then
    local known = table.concat(environment.formats(), ", ")
    return notify.show(("expected one of %s, not %s"):format(known, format), "warn")
  end
  vim.api.nvim_echo({ { text } }, false, {})
end

---@class agent_ide.Subcommand
---@field run fun(argument: string?, cmd: vim.api.keyset.create_user_command.command_args)
---@field complete? fun(): string[]

---@param verdict "accept"|"reject"
---@return agent_ide.Subcommand
local function settling(verdict)
  return {
    run = function(argument, cmd)
      local commands = require("agent_ide.diff.commands")
      if cmd.bang then
        return commands.settle_all(verdict, argument)
      end
      commands.settle(verdict, argument)
    end,
    complete = function()
      return require("agent_ide.diff.commands").names()
    end,
  }
end

---@type table<string, agent_ide.Subcommand>
local subcommands = {
  start = {
    run = function()
      require("agent_ide.host").start()
    end,
  },
  stop = {
    run = function()
      require("agent_ide.host").stop()
    end,
  },
  restart = {
    run = function()
      require("agent_ide.host").restart()
    end,
  },
  status = {
    run = function()
      require("agent_ide.status_window").open()
    end,
  },
  accept = settling("accept"),
  reject = settling("reject"),
  diffs = {
    run = function()
      require("agent_ide.diff.commands").pick()
    end,
  },
  layout = {
    run = function(name)
      require("agent_ide.diff.commands").layout(name)
    end,
    complete = function()
      return require("agent_ide.diff.view").LAYOUTS
    end,
  },
  undo = {
    run = function()
      require("agent_ide.diff.commands").undo()
    end,
  },
  log = { run = open_log },
  install = {
    run = function(extra)
      require("agent_ide.install").run(extra)
    end,
    complete = function()
      return { "notebook" }
    end,
  },
  uninstall = {
    run = function()
      require("agent_ide.install").uninstall()
    end,
  },
  changes = {
    run = function(what)
      if what == "diff" then
        require("agent_ide.changes").split()
      elseif what then
        notify.show("expected :AgentIde changes, or :AgentIde changes diff", "warn")
      else
        require("agent_ide.changes").list()
      end
    end,
    complete = function()
      return { "diff" }
    end,
  },
  add = {
    run = function(_, cmd)
      local words = vim.list_slice(cmd.fargs, 2)
      if #words == 0 then
        return notify.show("expected :AgentIde add {path} [first] [last]", "warn")
      end
      require("agent_ide.send_commands").add_to_any(words)
    end,
    complete = function()
      return vim.fn.getcompletion("", "file")
    end,
  },
  send = {
    run = function(what, cmd)
      require("agent_ide.send_commands").to_any(what, cmd)
    end,
    complete = function()
      return require("agent_ide.send_commands").sendable()
    end,
  },
  env = {
    run = print_env,
    complete = function()
      return require("agent_ide.terminal.environment").formats()
    end,
  },
  kernel = {
    run = kernel,
    complete = function()
      return { "restart", "stop" }
    end,
  },
  recover = {
    run = function()
      require("agent_ide.diff.kept").pick()
    end,
  },
}

---@return string[]
local function names()
  local all = vim.tbl_keys(subcommands)
  table.sort(all)
  return all
end

---@param cmd vim.api.keyset.create_user_command.command_args
function M.run(cmd)
  -- what follows the name is one argument: names of tabs hold spaces
  local name, argument = cmd.args:match("^(%S*)%s*(.-)%s*$")
  -- the ! may stand behind the word, where people write it
  local word, bang = name:match("^(%a+)(!?)$")
  name = word or name
  local subcommand = subcommands[name == "" and "status" or name]
  if not subcommand then
    local message = "there is no :AgentIde %s, only %s"
    return notify.show(message:format(name, table.concat(names(), ", ")), "warn")
  end
  if bang == "!" then
    cmd.bang = true
  end
  subcommand.run(argument ~= "" and argument or nil, cmd)
end

---@param lead string
---@param line string the command line up to the cursor and beyond
---@return string[]
function M.complete(lead, line)
  local name, rest = line:match("AgentIde!?%s+(%S+)%s+(.*)$")
  local choices, typed = names(), lead
  if name then
    local subcommand = subcommands[name]
    choices = subcommand and subcommand.complete and subcommand.complete() or {}
    typed = rest
  end
  -- Neovim replaces the last word only, and a tab's name may have several
  local kept = #typed - #lead
  return vim
    .iter(choices)
    :filter(function(choice)
      return vim.startswith(choice, typed)
    end)
    :map(function(choice)
      return choice:sub(kept + 1)
    end)
    :totable()
end

return M
