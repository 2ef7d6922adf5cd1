--- Defines the user commands and <Plug> maps, and starts the host after Neovim has started.
---
--- Owns:     names, ranges and completion of the commands.
--- Not here: what they do (commands.lua, subcommands.lua). Nothing is required before it is used, so
---           that the plugin adds nothing to Neovim's start.

if vim.g.loaded_agent_ide then
  return
end
vim.g.loaded_agent_ide = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("agent_ide: needs Neovim 0.10 or newer", vim.log.levels.ERROR)
  return
end

--- One family of commands per agent: its name in the protocol, the commands' prefix, its title, and
--- what the family does without.
local lacks = { Start = true, Stop = true, SelectModel = true }
local families = {
  { agent = "claude", prefix = "ClaudeCode", title = "Claude Code", lacks = {} },
  { agent = "copilot", prefix = "CopilotCli", title = "Copilot CLI", lacks = lacks },
  { agent = "gemini", prefix = "GeminiCli", title = "Gemini CLI", lacks = lacks },
  { agent = "qwen", prefix = "QwenCode", title = "Qwen Code", lacks = lacks },
}

local function complete_path(lead)
  return require("agent_ide.commands").complete_path(lead)
end

local function complete_terminal(lead)
  return require("agent_ide.commands").complete_terminal(lead)
end

local named = { nargs = "*", complete = complete_terminal }

--- The commands of a family: what follows the prefix, attributes, description.
local commands = {
  { "", named, "show or hide the terminal, start it where it does not run" },
  { "Open", named, "show the terminal and go there" },
  { "Close", { nargs = "?", complete = complete_terminal }, "hide the terminal" },
  { "Focus", named, "go to the terminal" },
  { "Start", {}, "start the host" },
  { "Stop", {}, "stop the host" },
  { "Status", {}, "show who serves, who is connected, which diffs are open" },
  { "Send", { range = true }, "mention these lines in the prompt" },
  { "SendText", { nargs = "+", bang = true }, "paste text into the prompt; with ! press Enter" },
  { "Add", { nargs = "+", complete = complete_path }, "mention a file or folder in the prompt" },
  { "TreeAdd", { range = true }, "mention the file under the cursor of a file tree" },
  { "DiffAccept", {}, "accept the diff" },
  { "DiffDeny", {}, "reject the diff" },
  { "CloseAllDiffs", {}, "close all diffs, rejecting those that wait" },
  { "SelectModel", {}, "choose the model" },
}

local function define_command(family, command)
  local suffix, opts = command[1], { desc = family.title .. ": " .. command[3] }
  for name, value in pairs(command[2]) do
    opts[name] = value
  end
  vim.api.nvim_create_user_command(family.prefix .. suffix, function(cmd)
    require("agent_ide.commands").run(family.agent, suffix, cmd)
  end, opts)
end

for _, family in ipairs(families) do
  for _, command in ipairs(commands) do
    if not family.lacks[command[1]] then
      define_command(family, command)
    end
  end
end

vim.api.nvim_create_user_command("AgentIde", function(cmd)
  require("agent_ide.subcommands").run(cmd)
end, {
  nargs = "*",
  range = true,
  desc = "agent_ide: start, stop, status, accept, reject, diffs, log, install and more",
  complete = function(lead, line)
    return require("agent_ide.subcommands").complete(lead, line)
  end,
})

--- Maps for the user to bind; no key is mapped by default. Modes, name, command, description.
local maps = {
  { "nxt", "Toggle", "", "show or hide the terminal" },
  { "nxt", "Focus", "Focus", "go to the terminal" },
  { "nx", "Send", "Send", "mention the line or selection" },
  { "n", "Add", "Add %", "mention the current file" },
  { "n", "TreeAdd", "TreeAdd", "mention the file under the cursor of a file tree" },
  { "nt", "DiffAccept", "DiffAccept", "accept the diff" },
  { "nt", "DiffDeny", "DiffDeny", "reject the diff" },
  { "n", "SelectModel", "SelectModel", "choose the model" },
}

--- As above, for :AgentIde.
local common_maps = {
  { "nx", "Send", " send", "mention what is under the cursor or selected" },
  { "nt", "Accept", " accept", "accept the diff" },
  { "nt", "Reject", " reject", "reject the diff" },
  { "nt", "Diffs", " diffs", "choose one of the open diffs" },
  { "nt", "Status", " status", "show the status" },
}

---@param prefix string of the commands
---@param title string
---@param list { [1]: string, [2]: string, [3]: string, [4]: string }[]
---@param missing table<string, boolean> names that are not defined
local function define_maps(prefix, title, list, missing)
  for _, map in ipairs(list) do
    local keys = ("<Plug>(%s%s)"):format(prefix, map[2])
    local command = ("<Cmd>%s%s<CR>"):format(prefix, map[3])
    local opts = { noremap = true, desc = title .. ": " .. map[4] }
    for mode in (missing[map[2]] and "" or map[1]):gmatch(".") do
      -- not vim.keymap.set: it takes three times as long, at every start of Neovim
      vim.api.nvim_set_keymap(mode, keys, command, opts)
    end
  end
end

for _, family in ipairs(families) do
  define_maps(family.prefix, family.title, maps, family.lacks)
end
define_maps("AgentIde", "agent_ide", common_maps, {})

local group = vim.api.nvim_create_augroup("agent_ide", {})

local function start()
  -- scheduled: the first screen is drawn before anything of ours is loaded
  vim.schedule(function()
    if vim.g.loaded_claudecode then
      require("agent_ide.notify").show(
        "claudecode.nvim is loaded as well, and serves Claude Code too: remove it (:checkhealth agent_ide)",
        "warn"
      )
    end
    require("agent_ide.keymaps").apply()
    if require("agent_ide.config").get().auto_start then
      require("agent_ide.host").start()
    end
  end)
end

if vim.v.vim_did_enter == 1 then
  start() -- loaded lazily by a plugin manager
else
  vim.api.nvim_create_autocmd("VimEnter", {
    group = group,
    once = true,
    desc = "agent_ide: start the host",
    callback = start,
  })
end

vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = group,
  desc = "agent_ide: take the windows of diffs out of a session",
  callback = function()
    require("agent_ide.diff.session").clean()
  end,
})

vim.api.nvim_create_autocmd("VimLeavePre", {
  group = group,
  desc = "agent_ide: stop the host",
  callback = function()
    require("agent_ide.host").stop_on_exit()
  end,
})
