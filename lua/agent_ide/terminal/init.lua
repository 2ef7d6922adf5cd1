--- The terminal of each agent: its CLI as a job in a buffer, shown in a split.
---
--- Owns:     one job and one buffer per agent, how it was looked at when it was hidden.
--- Not here: windows (native.lua), environment and command line (launch.lua), what is sent (send.lua).
local M = {}

local agents = require("agent_ide.agents")
local native = require("agent_ide.terminal.native")
local notify = require("agent_ide.notify")
local windows = require("agent_ide.windows")

local api = vim.api

---@class agent_ide.Terminal
---@field buf integer
---@field job integer
---@field pid integer
---@field stopped boolean ended by us: no message about its exit code
---@field view? agent_ide.TerminalView as it was when it was hidden
---@field sizes? agent_ide.Sizes of the other windows before it was shown

--- The running ones, by agent. An entry goes when its job ends.
---@type table<string, agent_ide.Terminal>
local terminals = {}

--- Where the user was when an agent's terminal was asked for and could not be started at once.
---@class agent_ide.Wish
---@field focus boolean
---@field win integer
---@field mode string

---@type table<string, agent_ide.Wish>
local wishes = {}

---@param terminal agent_ide.Terminal
local function remove_windows(terminal)
  for _, win in ipairs(vim.fn.win_findbuf(terminal.buf)) do
    native.dismiss(win, terminal.sizes)
  end
  if api.nvim_buf_is_valid(terminal.buf) then
    api.nvim_buf_delete(terminal.buf, { force = true })
  end
end

--- Show a terminal that runs; the cursor stays where it is.
---@param terminal agent_ide.Terminal
---@return integer win
local function reveal(terminal)
  local window = native.show(terminal.buf, terminal.view)
  terminal.sizes = window.sizes or terminal.sizes
  return window.win
end

---@return boolean windows can neither be opened nor closed now; the user was told
local function blocked()
  if vim.fn.getcmdwintype() == "" then
    return false
  end
  notify.show("close the command-line window first", "warn")
  return true
end

---@param buf integer
---@return string the last thing the CLI has said, for a message
local function last_words(buf)
  if not api.nvim_buf_is_valid(buf) then
    return ""
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  for index = #lines, 1, -1 do
    local line = vim.trim(lines[index])
    -- Neovim's own line, "[Process exited 1]"
    if line ~= "" and not line:find("^%[Process exited") then
      return (" (%s)"):format(vim.fn.strcharpart(line, 0, 100))
    end
  end
  return ""
end

---@param agent agent_ide.Agent
---@param terminal agent_ide.Terminal
---@param code integer
local function on_exit(agent, terminal, code)
  if vim.v.exiting ~= vim.NIL then
    return
  end
  if terminals[agent.name] == terminal then
    terminals[agent.name] = nil
  end
  local words = code ~= 0 and last_words(terminal.buf) or ""
  windows.when_free(function()
    remove_windows(terminal)
  end)
  if code ~= 0 and not terminal.stopped then
    notify.show(
      ("%s ended with exit code %d%s; :%s starts it again"):format(
        agent.title,
        code,
        words,
        agent.prefix
      ),
      "warn"
    )
  end
end

--- The user may have gone elsewhere while the CLI was being started: the cursor is not taken then.
---@param wish agent_ide.Wish
---@return boolean
local function still_wanted(wish)
  return wish.focus
    and api.nvim_get_current_win() == wish.win
    and api.nvim_get_mode().mode == wish.mode
end

---@param agent agent_ide.Agent
---@param launch agent_ide.Launch
local function run(agent, launch)
  local wish = wishes[agent.name]
  wishes[agent.name] = nil
  if not wish then
    return -- closed again before it could start
  end
  local focus = still_wanted(wish)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "hide"
  vim.b[buf].agent_ide_terminal = agent.name
  local terminal = { buf = buf, job = 0, pid = 0, stopped = false }
  local win = reveal(terminal)
  local job, err = require("agent_ide.terminal.launch").start(buf, launch, function(code)
    on_exit(agent, terminal, code)
  end)
  if not job then
    remove_windows(terminal)
    notify.show(("%s did not start: %s"):format(agent.title, err), "error")
    return
  end
  terminal.job, terminal.pid = job, vim.fn.jobpid(job)
  terminals[agent.name] = terminal
  if focus then
    native.focus(win, require("agent_ide.config").get().terminal.auto_insert)
  end
