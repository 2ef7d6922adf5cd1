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

---@param review agent_ide.Review
---@param verdict "accept"|"reject"
local function decide(review, verdict)
  -- the view knows what the user has changed in the proposal; the host only what was proposed
  if not require("agent_ide.diff").decide(review.id, verdict) then
    tell_host(verdict, { name = review.tab_name })
  end
end

--- The review that a command without a name means, as far as it is clear: the one under the
--- cursor, else the only one that is shown.
---@param waiting agent_ide.Review[]
---@return agent_ide.Review?
local function meant(waiting)
  for _, review in ipairs(waiting) do
    if review.id == vim.b.agent_ide_review then
      return review
    end
  end
  local shown = vim.tbl_filter(function(review)
    return review.state == "pending"
  end, waiting)
  return #shown == 1 and shown[1] or #waiting == 1 and waiting[1] or nil
end

--- Settle a review, from wherever the command was given.
---@param verdict "accept"|"reject"
---@param tab_name? string nil: no name was given
function M.settle(verdict, tab_name)
  local waiting = vim.tbl_filter(function(review)
    return review.state ~= "accepted" and (not tab_name or review.tab_name == tab_name)
  end, require("agent_ide.status").get().reviews)
  if #waiting == 0 then
    return refuse(tab_name and "no open diff is called " .. tab_name or "no diff awaits a verdict")
  end
  local review = meant(waiting)
  if review then
    return decide(review, verdict)
  end
  require("agent_ide.subcommands").choose_review(waiting, function(chosen)
    decide(chosen, verdict)
  end)
end

--- The absolute path that an argument means, as Neovim spells it.
---@param word string
---@return string? path
---@return string? problem
local function resolve(word)
  local name = word
  if not vim.uv.fs_stat(name) then
    -- a file may really be called "%"; only what is no file is expanded
    local special = name:find("^[%%#<]")
    name = special and vim.fn.expand(name) or vim.fs.normalize(name)
  end
  local path = vim.fn.fnamemodify(name, ":p")
  if name == "" or not vim.uv.fs_stat(path) then
    return nil, "there is no file or folder " .. word
  end
  return #path > 1 and (path:gsub("/$", "")) or path
end

---@param first? string
---@param last? string
---@return integer? first_lnum
---@return integer? last_lnum
---@return string? problem
local function line_numbers(first, last)
  if not first then
    return nil, nil, nil
  end
  local first_lnum, last_lnum = tonumber(first), tonumber(last or first)
  for _, lnum in ipairs({ first_lnum or 0, last_lnum or 0 }) do
    if lnum < 1 or lnum % 1 ~= 0 then
      return nil, nil, "line numbers are whole numbers from 1 on"
    end
  end
  if last_lnum < first_lnum then
    return nil, nil, ("line %d comes after line %d"):format(first_lnum, last_lnum)
  end
  return first_lnum, last_lnum, nil
end

---@param agent string
---@param words string[] path, first and last line
local function add(agent, words)
  if #words > 3 then
    return refuse("expected a path and at most two line numbers; write a space in a path as \\ ")
  end
  local path, problem = resolve(words[1])
  if not path then
    return refuse(problem --[[@as string]])
  end
  local first, last, wrong = line_numbers(words[2], words[3])
  if wrong then
    return refuse(wrong)
  elseif first and vim.fn.isdirectory(path) == 1 then
    return refuse("a folder has no lines")
  end
  require("agent_ide.send").mention(agent, path, first and first - 1, last and last - 1)
end

---@param agent string
---@param cmd vim.api.keyset.create_user_command.command_args
local function tree_add(agent, cmd)
  local tree, send = require("agent_ide.tree"), require("agent_ide.send")
  local cursor = vim.api.nvim_win_get_cursor(0)
  local first, last = cursor[1], cursor[1]
  if cmd.range > 0 then
    first, last = cmd.line1, cmd.line2
  end
  for lnum = first, last do
    if lnum ~= cursor[1] then
      vim.api.nvim_win_set_cursor(0, { lnum, 0 })
    end
    local path, problem = tree.path()
    if path then
      send.mention(agent, path)
    elseif first == last then
      refuse(problem --[[@as string]])
    end
  end
  if first ~= last then
    vim.api.nvim_win_set_cursor(0, cursor)
  end
end

---@param agent string
---@param cmd vim.api.keyset.create_user_command.command_args
local function send(agent, cmd)
  if require("agent_ide.tree").is_tree(0) then
    return tree_add(agent, cmd)
  end
  local first, last = cmd.line1, cmd.line2
  local visual = vim.fn.mode():find("^[vV\22sS\19]") ~= nil
  if cmd.range == 0 and visual then
    -- from a <Cmd> mapping, where Visual mode is still on
    first, last = vim.fn.line("v"), vim.fn.line(".")
    vim.cmd.normal({ "\27", bang = true })
  end
  local buf = vim.api.nvim_get_current_buf()
  require("agent_ide.send").lines(agent, buf, math.min(first, last), math.max(first, last))
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
  Send = send,
  SendText = function(agent, cmd)
    require("agent_ide.send").text(agent, cmd.args, cmd.bang)
  end,
  Add = function(agent, cmd)
    add(agent, cmd.fargs)
  end,
  TreeAdd = tree_add,
  DiffAccept = function()
    M.settle("accept")
  end,
  DiffDeny = function()
    M.settle("reject")
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
