--- What a CLI says about itself (--help, --version), asked once per binary.
---
--- Owns:     the answers, by binary; also in stdpath("cache"), since a CLI takes a second to answer.
--- Not here: what the answer means (agents/<name>.lua).
local M = {}

local uv = vim.uv

--- A CLI that has not answered by then is started without what we wanted to know.
local DEADLINE_MS = 10000

---@type table<string, string>
local answers = {}

--- Names a binary as it is now: an update changes time or size.
---@param command string[]
---@param flag string
---@return string? key nil: there is no such program
local function key_of(command, flag)
  local path = vim.fn.exepath(command[1])
  local stat = path ~= "" and uv.fs_stat(path)
  if not stat then
    return nil
  end
  local mtime = ("%d.%09d"):format(stat.mtime.sec, stat.mtime.nsec)
  local words = vim.list_extend({ flag, path, mtime, tostring(stat.size) }, command, 2)
  return table.concat(words, "\n")
end

---@param key string
---@return string
local function cache_path(key)
  local folder = vim.fs.joinpath(vim.fn.stdpath("cache") --[[@as string]], "agent_ide", "cli")
  return vim.fs.joinpath(folder, vim.fn.sha256(key):sub(1, 16))
end

---@param key string
---@return string?
local function cached(key)
  if not answers[key] then
    local file = io.open(cache_path(key), "r")
    if file then
      answers[key] = file:read("*a")
      file:close()
    end
  end
  return answers[key]
end

---@param key string
---@param text string
local function keep(key, text)
  answers[key] = text
  local path = cache_path(key)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = io.open(path, "w")
  if file then
    file:write(text)
    file:close()
  end
end

--- Ask a CLI. Never blocks.
---@param command string[] program and leading arguments
---@param flag "--help"|"--version"
---@param on_text fun(text: string) "" when it could not be learned
function M.ask(command, flag, on_text)
  local key = key_of(command, flag)
  local known = key and cached(key)
  if not key or known then
    return on_text(known or "")
  end
  local argv = vim.list_extend(vim.deepcopy(command), { flag })
  local done = vim.schedule_wrap(function(result)
    if result.code == 0 and result.stdout ~= "" then
      keep(key, result.stdout)
    else
      require("agent_ide.log").warn("%s %s ended with %d", command[1], flag, result.code)
    end
    on_text(result.stdout or "")
  end)
  local started = pcall(vim.system, argv, { text = true, timeout = DEADLINE_MS }, done)
  if not started then
    on_text("")
  end
end

return M
