--- What Gemini CLI and Qwen Code have in common: their options of the command line.
---
--- Owns:     nothing; it is data, made for each of the two.
--- Not here: anything of the wire (python/agent_ide/protocols/gemini_ide).
--- Source:   `gemini --help` of 0.61.0, `qwen --help` of 0.24.4.
local M = {}

---@class agent_ide.agents.Companion
---@field name string
---@field title string
---@field prefix string
---@field package string on npm
---@field settings fun(env: table<string, string>): string path of its settings

--- The mode in which every edit is asked about; Qwen Code's own default is another one.
local ASKING = { "--approval-mode", "default" }

---@param agent agent_ide.agents.Companion
---@return agent_ide.Agent
function M.new(agent)
  return {
    name = agent.name,
    title = agent.title,
    prefix = agent.prefix,
    install_hint = ("install it with `npm install -g %s`"):format(agent.package),
    ask_again = "Shift-Tab in its terminal, or start it with --approval-mode default",
    mode_flags = { "--approval-mode", "--yolo", "-y" },

    asking_mode = function(help_text)
      return help_text:find(ASKING[1], 1, true) and ASKING or {}
    end,

    findings = function()
      return require("agent_ide.health.companion").findings(agent)
    end,
  }
end

return M
