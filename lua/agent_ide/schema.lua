--- Every option: its name, types, default and what it is for. Defaults, validation and the :help
--- section derive from this one table.
---
--- Owns:     nothing; it is data.
--- Not here: merging and checking (config.lua), the classes for the language server (types.lua).

---@class agent_ide.Option
---@field name string
---@field description string one or two sentences, for :help and for whoever reads this
---@field types? agent_ide.OptionType[] what a value may be; none: a group of options
---@field default? any
---@field choices? string[] the only strings that are allowed; other types may be besides
---@field min? number
---@field max? number
---@field options? agent_ide.Option[] the options of a group
---@field or_false? boolean a group that may be switched off with `false`

---@alias agent_ide.OptionType
---| "string"
---| "string[]" a list of strings
---| "boolean"
---| "false" the value false, which switches something off
---| "number"
---| "integer"
---| "table<string, string>"
---| "model[]" a list of { name, value }
---| "function"
---| "table"
---| "table of functions" those of agent_ide.Provider
---| "nil" may be left out

---@type agent_ide.Option[]
return {
  {
    name = "python",
    types = { "string", "nil" },
    description = "Python interpreter that runs the host instead of the plugin's own venv. It must "
      .. "have the packages of the plugin's requirements.",
  },
  {
    name = "install",
    types = { "string" },
    choices = { "auto", "ask", "never" },
    default = "auto",
    description = "What happens at start when the plugin's venv is missing or outdated: build it in "
      .. "the background, ask first, or only say how to build it.",
  },
  {
    name = "install_wheels",
    types = { "string", "nil" },
    description = "Folder of wheels to install from, for machines without a network.",
  },
  {
    name = "install_index",
    types = { "string", "nil" },
    description = "URL of the package index to install from, instead of the default one.",
  },
  {
    name = "auto_start",
    types = { "boolean" },
    default = true,
    description = "Start the host after Neovim has started. Otherwise |:AgentIde-start| or the first "
      .. "terminal of an agent starts it.",
  },
  {
    name = "log_level",
    types = { "string" },
    choices = { "debug", "info", "warn", "error" },
    default = "info",
    description = "From which level on something is written to the log (|:AgentIde-log|).",
  },
  {
    name = "track_selection",
    types = { "boolean" },
    default = true,
    description = "Tell connected agents what is selected as it changes. Otherwise they learn it only "
      .. "when they ask.",
  },
  {
    name = "track_changes",
    types = { "boolean" },
    default = true,
    description = "Remember what a git repository holds at each prompt, for |:AgentIde-changes|. The "
      .. "repository itself is not written to.",
  },
  {
    name = "keymaps",
    types = { "boolean", "string" },
    default = false,
    description = "Define the key maps of |agent_ide-maps|: with true after <leader>a, with a string after "
      .. "that. A key that is mapped already is left alone.",
  },
  {
    name = "do_not_share",
    types = { "string[]" },
    default = {
      ".env",
      ".env.*",
      "*.pem",
      "*.key",
      "*.p12",
      "*.pfx",
      "*.kdbx",
      "id_rsa*",
      "id_dsa*",
      "id_ecdsa*",
      "id_ed25519*",
      ".netrc",
      ".pgpass",
      ".git-credentials",
    },
    description = "Patterns as in a .gitignore: files that are never sent to an agent, neither text nor "
      .. "name. One with a slash is compared with the whole path, any other with the file's name; "
      .. "one that starts with ! allows again.",
  },
  {
    name = "focus_after_send",
    types = { "boolean" },
    default = false,
    description = "Go to the agent's terminal after something was sent to it.",
  },
  require("agent_ide.schema.terminal"),
  require("agent_ide.schema.diff"),
  {
    name = "claude",
    description = "Claude Code.",
    options = {
      {
        name = "enabled",
        types = { "boolean" },
        default = true,
        description = "Serve Claude Code. Its commands are defined either way.",
      },
      {
        name = "command",
        types = { "string", "string[]" },
        default = "claude",
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
        description = "Start the program in the permission mode that asks before each edit: in other "
          .. "modes it never shows a diff in Neovim. A --permission-mode in `args`, or typed after "
          .. "|:ClaudeCode|, wins.",
      },
      {
        name = "env",
        types = { "table<string, string>" },
        default = vim.empty_dict(),
        description = "Environment variables for the program, in addition to Neovim's own.",
      },
      {
        name = "port_min",
        types = { "integer" },
        min = 1024,
        max = 65535,
        default = 10000,
        description = "Lowest port that the server for Claude Code may listen on.",
      },
      {
        name = "port_max",
        types = { "integer" },
        min = 1024,
        max = 65535,
        default = 65535,
        description = "Highest port that the server for Claude Code may listen on.",
      },
      {
        name = "models",
        types = { "model[]" },
        default = {
          { name = "Default of the account", value = "default" },
          { name = "Opus: the most capable", value = "opus" },
          { name = "Sonnet: for daily work", value = "sonnet" },
          { name = "Haiku: the fastest", value = "haiku" },
          { name = "Opus for plans, Sonnet for the work", value = "opusplan" },
        },
        description = "What |:ClaudeCodeSelectModel| offers: the text shown, and the argument for "
          .. "--model.",
      },
    },
  },
  {
    name = "copilot",
    description = "GitHub Copilot CLI.",
    options = {
      {
        name = "enabled",
        types = { "boolean" },
        default = true,
        description = "Serve Copilot CLI. Its commands are defined either way.",
      },
      {
        name = "command",
        types = { "string", "string[]" },
        default = "copilot",
        description = "The program to start: a name or path, or a list of program and arguments.",
      },
      {
        name = "args",
        types = { "string[]" },
        default = {},
        description = "Arguments that are given to the program at every start.",
      },
      {
        name = "env",
        types = { "table<string, string>" },
        default = vim.empty_dict(),
        description = "Environment variables for the program, in addition to Neovim's own. A "
          .. "COPILOT_HOME among them also says where Neovim makes itself known.",
      },
      {
        name = "trust",
        types = { "string[]", "function" },
        default = {},
        description = "Folders for which Copilot CLI need not ask whether you trust the files in "
          .. "them: absolute paths, with ~ and wildcards, that cover what lies below them; or a "
          .. "function that gets the list of folders and returns true or false. Trust is told only "
          .. "when all of Neovim's folders are covered, see |agent_ide-trust|.",
      },
      {
        name = "on_close",
        types = { "string" },
        choices = { "reject", "terminal" },
        default = "reject",
        description = "What it means when you close a diff's window without a decision: reject the "
          .. "edit, or leave it to the question in Copilot's terminal.",
      },
      {
        name = "diff_timeout_s",
        types = { "number", "nil" },
        min = 1,
        max = 604800,
        description = "Reject an edit that has waited this many seconds for you. Not set: wait.",
      },
      {
        name = "max_body_bytes",
        types = { "integer" },
        min = 65536,
        max = 1073741824,
        default = 16777216,
        description = "The longest message that is taken from Copilot CLI; an edit of a larger file "
          .. "shows no diff.",
      },
    },
  },
  require("agent_ide.schema.companion")({
    name = "gemini",
    title = "Gemini CLI",
    prefix = "GeminiCli",
    home = "TMPDIR",
  }),
  require("agent_ide.schema.companion")({
    name = "qwen",
    title = "Qwen Code",
    prefix = "QwenCode",
    home = "QWEN_HOME",
  }),
}
