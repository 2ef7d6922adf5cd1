--- The terminals of the agents: started, shown, hidden, ended, whoever provides them.
---
--- Owns:     which starts are under way.
--- Not here: the programs and their windows (job.lua, external.lua), which terminal is meant
---           (sessions.lua), environment and command line (launch.lua), what is sent (send.lua).
local M = {}

local agents = require("agent_ide.agents")
local notify = require("agent_ide.notify")
local sessions = require("agent_ide.terminal.sessions")
local windows = require("agent_ide.windows")

local api = vim.api

--- Where the user was when an agent's terminal was asked for and could not be started at once.
---@class agent_ide.Wish
---@field agent agent_ide.Agent
---@field name string
---@field focus boolean
---@field win integer
---@field mode string

--- By sessions.key().
---@type table<string, agent_ide.Wish>
local wishes = {}

---@return boolean windows can neither be opened nor closed now; the user was told
local function blocked()
  if vim.fn.getcmdwintype() == "" then
    return false
  end
  notify.show("close the command-line window first", "warn")
  return true
end

--- Call what a provider may not have, and the user's own may do wrong.
---@param session agent_ide.Session
---@param name string
---@param ... any
---@return any
local function ask(session, name, ...)
  local run = session.provider[name]
  if not run then
    return nil
  end
  local ok, value = pcall(run, session.handle, ...)
  if ok then
    return value
  end
  require("agent_ide.log").error("terminal provider, %s: %s", name, value)
  notify.show(("the terminal provider failed in %s; see :AgentIde log"):format(name), "error")
end

---@param agent agent_ide.Agent
---@param session agent_ide.Session
---@param code integer
---@param last_words? string
local function on_exit(agent, session, code, last_words)
  if vim.v.exiting ~= vim.NIL then
    return
  end
  sessions.remove(session)
  api.nvim_exec_autocmds("User", {
    pattern = "AgentIdeTerminalClosed",
    modeline = false,
    data = { agent = agent.name, name = session.name, code = code },
  })
  if code ~= 0 and not session.stopped then
    local words = last_words and (" (%s)"):format(last_words) or ""
    local message = "%s ended with exit code %d%s; :%s starts it again"
    notify.show(message:format(agent.title, code, words, agent.prefix), "warn")
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

---@param wish agent_ide.Wish
---@param provider agent_ide.Provider
---@param launch agent_ide.Launch
local function run(wish, provider, launch)
  local agent = wish.agent
  ---@type agent_ide.Session
  local session = {
    agent = agent.name,
    name = wish.name,
    tab = sessions.tab(),
    provider = provider,
    stopped = false,
  }
  local ok, handle, err = pcall(provider.start, {
    agent = agent.name,
    title = agent.title,
    name = wish.name,
    argv = launch.argv,
    env = launch.env,
    unset = require("agent_ide.terminal.environment").MISLEADING,
    cwd = launch.cwd,
    focus = still_wanted(wish),
    on_exit = function(code, last_words)
      on_exit(agent, session, code, last_words)
    end,
    on_focus = function()
      sessions.use(session)
    end,
  })
  if not ok or handle == nil then
    local reason = ok and (err or "the provider gave no reason") or handle
    return notify.show(("%s did not start: %s"):format(agent.title, reason), "error")
  end
  session.handle = handle
  sessions.add(session)
end

---@param agent agent_ide.Agent
---@return boolean
local function is_installed(agent)
  local program = agents.command(agent.name)[1]
  if program and vim.fn.executable(program) == 1 then
    return true
  end
  local message = "%s: there is no program %s; %s, or set the option %s.command"
  local text = message:format(agent.title, vim.inspect(program), agent.install_hint, agent.name)
  notify.show(text, "error")
  return false
end

