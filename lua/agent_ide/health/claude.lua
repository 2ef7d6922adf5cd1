--- What in Claude Code's own settings keeps its diffs, or itself, away from Neovim.
---
--- Owns:     nothing.
--- Source:   Claude Code 2.1.332: settings.json (permissions.defaultMode), .claude.json (diffTool).
local M = {}

local files = require("agent_ide.health.files")
local add = files.add

--- The modes in which it asks before an edit.
local ASKING = { manual = true, default = true, plan = true }

---@return string
local function home()
  return vim.uv.os_homedir() or "~"
end

---@return string? folder nil: the default one
local function named_folder()
  local config = require("agent_ide.agents").config("claude")
  local named = config.env.CLAUDE_CONFIG_DIR or vim.env.CLAUDE_CONFIG_DIR
  return named ~= "" and named or nil
end

---@return string
local function folder()
  return named_folder() or vim.fs.joinpath(home(), ".claude")
end

--- The folders that it looks for locks in.
---@return string[]
function M.lock_folders()
  local default = vim.fs.joinpath(home(), ".claude", "ide")
  local mine = vim.fs.joinpath(folder(), "ide")
  return mine == default and { default } or { mine, default }
end

---@param args string[]
---@return string? mode
local function mode_in(args)
  for index, arg in ipairs(args) do
    if arg == "--dangerously-skip-permissions" then
      return "bypassPermissions"
    end
    local mode = arg:match("^%-%-permission%-mode=(.*)$")
    if mode or arg == "--permission-mode" then
      return mode or args[index + 1]
    end
  end
end

---@param found agent_ide.Finding[]
local function check_modes(found)
  local config = require("agent_ide.agents").config("claude")
  local mode = mode_in(config.args)
  if mode and not ASKING[mode] then
    local text = ("claude.args starts it in mode %s, in which it shows no diffs"):format(mode)
    add(found, "warn", text, "take the mode out of claude.args")
  elseif not mode and not config.ask_permission then
    add(
      found,
      "info",
      "ask_permission is false: in a mode that does not ask, no diff is ever shown"
    )
  end
  local project = vim.fs.joinpath(vim.fn.getcwd(), ".claude")
  local places = {
    vim.fs.joinpath(project, "settings.local.json"),
    vim.fs.joinpath(project, "settings.json"),
    vim.fs.joinpath(folder(), "settings.json"),
  }
  for _, path in ipairs(places) do
    local default = files.at(files.json(path), "permissions", "defaultMode")
    if default then
      if not ASKING[default] then
        local text =
          "a claude that you start yourself is in mode %s, in which it shows no diffs (%s)"
        add(found, "warn", text:format(default, path), {
          'set permissions.defaultMode to "default" there',
          "or press Shift-Tab in it until it asks; :ClaudeCode starts it in a mode that asks",
        })
      end
      return
    end
  end
  add(
    found,
    "info",
    "a claude that you start yourself may begin in a mode that does not ask, and shows no diffs then: "
      .. "press Shift-Tab in it until it asks. :ClaudeCode starts it in a mode that asks"
  )
end

---@param found agent_ide.Finding[]
local function check_settings(found)
  local state = vim.fs.joinpath(named_folder() or home(), ".claude.json")
  if files.at(files.json(state), "diffTool") == "terminal" then
    add(
      found,
      "error",
      ('its setting "Diff tool" is "terminal": no diff comes to Neovim (%s)'):format(state),
      'type /config in Claude Code and set "Diff tool" to "auto"'
    )
  end
  if vim.env.CLAUDE_CODE_AUTO_CONNECT_IDE == "false" then
    add(
      found,
      "warn",
      "CLAUDE_CODE_AUTO_CONNECT_IDE is false: it does not connect by itself",
      "unset the variable, or type /ide in Claude Code"
    )
  end
end

---@param found agent_ide.Finding[]
local function check_folders(found)
  local default = vim.fs.joinpath(home(), ".claude")
  if folder() == default then
    return -- it looks there in any case
  end
  for _, process in ipairs(files.processes("claude", "CLAUDE_CONFIG_DIR")) do
    local theirs = process.value and process.value ~= "" and process.value or default
    if theirs ~= folder() then
      local text =
        "a claude (pid %d) has the configuration folder %s, Neovim has %s: it does not see Neovim"
      add(
        found,
        "warn",
        text:format(process.pid, theirs, folder()),
        "start both with the same CLAUDE_CONFIG_DIR"
      )
    end
  end
end

---@return agent_ide.Finding[]
function M.findings()
  local found = {}
  check_modes(found)
  check_settings(found)
  check_folders(found)
  return found
end

return M
