--- The default key maps, off unless the option keymaps is set.
---
--- Owns:     the list.
--- Not here: keys of a diff (diff/), of a terminal (terminal/keys.lua), the <Plug> maps.
local M = {}

--- Modes, key after the prefix, command, description.
---@type { [1]: string[], [2]: string, [3]: string, [4]: string }[]
M.list = {
  { { "n" }, "c", "<Cmd>ClaudeCode<CR>", "show or hide Claude Code" },
  { { "n" }, "o", "<Cmd>CopilotCli<CR>", "show or hide Copilot CLI" },
  { { "n" }, "f", "<Cmd>ClaudeCodeFocus<CR>", "go to Claude Code" },
  { { "n", "x" }, "s", "<Cmd>AgentIde send<CR>", "send the line, selection or tree entry" },
  { { "n" }, "b", "<Cmd>AgentIde send buffer<CR>", "send the whole file" },
  { { "n" }, "e", "<Cmd>AgentIde send diagnostics<CR>", "send the diagnostics" },
  { { "n" }, "q", "<Cmd>AgentIde send quickfix<CR>", "send the quickfix list" },
  { { "n" }, "a", "<Cmd>AgentIde accept<CR>", "accept the diff" },
  { { "n" }, "d", "<Cmd>AgentIde reject<CR>", "reject the diff" },
  { { "n" }, "l", "<Cmd>AgentIde diffs<CR>", "choose a diff" },
  { { "n" }, "g", "<Cmd>AgentIde changes<CR>", "what has changed since the prompt" },
  { { "n" }, "m", "<Cmd>ClaudeCodeSelectModel<CR>", "choose Claude's model" },
  { { "n" }, "i", "<Cmd>AgentIde status<CR>", "show the status" },
}

--- Define them where the user wants them; a key that is mapped already is left alone.
function M.apply()
  local prefix = require("agent_ide.config").get().keymaps
  if not prefix then
    return
  end
  prefix = prefix == true and "<leader>a" or prefix
  for _, map in ipairs(M.list) do
    for _, mode in ipairs(map[1]) do
      local lhs = prefix .. map[2]
      if vim.fn.maparg(lhs, mode) == "" then
        vim.keymap.set(mode, lhs, map[3], { desc = "agent_ide: " .. map[4] })
      end
    end
  end
end

return M
