--- The options of the agents' terminals.
---
--- Owns:     nothing; it is data, a part of schema.lua.

---@param name string
---@param default string
---@param where string
---@return agent_ide.Option
local function navigation(name, default, where)
  return {
    name = name,
    types = { "string", "false" },
    default = default,
    description = "Go to the window " .. where .. ".",
  }
end

---@type agent_ide.Option
return {
  name = "terminal",
  description = "Where and how an agent's program runs.",
  options = {
    {
      name = "provider",
      types = { "string", "table of functions" },
      choices = { "native", "snacks", "auto", "external", "none" },
      default = "native",
      description = "Who shows it: a window of Neovim's; one of snacks.nvim with your style of it; "
        .. "snacks.nvim where it is installed (auto); another program (|agent_ide-config-terminal."
        .. "external|); nobody, since you start agents yourself; or a table of functions "
        .. "(|agent_ide-provider|).",
    },
    {
      name = "external",
      types = { "string", "string[]", "function", "nil" },
      description = "With the provider external: the program that runs the agent's command line. In a "
        .. "string (for the shell) or list, {command} stands for the command line and {cwd} for the "
        .. "folder; without {command} it goes to the end. A function gets the command line as a list "
        .. "and returns a string or a list.",
    },
    {
      name = "side",
      types = { "string" },
      choices = { "right", "left", "top", "bottom", "float" },
      default = "right",
      description = "Where the window opens.",
    },
    {
      name = "size",
      types = { "number" },
      min = 0.05,
      max = 0.95,
      default = 0.35,
      description = "A split's share of the editor's width (right, left) or height (top, bottom).",
    },
    {
      name = "float_width",
      types = { "number" },
      min = 0.1,
      max = 1,
      default = 0.85,
      description = "A float's share of the editor's width.",
    },
    {
      name = "float_height",
      types = { "number" },
      min = 0.1,
      max = 1,
      default = 0.85,
      description = "A float's share of the editor's height.",
    },
    {
      name = "border",
      types = { "string", "string[]" },
      default = "rounded",
      description = "A float's border, as |nvim_open_win()| has it.",
    },
    {
      name = "snacks",
      types = { "table" },
      default = vim.empty_dict(),
      description = "More for snacks.nvim's window, over what the options here say.",
    },
    {
      name = "cwd",
      types = { "string", "function" },
      choices = { "nvim", "git" },
      default = "nvim",
      description = "The folder an agent starts in: Neovim's working directory; the root of the git "
        .. "repository of the current file; or what a function returns, which gets the agent's name "
        .. "and that of the terminal.",
    },
    {
      name = "per_tab",
      types = { "boolean" },
      default = false,
      description = "Each tab page has terminals of its own.",
    },
    {
      name = "auto_insert",
      types = { "boolean" },
      default = true,
      description = "Enter terminal mode whenever a command puts the cursor into the terminal.",
    },
    {
      name = "keys",
      or_false = true,
      description = "Keys in terminal mode, in the agents' terminals only. A map of yours for terminal "
        .. "mode goes before.",
      options = {
        {
          name = "newline",
          types = { "string", "false" },
          default = "<S-CR>",
          description = "A line break in the prompt. Your terminal emulator must tell the key from <CR>.",
        },
        navigation("left", "<M-h>", "on the left"),
        navigation("down", "<M-j>", "below"),
        navigation("up", "<M-k>", "above"),
        navigation("right", "<M-l>", "on the right"),
      },
    },
  },
}
