--- The options of Gemini CLI and of Qwen Code: the same ones for each.
---
--- Owns:     nothing; it is data, a part of schema.lua.

---@class agent_ide.schema.Companion
---@field name string
---@field title string
---@field prefix string of its commands
---@field home string the variable that says where it looks for Neovim

---@param agent agent_ide.schema.Companion
---@return agent_ide.Option
return function(agent)
  local title = agent.title
  return {
    name = agent.name,
    description = title .. ".",
    options = {
      {
        name = "enabled",
        types = { "boolean" },
        default = true,
        description = ("Serve %s. Its commands are defined either way."):format(title),
      },
      {
        name = "command",
        types = { "string", "string[]" },
        default = agent.name,
        description = "The program to start: a name or path, or a list of program and arguments.",
      },
      {
        name = "args",
        types = { "string[]" },
        default = {},
        description = "Arguments that are given to the program at every start.",
      },
      {
        name = "ask_permission",
        types = { "boolean" },
        default = true,
        description = "Start the program with --approval-mode default, which asks before each edit: "
          .. "in other modes it never shows a diff in Neovim. An --approval-mode or --yolo in `args`, "
          .. ("or typed after |:%s|, wins."):format(agent.prefix),
      },
      {
        name = "env",
        types = { "table<string, string>" },
        default = vim.empty_dict(),
        description = "Environment variables for the program, in addition to Neovim's own. A "
          .. agent.home
          .. " among them also says where Neovim makes itself known.",
      },
      {
        name = "trust",
        types = { "string[]", "function" },
        default = {},
        description = ("Folders for which %s need not ask whether you trust the files in them, "):format(
          title
        ) .. "as |agent_ide-config-copilot.trust|.",
      },
      {
        name = "on_close",
        types = { "string" },
        choices = { "reject", "terminal" },
        default = "reject",
        description = "What it means when you close a diff's window without a decision: reject the "
          .. ("edit, or leave it to the question in %s's terminal."):format(title),
      },
    },
  }
end
