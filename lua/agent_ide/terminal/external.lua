--- An agent's CLI in another program: a terminal emulator, a pane of tmux or kitty.
---
--- Owns:     nothing; the program's window is its own.
--- Not here: what the CLI is started with (launch.lua).
local M = {}

--- Such a program's server has an environment of its own, so the CLI's is part of its command line.
---@param request agent_ide.StartRequest
---@return string[]
local function command_line(request)
  local argv = { "env" }
  for _, name in ipairs(request.unset) do
    vim.list_extend(argv, { "-u", name })
  end
  local names = vim.tbl_keys(request.env)
  table.sort(names)
  for _, name in ipairs(names) do
    table.insert(argv, ("%s=%s"):format(name, request.env[name]))
  end
  -- found here: the other program's PATH may be another
  local program = vim.fn.exepath(request.argv[1])
  table.insert(argv, program ~= "" and program or request.argv[1])
  return vim.list_extend(argv, request.argv, 2)
end

---@param argv string[]
---@return string
local function quoted(argv)
  return vim.iter(argv):map(vim.fn.shellescape):join(" ")
end

--- Put the CLI's command line to where the user wants it: {command} as one word, else at the end.
---@param wanted string|string[]
---@param argv string[]
---@param cwd string
---@return string|string[]
local function filled(wanted, argv, cwd)
  local function fill(text)
    local has = text:find("{command}", 1, true) ~= nil
    local plain = text:gsub("{command}", function()
      return quoted(argv)
    end)
    return plain:gsub("{cwd}", function()
      return type(wanted) == "string" and vim.fn.shellescape(cwd) or cwd
    end),
      has
  end
  if type(wanted) == "string" then
    local text, has = fill(wanted)
    return has and text or text .. " " .. quoted(argv)
  end
  local words, anywhere = {}, false
  for _, word in ipairs(wanted) do
    local text, has = fill(word)
    table.insert(words, text)
    anywhere = anywhere or has
  end
  return anywhere and words or vim.list_extend(words, argv)
end

---@param request agent_ide.StartRequest
---@return string|string[]|nil command
---@return string? problem
local function command_of(request)
  local wanted = require("agent_ide.config").get().terminal.external
  local argv = command_line(request)
  if type(wanted) == "function" then
    local ok, command = pcall(wanted, argv, request)
    if not ok or (type(command) ~= "string" and type(command) ~= "table") then
      local reason = ok and "it returned no command" or tostring(command)
      return nil, "the function terminal.external failed: " .. reason
    end
    return command
  elseif not wanted then
    return nil, "the option terminal.external names no program"
  end
  return filled(wanted, argv, request.cwd)
end

---@param request agent_ide.StartRequest
---@return { job: integer }? handle
---@return string? err
function M.start(request)
  local command, problem = command_of(request)
  if not command then
    return nil, problem
  end
  local errors = {}
  local ok, job = pcall(vim.fn.jobstart, command, {
    cwd = request.cwd,
    detach = true, -- its window is the user's, also after Neovim has ended
    stderr_buffered = true,
    on_stderr = function(_, lines)
      errors = lines
    end,
    on_exit = function(_, code)
      request.on_exit(
        code,
        vim.iter(errors):find(function(line)
          return line ~= ""
        end)
      )
    end,
  })
  if not ok or job <= 0 then
    local reason = ok and "it cannot be executed" or tostring(job):gsub("^.-:%d+: ", "")
    return nil, reason
  end
  return { job = job }
end

---@param handle { job: integer }
function M.stop(handle)
  vim.fn.jobstop(handle.job)
end

return M
