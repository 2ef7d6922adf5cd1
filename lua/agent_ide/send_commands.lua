--- What the commands do that send something.
---
--- Owns:     nothing.
--- Not here: what lies where the cursor is (sources.lua), sending it (send.lua), the other commands
---           (commands.lua).
local M = {}

local agents = require("agent_ide.agents")
local notify = require("agent_ide.notify")

---@param problem string
local function refuse(problem)
  notify.show(problem, "warn")
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

--- Mention a path as it was typed.
---@param agent string
---@param words string[] path, first and last line
function M.add(agent, words)
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
---@param items? agent_ide.Item[]
---@param problem? string
local function send_items(agent, items, problem)
  if not items then
    return refuse(problem --[[@as string]])
  end
  require("agent_ide.send").items(agent, items)
end

--- Mention what a file tree shows.
---@param agent string
---@param cmd vim.api.keyset.create_user_command.command_args
function M.tree(agent, cmd)
  local sources = require("agent_ide.sources")
  send_items(agent, sources.tree(sources.range(cmd)))
end

--- Mention what is under the cursor, selected or in the range.
---@param agent string
---@param cmd vim.api.keyset.create_user_command.command_args
function M.here(agent, cmd)
  local sources = require("agent_ide.sources")
  send_items(agent, sources.here(sources.range(cmd)))
end

--- Call back with the agent that a command without one means: the one that is connected, else the
--- one that got something or had the cursor last. With several of them the user is asked.
---@param on_agent fun(agent: string)
local function with_agent(on_agent)
  local connected = {} ---@type table<string, true>
  for _, client in ipairs(require("agent_ide.status").get().clients) do
    connected[client.agent] = true
  end
  local recent = require("agent_ide.terminal.sessions").recent_agent()
  local choices = vim.tbl_filter(function(name)
    return connected[name] == true
  end, agents.names())
  if #choices == 0 and not recent then
    choices = vim.tbl_filter(function(name)
      return agents.config(name).enabled and vim.fn.executable(agents.command(name)[1] or "") == 1
    end, agents.names())
  end
  if recent and (#choices == 0 or connected[recent]) then
    return on_agent(recent)
  elseif #choices < 2 then
    return on_agent(choices[1] or agents.names()[1])
  end
  vim.ui.select(choices, {
    prompt = "Send to:",
    kind = "agent_ide.agent",
    format_item = function(name)
      return agents.get(name).title
    end,
  }, function(name)
    if name then
      on_agent(name)
    end
  end)
end

--- What `:AgentIde send` sends, by its argument.
---@type table<string, fun(range?: agent_ide.Range): agent_ide.Item[]?, string?>
local sendable = {
  buffer = function()
    return require("agent_ide.sources").buffer()
  end,
  quickfix = function()
    return require("agent_ide.sources").quickfix()
  end,
}

--- Send to whichever agent is meant.
---@param what? string
---@param cmd vim.api.keyset.create_user_command.command_args
function M.to_any(what, cmd)
  local sources, sending = require("agent_ide.sources"), require("agent_ide.send")
  require("agent_ide.selection").snapshot(cmd.range == 2)
  local range = sources.range(cmd)
  if what == "again" then
    return sending.again()
  elseif what == "diagnostics" or what == "diagnostic" then
    local lnum = vim.api.nvim_win_get_cursor(0)[1]
    local here = what == "diagnostic" and { first = lnum, last = lnum } or nil
    local items, text = sources.diagnostics(range or here)
    if not items then
      return refuse(text)
    end
    return with_agent(function(agent)
      sending.diagnostics(agent, items, text)
    end)
  elseif what and not sendable[what] then
    return refuse("expected one of " .. table.concat(M.sendable(), ", ") .. ", or nothing")
  end
  local items, problem = (sendable[what] or sources.here)(range)
  if not items then
    return refuse(problem --[[@as string]])
  end
  with_agent(function(agent)
    sending.items(agent, items)
  end)
end

---@return string[]
function M.sendable()
  return { "again", "buffer", "diagnostic", "diagnostics", "quickfix" }
end

--- Mention a path to whichever agent is meant.
---@param words string[]
function M.add_to_any(words)
  with_agent(function(agent)
    M.add(agent, words)
  end)
end

return M
