--- The plugin's own venv: where it is, and whether it can be used.
---
--- Owns:     nothing; it reads what is on disk.
--- Not here: building it (install.lua, python/agent_ide_venv).
local M = {}

local uv = vim.uv

local SOURCE = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")
local ROOT = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(SOURCE)))

--- What may be installed: the pins, with or without those of an extra. A venv keeps its extra when it
--- is built anew.
local LOCKS = { ["requirements.lock"] = true, ["requirements-notebook.lock"] = true }
local DEFAULT_LOCK = "requirements.lock"

---@return string
function M.data_dir()
  return vim.fs.joinpath(vim.fn.stdpath("data") --[[@as string]], "agent_ide")
end

---@return string
function M.dir()
  return vim.fs.joinpath(M.data_dir(), "venv")
end

---@param path string
---@return string?
local function read(path)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local text = file:read("*a")
  file:close()
  return text
end

--- What the builder noted about the venv that is there.
---@return { file: string, lock: string, python: string }?
local function stamp_of()
  local text = read(vim.fs.joinpath(M.dir(), "agent_ide.json"))
  local ok, stamp = pcall(vim.json.decode, text or "")
  return ok and type(stamp) == "table" and LOCKS[stamp.file] and stamp or nil
end

--- The pins to install.
---@param file? string absent: those that the venv has
---@return string path
function M.lock_path(file)
  local stamp = stamp_of()
  return vim.fs.joinpath(ROOT, file or (stamp and stamp.file) or DEFAULT_LOCK)
end

---@param name string a script of ours
---@return string
function M.script_path(name)
  return vim.fs.joinpath(ROOT, "scripts", name)
end

--- The interpreter to run the host with.
---@return string? path
---@return string? reason why there is none, a sentence
function M.python()
  local named = require("agent_ide.config").get().python
  if named then
    return require("agent_ide.interpreter").named(named)
  end
  local python = vim.fs.joinpath(M.dir(), "bin", "python")
  local stamp = stamp_of()
  if not stamp then
    return nil, "its Python packages are not installed yet"
  end
  if stamp.lock ~= vim.fn.sha256(read(M.lock_path(stamp.file)) or "") then
    return nil, "its Python packages are older than the plugin"
  end
  -- after an upgrade of Python the venv's link leads nowhere, or to a Python without the packages
  if uv.fs_realpath(python) ~= stamp.python then
    return nil, "the Python that its packages were installed for has changed"
  end
  return python
end

return M
