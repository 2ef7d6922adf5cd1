--- The provider that runs an agent's CLI in a buffer of Neovim, shown in a split or float.
---
--- Owns:     each CLI's job and buffer, how it was looked at when it was hidden.
--- Not here: windows (native.lua), environment and command line (launch.lua).
local M = {}

local native = require("agent_ide.terminal.native")
local windows = require("agent_ide.windows")

local api = vim.api

---@class agent_ide.Job
---@field buf integer
---@field job integer
---@field view? agent_ide.TerminalView as it was when it was hidden
---@field sizes? agent_ide.Sizes of the other windows before it was shown

---@param job agent_ide.Job
local function remove_windows(job)
  for _, win in ipairs(vim.fn.win_findbuf(job.buf)) do
    native.dismiss(win, job.sizes)
  end
  if api.nvim_buf_is_valid(job.buf) then
    api.nvim_buf_delete(job.buf, { force = true })
  end
end

--- Show it; the cursor stays where it is.
---@param job agent_ide.Job
---@return integer win
local function reveal(job)
  local window = native.show(job.buf, job.view)
  job.sizes = window.sizes or job.sizes
  return window.win
end

---@param buf integer
---@return string? the last thing the CLI has said
local function last_words(buf)
  if not api.nvim_buf_is_valid(buf) then
    return nil
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  for index = #lines, 1, -1 do
    local line = vim.trim(lines[index])
    -- Neovim's own line, "[Process exited 1]"
    if line ~= "" and not line:find("^%[Process exited") then
      return vim.fn.strcharpart(line, 0, 100)
    end
  end
end

---@param request agent_ide.StartRequest
---@param on_exit fun(code: integer)
---@return integer
local function start_here(request, on_exit)
  local opts = {
    cwd = request.cwd,
    env = request.env,
    on_exit = function(_, code)
      on_exit(code)
    end,
  }
  if vim.fn.has("nvim-0.11") == 1 then
    opts.term = true
    return vim.fn.jobstart(request.argv, opts)
  end
  return vim.fn.termopen(request.argv, opts)
end

--- Start the CLI in a buffer that is shown in a window (the window gives the terminal its size).
---@param buf integer
---@param request agent_ide.StartRequest
---@param on_exit fun(code: integer)
---@return integer? job
---@return string? err
local function start_in(buf, request, on_exit)
  local outer = {}
  for _, name in ipairs(request.unset) do
    outer[name] = vim.env[name]
    -- a job can be given variables but none can be taken from it: they go for the moment it starts
    vim.env[name] = nil
  end
  local ok, job = pcall(api.nvim_buf_call, buf, function()
    return start_here(request, on_exit)
  end)
  for name, value in pairs(outer) do
    vim.env[name] = value
  end
  if not ok or job <= 0 then
    local reason = ok and "it cannot be executed" or tostring(job):gsub("^.-:%d+: ", "")
    return nil, reason
  end
  return job
end

---@return boolean
local function auto_insert()
  return require("agent_ide.config").get().terminal.auto_insert
end

---@param request agent_ide.StartRequest
---@return agent_ide.Job? handle
---@return string? err
function M.start(request)
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "hide"
  vim.b[buf].agent_ide_terminal = request.agent
  vim.b[buf].agent_ide_terminal_title = request.name == "" and request.title
    or ("%s: %s"):format(request.title, request.name)
  require("agent_ide.terminal.keys").attach(buf, request.on_focus)
  local handle = { buf = buf, job = 0 } ---@type agent_ide.Job
  local win = reveal(handle)
  local job, err = start_in(buf, request, function(code)
    local words = code ~= 0 and last_words(buf) or nil
    require("agent_ide.terminal.working").forget(buf)
    windows.when_free(function()
      remove_windows(handle)
    end)
    request.on_exit(code, words)
  end)
  if not job then
    remove_windows(handle)
    return nil, err
  end
  handle.job = job
  require("agent_ide.terminal.working").watch(buf)
  if request.focus then
    native.focus(win, auto_insert())
  end
  return handle
end

---@param job agent_ide.Job
---@param cursor agent_ide.Cursor
function M.show(job, cursor)
  local view = job.view
  local win = reveal(job)
  if cursor == "take" then
    native.focus(win, auto_insert())
  elseif cursor == "as_before" and (not view or view.focused) then
    native.focus(win, not view or view.inserting)
  end
end

---@param job agent_ide.Job
function M.hide(job)
  local win = native.window(job.buf)
  if win then
    job.view = native.hide(win, job.sizes)
  end
end

---@param job agent_ide.Job
---@return boolean
function M.visible(job)
  return native.window(job.buf) ~= nil
end

---@param job agent_ide.Job
function M.stop(job)
  vim.fn.jobstop(job.job)
end

---@param job agent_ide.Job
---@param bytes string
---@return boolean
function M.write(job, bytes)
  -- it raises for a job that has just ended; on_exit tells the rest
  return (pcall(api.nvim_chan_send, job.job, bytes))
end

---@param job agent_ide.Job
---@return integer?
function M.pid(job)
  local ok, pid = pcall(vim.fn.jobpid, job.job)
  return ok and pid or nil
end

return M
