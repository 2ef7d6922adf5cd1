--- The plugin's own venv: build it, remove it.
---
--- Owns:     the build that runs: its process, who waits for it.
--- Not here: is the venv usable (venv.lua), how one is built (python/agent_ide_venv), starting the
---           host (host.lua).
local M = {}

local interpreter = require("agent_ide.interpreter")
local venv = require("agent_ide.venv")
local uv = vim.uv

local NO_PYTHON = "there is no Python 3.11 or newer: install python3 or uv"
--- What may be added to the packages: the file with its pins.
local EXTRAS = { notebook = "requirements-notebook.lock" }

local LOG_BYTES = 1024 * 1024

--- A path, or nil and one sentence for the user. `ready`: nothing had to be built.
---@alias agent_ide.install.Done fun(python: string?, err: string?, ready: boolean?)

---@class agent_ide.install.Build
---@field waiting agent_ide.install.Done[] told when it ends
---@field step string what it does now
---@field ready boolean the venv was as it should be, nothing was built
---@field process? vim.SystemObj nil while an interpreter is looked for
---@field cancelled boolean

--- The build that runs; nil while none does.
---@type agent_ide.install.Build?
local build

--- See venv.lua: the interpreter to run the host with, or nil and the reason.
M.python = venv.python

---@return string
function M.log_path()
  return vim.fs.joinpath(vim.fn.stdpath("log") --[[@as string]], "agent_ide_install.log")
end

---@return string? what a running build does now; nil: none runs
function M.step()
  return build and build.step
end

---@param python string?
---@param err string?
local function finish(python, err)
  local ended = assert(build)
  build = nil
  if err then
    require("agent_ide.log").error("install: %s", err)
  end
  for _, done in ipairs(ended.waiting) do
    done(python, err, ended.ready)
  end
end

---@param message string
local function fail(message)
  local text = "the install failed: %s. Details: %s. :AgentIde install tries again"
  finish(nil, text:format(message, M.log_path()))
end

---@param this agent_ide.install.Build
---@param result vim.SystemCompleted
---@param last_error string?
local function on_exit(this, result, last_error)
  if this.cancelled then
    return finish(nil, "the install was stopped")
  end
  if result.stderr ~= "" then
    require("agent_ide.log").error("install: %s", result.stderr)
  end
  if result.code ~= 0 then
    return fail(last_error or ("it ended with code %d"):format(result.code))
  end
  local python, reason = M.python()
  if not python then
    return fail(reason --[[@as string]])
  end
  finish(python)
end

--- Options of the builder.
---@param file? string the pins; absent: those that the venv has
---@return string[]
local function builder_args(file)
  local config = require("agent_ide.config").get()
  local args = { venv.dir(), "--lock", venv.lock_path(file), "--log", M.log_path() }
  if config.install_wheels then
    vim.list_extend(args, { "--wheels", vim.fs.normalize(config.install_wheels) })
  end
  if config.install_index then
    vim.list_extend(args, { "--index", config.install_index })
  end
  return args
end

---@param this agent_ide.install.Build
---@param command string[] the whole command line
local function run_builder(this, command)
  local last_error
  local function on_line(line)
    local kind, text = line:match("^(%l+) (.*)$")
    if kind == "step" then
      this.step = text
    elseif kind == "ready" then
      this.ready = true
    elseif kind == "error" then
      last_error = text
    end
  end
  local rest = ""
  local function on_output(_, data)
    local lines = vim.split(rest .. (data or "\n"), "\n", { plain = true })
    rest = table.remove(lines)
    vim.iter(lines):each(on_line)
  end
  local options = { text = true, stdout = on_output }
  local started, process = pcall(vim.system, command, options, function(result)
    vim.schedule(function()
      on_exit(this, result, last_error)
    end)
  end)
  if not started then
    return fail(tostring(process))
  end
  this.process = process
end

--- A build that Neovim's end would leave running is told to stop; it tidies up by itself.
local function stop_with_neovim()
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("agent_ide.install", {}),
    callback = M.cancel,
  })
end

