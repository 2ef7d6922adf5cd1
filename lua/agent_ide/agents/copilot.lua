--- How to launch GitHub Copilot CLI.
---
--- Owns:     nothing; it is data.
--- Not here: anything of the wire (python/agent_ide/protocols/copilot_ide).
--- Source:   `copilot --help` of 1.0.102. It asks before each edit unless it is told otherwise, so
---           there is no mode to choose.

---@type agent_ide.Agent
return {
  name = "copilot",
  title = "Copilot CLI",
  prefix = "CopilotCli",
  ask_again = "/reset-allowed-tools in its terminal, or start it without --allow-all",
  install_hint = "install it with `npm install -g @github/copilot`",

  findings = function()
    return require("agent_ide.health.copilot").findings()
  end,

  lock_folders = function()
    return require("agent_ide.health.copilot").lock_folders()
  end,
}
