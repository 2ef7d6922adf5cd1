--- What :AgentIde does.
---
--- Owns:     nothing.
--- Not here: the agents' own commands (commands.lua), the modules that do the work.
local M = {}

local notify = require("agent_ide.notify")

---@return agent_ide.Review[]
local function reviews()
  return require("agent_ide.status").get().reviews
end

---@return string[]
local function waiting_names()
  return vim
    .iter(reviews())
    :filter(function(review)
      return review.state ~= "accepted"
    end)
    :map(function(review)
      return review.tab_name
    end)
    :totable()
end

---@param review agent_ide.Review
---@return string
local function describe(review)
  local whose = review.title .. (review.client_gone and ", which is gone" or "")
  local path = vim.fn.fnamemodify(review.path, ":~:.")
  return ("%s: %s (%s)"):format(review.state, path, whose)
end

--- Let the user choose a review.
---@param choices agent_ide.Review[]
---@param on_choice fun(review: agent_ide.Review)
function M.choose_review(choices, on_choice)
  vim.ui.select(choices, {
    prompt = "Diffs:",
    kind = "agent_ide.review",
    format_item = describe,
  }, function(review)
    if review then
      on_choice(review)
    end
  end)
end

local function pick_review()
  if #reviews() == 0 then
    return notify.show("no diff is open")
  end
  M.choose_review(reviews(), function(review)
    if not require("agent_ide.diff").focus(review.id) then
      notify.show("this diff has no window: " .. describe(review))
    end
  end)
end

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
  accept = {
    run = function(tab_name)
      require("agent_ide.commands").settle("accept", tab_name)
    end,
    complete = waiting_names,
  },
  reject = {
    run = function(tab_name)
      require("agent_ide.commands").settle("reject", tab_name)
    end,
    complete = waiting_names,
  },
  diffs = { run = pick_review },
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
  local subcommand = subcommands[name == "" and "status" or name]
  if not subcommand then
    local message = "there is no :AgentIde %s, only %s"
    return notify.show(message:format(name, table.concat(names(), ", ")), "warn")
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