--- Build the venv, or join the build that runs. Never blocks.
---@param done agent_ide.install.Done err is for the user; the caller shows it
---@param lock? string file with the pins; absent: those that the venv has, or the plain ones
function M.build(done, lock)
  if build then
    table.insert(build.waiting, done)
    return
  end
  local this = { waiting = { done }, step = "starting", ready = false, cancelled = false }
  build = this
  local log = uv.fs_stat(M.log_path())
  if log and log.size > LOG_BYTES then
    uv.fs_unlink(M.log_path())
  end
  stop_with_neovim()
  interpreter.find(function(command)
    if this.cancelled then
      finish(nil, "the install was stopped")
    elseif command then
      table.insert(command, venv.script_path("make_venv.py"))
      run_builder(this, vim.list_extend(command, builder_args(lock)))
    else
      fail(NO_PYTHON)
    end
  end)
end

function M.cancel()
  if build then
    build.cancelled = true
    if build.process then
      build.process:kill("sigterm")
    end
  end
end

---@param on_done agent_ide.install.Done
local function build_and_tell(on_done)
  local begin = require("agent_ide.progress").begin
  local progress = begin("installing its Python packages, once, in the background")
  M.build(function(python, err)
    if python then
      progress.done("its Python packages are installed")
    else
      progress.failed()
    end
    on_done(python, err)
  end)
end

--- There is no interpreter that can be used: build where the option `install` allows it.
---@param reason string
---@param on_done agent_ide.install.Done
local function provide(reason, on_done)
  local refused = reason .. ": run :AgentIde install"
  local wish = require("agent_ide.config").get().install
  if wish == "never" then
    return on_done(nil, refused)
  elseif wish == "auto" then
    return build_and_tell(on_done)
  end
  local prompt = ("agent_ide: %s. Install them now?"):format(reason)
  vim.ui.select({ "Yes", "No" }, { prompt = prompt, kind = "agent_ide.confirm" }, function(choice)
    if choice == "Yes" then
      build_and_tell(on_done)
    else
      on_done(nil, refused)
    end
  end)
end

--- What host.lua starts with: an interpreter, after a build where the option `install` allows it.
---@param on_done agent_ide.install.Done err is for the user; the caller shows it
---@param suspect? boolean a host that was started with it has failed: see whether its packages load
function M.ensure(on_done, suspect)
  local python, reason = M.python()
  if require("agent_ide.config").get().python then
    return on_done(python, reason)
  elseif not python then
    return provide(reason --[[@as string]], on_done)
  elseif not suspect then
    return on_done(python)
  end
  interpreter.loads_packages(python, function(loads)
    if loads then
      return on_done(python)
    end
    provide("its Python packages do not load", on_done)
  end)
end

--- :AgentIde install [extra]. Builds what is missing, then gives the host its new packages.
---@param extra? string "notebook": what running code in a notebook needs as well
function M.run(extra)
  local show = require("agent_ide.notify").show
  local named = require("agent_ide.config").get().python
  if named then
    return show(("nothing to install: the option python names %s"):format(named))
  elseif extra and not EXTRAS[extra] then
    return show(("there is no extra %q, only notebook"):format(extra), "error")
  end
  if extra and build then
    return show("an install is running: try again when it has ended", "warn")
  end
  local progress =
    require("agent_ide.progress").begin("installing its Python packages in the background")
  M.build(function(python, err, ready)
    if not python then
      progress.failed()
      return show(err --[[@as string]], "error")
    end
    progress.done("its Python packages are " .. (ready and "up to date" or "installed"))
    if not (ready and require("agent_ide.rpc").attached()) then
      require("agent_ide.host").restart()
    end
  end, EXTRAS[extra])
end

local function remove()
  local pattern = vim.fn.escape(venv.dir(), "*?[]{}`\\$") .. "*"
  local left = vim.iter(vim.fn.glob(pattern, true, true)):filter(function(path)
    return vim.fn.delete(path, "rf") ~= 0
  end)
  local path = left:next()
  if path then
    return require("agent_ide.notify").show("could not remove " .. path, "error")
  end
  -- only when nothing else lies in it
  uv.fs_rmdir(venv.data_dir())
  require("agent_ide.notify").show("its Python packages are removed; now remove the plugin itself")
end

--- :AgentIde uninstall. Takes away what the plugin has put outside its own folder.
function M.uninstall()
  require("agent_ide.host").stop()
  if not build then
    return remove()
  end
  table.insert(build.waiting, remove)
  M.cancel()
end

return M
