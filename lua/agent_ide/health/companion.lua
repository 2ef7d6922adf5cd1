--- What in the settings of Gemini CLI and Qwen Code keeps their diffs, or them, away from Neovim.
---
--- Owns:     nothing.
--- Source:   settings.json of Gemini CLI 0.61.0 and Qwen Code 0.24.4 (ide.enabled).
local M = {}

local files = require("agent_ide.health.files")
local add = files.add

---@param found agent_ide.Finding[]
---@param agent agent_ide.agents.Companion
local function check_settings(found, agent)
  local env = require("agent_ide.agents").config(agent.name).env
  local path = agent.settings(vim.tbl_extend("force", vim.fn.environ(), env))
  if files.at(files.json(path), "ide", "enabled") == true then
    return add(found, "ok", "ide.enabled is true in " .. path)
  end
  local text = "ide.enabled is not true in %s: %s does not look for Neovim"
  local cure = ("type /ide enable in %s, once"):format(agent.title)
  add(found, "warn", text:format(path, agent.title), cure)
end

--- Edits are asked about in the mode `default` only, and Qwen Code's own default is another one.
---@param found agent_ide.Finding[]
---@param agent agent_ide.agents.Companion
local function check_mode(found, agent)
  local config = require("agent_ide.agents").config(agent.name)
  local given = table.concat(config.args, " ")
  local mode = given:match("%-%-approval%-mode[ =](%S+)")
  local all = vim.tbl_contains(config.args, "--yolo") or vim.tbl_contains(config.args, "-y")
  if all or (mode and mode ~= "default") then
    local text = "the option %s.args chooses a mode in which no diff is ever shown"
    add(
      found,
      "warn",
      text:format(agent.name),
      "take it out: only the mode default asks before edits"
    )
  elseif not (mode or config.ask_permission) then
    add(found, "info", "ask_permission is false: its own mode counts, and may show no diffs")
  end
end

---@param agent agent_ide.agents.Companion
---@return agent_ide.Finding[]
function M.findings(agent)
  local found = {}
  check_settings(found, agent)
  check_mode(found, agent)
  return found
end

return M