---@param name string of the agent
---@param session_name string
---@param args string[]
---@param focus boolean
local function start(name, session_name, args, focus)
  local agent, provider = agents.get(name), require("agent_ide.terminal.provider").get()
  if not provider then
    if focus then
      local message = "terminal.provider is none: start %s in a terminal of yours (:AgentIde env)"
      notify.show(message:format(agent.title))
    end
    return
  elseif not is_installed(agent) then
    return
  end
  local key = sessions.key(name, session_name)
  local waiting = wishes[key] ~= nil
  wishes[key] = {
    agent = agent,
    name = session_name,
    focus = focus,
    win = api.nvim_get_current_win(),
    mode = api.nvim_get_mode().mode,
  }
  if waiting then
    return
  end
  require("agent_ide.terminal.launch").prepare(agent, session_name, args, function(launch)
    windows.when_free(function()
      local wish = wishes[key]
      wishes[key] = nil
      -- nil: closed again before it could start
      if wish then
        run(wish, provider, launch)
      end
    end)
  end)
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
  return sessions.recent(name) ~= nil
end

---@param name string
---@param session_name? string
---@return boolean shown in the current tab page
function M.visible(name, session_name)
  local session = sessions.find(name, session_name)
  return session ~= nil and ask(session, "visible") == true
end

--- Process id of the CLI in the terminal of an agent that was used last.
---@param name string
---@return integer?
function M.pid(name)
  local session = sessions.recent(name)
  return session and ask(session, "pid")
end

--- Show the terminal of an agent that was used last, start its CLI where none runs. The cursor stays
--- where it is.
---@param name string
function M.show(name)
  local session = sessions.recent(name)
  if blocked() then
    return
  elseif session then
    ask(session, "show", "keep")
  elseif not wishes[sessions.key(name)] then
    start(name, "", {}, false)
  end
end

--- Show an agent's terminal and go there; starts its CLI where it does not run.
---@param name string
---@param args? string[] for the CLI
---@param session_name? string
function M.open(name, args, session_name)
  local session = sessions.find(name, session_name)
  if blocked() then
    return
  elseif not session then
    return start(name, session_name or "", args or {}, true)
  end
  mention_ignored_arguments(name, args)
  sessions.use(session)
  ask(session, "show", "take")
end

M.focus = M.open

--- Go to the terminal of an agent that was used last.
---@param name string
function M.focus_recent(name)
  local session = sessions.recent(name)
  M.open(name, nil, session and session.name)
end

--- Hide an agent's terminal. Its CLI goes on.
---@param name string
---@param session_name? string
function M.close(name, session_name)
  wishes[sessions.key(name, session_name)] = nil
  local session = sessions.find(name, session_name)
  if session and ask(session, "visible") and not blocked() then
    ask(session, "hide")
  end
end

--- Hide a terminal that is shown, show one that is hidden, as it was: a terminal that had the
--- cursor gets it back, in the same mode; otherwise the cursor does not move.
---@param name string
---@param args? string[] for the CLI when it is started
---@param session_name? string
function M.toggle(name, args, session_name)
  local session = sessions.find(name, session_name)
  if wishes[sessions.key(name, session_name)] or M.visible(name, session_name) then
    return M.close(name, session_name)
  elseif blocked() then
    return
  elseif not session then
    return start(name, session_name or "", args or {}, true)
  end
  mention_ignored_arguments(name, args)
  sessions.use(session)
  if not session.provider.show then
    local title = agents.get(name).title
    return notify.show(title .. " runs in a window that Neovim cannot show or hide")
  end
  ask(session, "show", "as_before")
end

--- End the CLI in the terminal of an agent that was used last.
---@param name string
---@return boolean there was one
function M.stop(name)
  wishes[sessions.key(name)] = nil
  local session = sessions.recent(name)
  if not session then
    return false
  end
  session.stopped = true
  ask(session, "stop")
  return true
end

--- Write bytes to the CLI in the terminal of an agent that was used last, as if they were typed.
---@param name string
---@param bytes string
---@return boolean sent
function M.write(name, bytes)
  local session = sessions.recent(name)
  return session ~= nil and ask(session, "write", bytes) == true
end

return M
