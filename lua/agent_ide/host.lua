--- The host's process: start, watch, restart, stop.
---
--- Owns:     the job and what is known of it, the back-off.
--- Not here: the channel's use (rpc.lua), the venv (install.lua), what the host serves (status.lua),
---           what it is told first (facts.lua), the files it would leave (left_files.lua).
local M = {}

local uv = vim.uv

local facts = require("agent_ide.facts")

local BACK_OFF_MS = 200
local UNWANTED_ENDS = 4
local WINDOW_MS = 60 * 1000
--- How long the process may take to end after a polite stop.
local STOP_MS = 2000
--- How long Neovim's end waits for it; it takes some milliseconds.
local EXIT_MS = 2000
--- How long a hello may be on its way.
local HELLO_MS = 20
local STDERR_LINES = 20

--- glibc learns from the first large text to keep memory of that size for itself. With this it gives
--- it back: after a diff of 10 MB the host weighs 52 MB, not 120 (doc/decisions/006). More than the
--- 256 KiB that asyncio asks for at each read, which would be slower.
local ALLOCATION = { MALLOC_MMAP_THRESHOLD_ = tostring(512 * 1024) }

---@alias agent_ide.host.Phase
---| "off"        nothing runs, nothing is to run
---| "installing" an interpreter is being looked for
---| "running"    the process lives
---| "stopping"   it was asked to end
---| "waiting"    it ended by itself and will be started again
---| "given_up"   it ended too often

---@class agent_ide.host.State
---@field phase agent_ide.host.Phase
---@field job? integer
---@field pid? integer
---@field version? string what the host said in its hello
---@field greeted? boolean the host that ran last has said hello
---@field stderr string[] its last lines
---@field ends integer[] when it ended unwanted, in ms, within the last minute
---@field after_stop? fun() what to do once it has ended
---@field timer? uv.uv_timer_t

---@type agent_ide.host.State
local state = { phase = "off", stderr = {}, ends = {} }

local function remove_files()
  require("agent_ide.left_files").remove()
  require("agent_ide.status").forget_servers()
end

local function clear_timer()
  if state.timer then
    state.timer:stop()
    state.timer:close()
    state.timer = nil
  end
end

local spawn

---@param code integer
local function give_up(code)
  state.phase = "given_up"
  remove_files()
  require("agent_ide.notify").show(
    ("its host ended %d times within a minute (exit code %d); see :AgentIde log, then :AgentIde restart"):format(
      #state.ends,
      code
    ),
    "error"
  )
end

