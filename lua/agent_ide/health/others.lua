--- Who else claims to be an IDE for this folder: dead ones, other editors, other plugins.
---
--- Owns:     nothing.
local M = {}

local files = require("agent_ide.health.files")
local health = vim.health

---@return table<string, true> lock files of this Neovim
local function own_files()
  local own = {}
  for _, server in ipairs(require("agent_ide.status").get().servers) do
    for _, path in ipairs(server.files) do
      own[path] = true
    end
  end
  return own
end

---@param folders any of a lock
---@return boolean an agent started in one of Neovim's folders may choose it
local function overlaps(folders)
  if type(folders) ~= "table" then
    return false
  end
  for _, mine in ipairs(require("agent_ide.folders").list()) do
    local real = vim.uv.fs_realpath(mine) or mine
    for _, theirs in ipairs(folders) do
      local prefix = type(theirs) == "string" and (theirs:gsub("/*$", "/"))
      if
        prefix and (vim.startswith(mine .. "/", prefix) or vim.startswith(real .. "/", prefix))
      then
        return true
      end
    end
  end
  return false
end

---@param path string
---@param title string of the agent
local function check_lock(path, title)
  local lock = files.json(path)
  local pid, name = files.at(lock, "pid"), files.at(lock, "ideName")
  if type(pid) ~= "number" then
    return
  end
  local _, _, code = vim.uv.kill(pid, 0)
  if code == "ESRCH" then
    local text = ("%s is a lock of a process that is gone (%s, pid %d)"):format(path, name, pid)
    return health.warn(text, "rm " .. vim.fn.shellescape(path))
  elseif pid == vim.fn.getpid() or not overlaps(files.at(lock, "workspaceFolders")) then
    return
  end
  local text =
    "%s (pid %d) is an IDE for this folder too: a %s that is not started from Neovim may choose it"
  health.warn(text:format(name, pid, title), {
    ("choose with /ide in %s, or start it with the agent's command in Neovim"):format(title),
    "in a terminal outside, `:AgentIde env` says what leads to this Neovim",
  })
end

local function check_locks()
  local own = own_files()
  for _, name in ipairs(require("agent_ide.agents").names()) do
    local agent = require("agent_ide.agents").get(name)
    for _, folder in ipairs(agent.lock_folders and agent.lock_folders() or {}) do
      for entry in vim.fs.dir(folder) do
        local path = vim.fs.joinpath(folder, entry)
        if entry:find("%.lock$") and not own[path] then
          check_lock(path, agent.title)
        end
      end
    end
  end
end

--- The other plugin defines the same commands and serves the same CLI.
local function check_plugins()
  local ours = vim.fs.dirname(
    vim.fs.dirname(vim.api.nvim_get_runtime_file("lua/agent_ide/init.lua", false)[1])
  )
  for _, path in ipairs(vim.api.nvim_get_runtime_file("lua/claudecode/init.lua", true)) do
    if not vim.startswith(path, ours .. "/") then
      local folder = path:gsub("/lua/claudecode/init.lua$", "")
      health.error(
        "claudecode.nvim is installed as well: both define :ClaudeCode and serve Claude Code ("
          .. folder
          .. ")",
        "remove it; its options are taken, see :help agent_ide-claudecode"
      )
    end
  end
end

function M.check()
  health.start("agent_ide: other IDEs")
  check_locks()
  check_plugins()
end

return M
