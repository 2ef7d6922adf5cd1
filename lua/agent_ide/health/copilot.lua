--- What in Copilot CLI's own settings keeps its diffs, or itself, away from Neovim.
---
--- Owns:     nothing.
--- Source:   Copilot CLI 1.0.102: settings.json (ide.openDiffOnEdit, ide.autoConnect).
local M = {}

local files = require("agent_ide.health.files")
local add = files.add

--- Arguments with which it does not ask before an edit.
local NOT_ASKING = { ["--allow-all"] = true, ["--allow-all-tools"] = true, ["--yolo"] = true }

---@return string
local function folder()
  local config = require("agent_ide.agents").config("copilot")
  local named = config.env.COPILOT_HOME or vim.env.COPILOT_HOME
  local default = vim.fs.joinpath(vim.uv.os_homedir() or "~", ".copilot")
  return named and named ~= "" and named or default
end

--- The folders that it looks for locks in.
---@return string[]
function M.lock_folders()
  return { vim.fs.joinpath(folder(), "ide") }
end

---@param found agent_ide.Finding[]
local function check_settings(found)
  for _, name in ipairs({ "settings.json", "config.json" }) do
    local path = vim.fs.joinpath(folder(), name)
    local ide = files.at(files.json(path), "ide")
    if files.at(ide, "openDiffOnEdit") == false then
      local text = "its setting ide.openDiffOnEdit is false: no diff comes to Neovim (%s)"
      add(found, "error", text:format(path), "type /ide in Copilot and switch on the diffs")
    end
    if files.at(ide, "autoConnect") == false then
      local text = "its setting ide.autoConnect is false: it does not connect by itself (%s)"
      add(found, "warn", text:format(path), "type /ide in Copilot, to connect or to switch that on")
    end
  end
end

---@param found agent_ide.Finding[]
local function check_permissions(found)
  for _, arg in ipairs(require("agent_ide.agents").config("copilot").args) do
    if NOT_ASKING[arg] then
      local text = ("copilot.args has %s: it writes without asking, and shows no diffs"):format(arg)
      add(found, "warn", text, "take it out of copilot.args")
    end
  end
  if (vim.env.COPILOT_ALLOW_ALL or "") ~= "" then
    local text = "COPILOT_ALLOW_ALL is set: it writes without asking, and shows no diffs"
    add(found, "warn", text, "unset the variable")
  end
end

---@param found agent_ide.Finding[]
local function check_folders(found)
  for _, process in ipairs(files.processes("copilot", "COPILOT_HOME")) do
    local theirs = process.value and process.value ~= "" and process.value
      or vim.fs.joinpath(vim.uv.os_homedir() or "~", ".copilot")
    if theirs ~= folder() then
      local text = "a copilot (pid %d) has the folder %s, Neovim has %s: it does not see Neovim"
      add(
        found,
        "warn",
        text:format(process.pid, theirs, folder()),
        "start both with the same COPILOT_HOME"
      )
    end
  end
end

---@return agent_ide.Finding[]
function M.findings()
  local found = {}
  check_settings(found)
  check_permissions(found)
  check_folders(found)
  return found
end

return M
