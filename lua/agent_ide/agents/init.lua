--- The agents whose CLI this plugin can start, by name.
---
--- Owns:     the list. A new agent is one module here, one line in it and one in plugin/agent_ide.lua.
--- Not here: what crosses the wire (the host's protocols).
local M = {}

--- How to launch one CLI, and how to speak of it.
---@class (exact) agent_ide.Agent
---@field name string the protocol's agent name, also its group in the options
---@field title string for people
---@field prefix string of its user commands, "ClaudeCode"
---@field install_hint string how one gets the CLI, as part of a sentence
---@field ask_again string how one brings it to ask before edits, as a part of a sentence
---@field mode_flags? string[] arguments by which the user chooses a permission mode
---@field asking_mode? fun(help_text: string): string[] arguments of the mode that asks before edits;
---        none: it asks anyway
---@field env? fun(): table<string, string> what its CLI needs in a terminal of ours, besides what the host
---        says
---@field findings? fun(): agent_ide.Finding[] what keeps it from showing diffs here, for :checkhealth
---@field lock_folders? fun(): string[] where its CLI looks for IDEs
---@field is_working? fun(title: string): boolean whether it is at work, by its terminal's title
---@field model_args? fun(value: string): string[] arguments that start it with a model
---@field model_prompt? fun(value: string): string what to type to change the model of a running one

---@class agent_ide.Finding
---@field level "ok"|"info"|"warn"|"error"
---@field text string
---@field cure? string|string[]

---@return string[]
function M.names()
  return { "claude", "copilot", "gemini", "qwen" }
end

---@param name string
---@return agent_ide.Agent
function M.get(name)
  assert(vim.tbl_contains(M.names(), name), "no such agent: " .. name)
  return require("agent_ide.agents." .. name)
end

--- The options of one agent.
---@param name string
---@return agent_ide.ClaudeConfig|agent_ide.CopilotConfig|agent_ide.CompanionConfig
function M.config(name)
  return require("agent_ide.config").get()[name]
end

--- Program and leading arguments of an agent's CLI.
---@param name string
---@return string[]
function M.command(name)
  local command = M.config(name).command
  if type(command) == "string" then
    return { vim.fn.expand(command) }
  end
  return vim.deepcopy(command) --[[@as string[] ]]
end

return M