---@param code integer
local function ended_unwanted(code)
  local now = uv.now()
  state.ends = vim.tbl_filter(function(moment)
    return now - moment < WINDOW_MS
  end, state.ends)
  table.insert(state.ends, now)
  if #state.ends >= UNWANTED_ENDS then
    return give_up(code)
  end
  state.phase = "waiting"
  state.timer = assert(uv.new_timer())
  state.timer:start(
    BACK_OFF_MS * 2 ^ (#state.ends - 1),
    0,
    vim.schedule_wrap(function()
      clear_timer()
      if state.phase == "waiting" then
        M.launch()
      end
    end)
  )
end

---@param job integer
---@param code integer
local function on_exit(job, code)
  -- of another job, or these modules were loaded anew and others look after the host by now
  if job ~= state.job or package.loaded["agent_ide.host"] ~= M then
    return
  end
  local wanted = state.phase == "stopping"
  state.job, state.pid, state.version = nil, nil, nil
  require("agent_ide.rpc").detach()
  require("agent_ide.tracking").disable()
  require("agent_ide.folders").unwatch()
  require("agent_ide.diff").host_gone()
  local log = require("agent_ide.log")
  log.info("the host ended with code %d%s", code, wanted and "" or ", unwanted")
  if not wanted and #state.stderr > 0 then
    log.error("its last words:\n%s", table.concat(state.stderr, "\n"))
  end
  if not wanted then
    require("agent_ide.status").host_gone()
    return ended_unwanted(code)
  end
  state.phase = "off"
  remove_files()
  local after_stop = state.after_stop
  state.after_stop = nil
  if after_stop then
    after_stop()
  end
end

---@param lines string[]
local function on_stderr(_, lines)
  for _, line in ipairs(lines) do
    if line ~= "" then
      table.insert(state.stderr, line)
    end
  end
  while #state.stderr > STDERR_LINES do
    table.remove(state.stderr, 1)
  end
end

---@param python string
function spawn(python)
  state.stderr = {}
  require("agent_ide.predecessor").finish()
  local ok, job = pcall(vim.fn.jobstart, {
    python,
    -- isolated: nothing of the user's PYTHONPATH or site gets in
    "-I",
    "-X",
    "utf8",
    "-c",
    "import pynvim; pynvim.start_host()",
    facts.root .. "/rplugin/python3/agent_ide_host.py",
  }, { rpc = true, env = ALLOCATION, on_exit = on_exit, on_stderr = on_stderr })
  if not ok or job <= 0 then
    state.phase = "off"
    require("agent_ide.notify").show(
      ("its host cannot be started with %s; see :checkhealth agent_ide"):format(python),
      "error"
    )
    return
  end
  state.job, state.phase, state.greeted = job, "running", false
  state.pid = vim.fn.jobpid(job)
  local rpc = require("agent_ide.rpc")
  rpc.attach(job)
  rpc.notify("start", facts.start())
  require("agent_ide.folders").watch()
end

--- Find an interpreter (the venv is built when there is none) and start the host with it.
function M.launch()
  state.phase = "installing"
  require("agent_ide.install").ensure(function(python, err)
    if state.phase ~= "installing" then
      return
    end
    if python then
      spawn(python)
    else
      state.phase = "off"
      remove_files()
      if err then
        require("agent_ide.notify").show(err, "error")
      end
    end
    -- one that ended before its first word may lack packages
  end, #state.ends > 0 and not state.greeted)
end

--- Start the host unless it runs or is about to.
function M.start()
  if state.phase == "off" or state.phase == "given_up" then
    state.ends = {}
    M.launch()
  end
end

---@param after? fun() called once the host has ended
function M.stop(after)
  clear_timer()
  if state.phase ~= "running" then
    if state.phase == "stopping" then
      state.after_stop = after or state.after_stop
      return
    end
    state.phase = "off"
    remove_files()
    if after then
      after()
    end
    return
  end
  state.phase, state.after_stop = "stopping", after
  require("agent_ide.rpc").notify("stop")
  local job = state.job
  -- one that stands still would not hear it
  uv.kill(assert(state.pid), "sigcont")
  vim.defer_fn(function()
    if state.job == job and state.phase == "stopping" then
      vim.fn.jobstop(job)
    end
  end, STOP_MS)
end

--- Stop and start; not counted as an unwanted end.
function M.restart()
  state.ends = {}
  M.stop(M.start)
end

--- Neovim ends: the host goes at once, and nothing of it is left. Waited for here, where what was told
--- to it is still read, and not later, where Neovim waits for it all the same but has closed the pipe.
function M.stop_on_exit()
  clear_timer()
  local job, pid = state.job, state.pid
  state.phase = "stopping"
  if job and pid then
    require("agent_ide.rpc").notify("stop", { now = true })
    -- one that stands still would not hear it
    uv.kill(pid, "sigcont")
    -- one that has not said hello has no files and nothing to finish, but imports for a while
    local is_up = vim.wait(HELLO_MS, function()
      return state.greeted
    end, 1)
    if not is_up or vim.fn.jobwait({ job }, EXIT_MS)[1] == -1 then
      uv.kill(pid, "sigkill")
    end
  end
  remove_files()
end

---@param args { version: string, pid: integer }
---@param reply agent_ide.Reply
function M.on_hello(args, reply)
  state.version, state.greeted = args.version, true
  if facts.version ~= args.version then
    require("agent_ide.notify").show(
      ("was updated from %s to %s: restart Neovim to use it"):format(facts.version, args.version),
      "warn"
    )
  end
  reply()
end

---@class agent_ide.host.Info
---@field phase agent_ide.host.Phase
---@field pid? integer
---@field version? string
---@field root string

---@return agent_ide.host.Info
function M.info()
  return { phase = state.phase, pid = state.pid, version = state.version, root = facts.root }
end

return M