end

---@param name string
---@param args string[]
---@param focus boolean
local function start(name, args, focus)
  local agent = agents.get(name)
  local program = agents.command(name)[1]
  if not program or vim.fn.executable(program) == 0 then
    local message = "%s: there is no program %s; %s, or set the option %s.command"
    return notify.show(
      message:format(agent.title, vim.inspect(program), agent.install_hint, name),
      "error"
    )
  end
  local waiting = wishes[name] ~= nil
  wishes[name] = {
    focus = focus,
    win = api.nvim_get_current_win(),
    mode = api.nvim_get_mode().mode,
  }
  if not waiting then
    require("agent_ide.terminal.launch").prepare(agent, args, function(launch)
      windows.when_free(function()
        run(agent, launch)
      end)
    end)
  end
end

---@param name string
---@param args? string[]
local function mention_ignored_arguments(name, args)
  if args and #args > 0 then
    local agent = agents.get(name)
    notify.show(("%s is running already: arguments count at its next start"):format(agent.title))
  end
end

---@param name string
---@return boolean
function M.running(name)
  return terminals[name] ~= nil
end

---@param name string
---@return boolean shown in the current tab page
function M.visible(name)
  return terminals[name] ~= nil and native.window(terminals[name].buf) ~= nil
end

--- Process id of the CLI in an agent's terminal.
---@param name string
---@return integer?
function M.pid(name)
  return terminals[name] and terminals[name].pid
end

--- Show an agent's terminal, start its CLI where it does not run. The cursor stays where it is.
---@param name string
function M.show(name)
  local terminal = terminals[name]
  if blocked() then
    return
  elseif terminal then
    reveal(terminal)
  elseif not wishes[name] then
    start(name, {}, false)
  end
end

--- Show an agent's terminal and go there; starts its CLI where it does not run.
---@param name string
---@param args? string[] for the CLI
function M.open(name, args)
  local terminal = terminals[name]
  if blocked() then
    return
  elseif not terminal then
    return start(name, args or {}, true)
  end
  mention_ignored_arguments(name, args)
  local win = reveal(terminal)
  native.focus(win, require("agent_ide.config").get().terminal.auto_insert)
end

M.focus = M.open

--- Hide an agent's terminal. Its CLI goes on.
---@param name string
function M.close(name)
  wishes[name] = nil
  local terminal = terminals[name]
  local win = terminal and native.window(terminal.buf)
  if win and not blocked() then
    terminal.view = native.hide(win, terminal.sizes)
  end
end

--- Hide a terminal that is shown, show one that is hidden, as it was: a terminal that had the
--- cursor gets it back, in the same mode; otherwise the cursor does not move.
---@param name string
---@param args? string[] for the CLI when it is started
function M.toggle(name, args)
  local terminal = terminals[name]
  if wishes[name] or M.visible(name) then
    return M.close(name)
  elseif blocked() then
    return
  elseif not terminal then
    return start(name, args or {}, true)
  end
  mention_ignored_arguments(name, args)
  local win = reveal(terminal)
  if not terminal.view or terminal.view.focused then
    native.focus(win, not terminal.view or terminal.view.inserting)
  end
end

--- End the CLI in an agent's terminal.
---@param name string
---@return boolean there was one
function M.stop(name)
  wishes[name] = nil
  local terminal = terminals[name]
  if not terminal then
    return false
  end
  terminal.stopped = true
  vim.fn.jobstop(terminal.job)
  return true
end

--- Write bytes to the CLI as if they were typed.
---@param name string
---@param bytes string
---@return boolean sent
function M.write(name, bytes)
  local terminal = terminals[name]
  -- it raises for a job that has just ended; on_exit tells the rest
  return terminal ~= nil and (pcall(api.nvim_chan_send, terminal.job, bytes))
end

return M
