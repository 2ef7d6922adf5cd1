--- The terminal's functions of claudecode.nvim, for those who come from there.
---
--- Owns:     nothing.
--- Not here: the terminal (lua/agent_ide/terminal).
local M = {}

---@param args? string
---@return string[]
local function split(args)
  return vim.split(args or "", "%s+", { trimempty = true })
end

---@param _ any overrides of its own options
---@param args? string
function M.open(_, args)
  require("agent_ide.terminal").open("claude", split(args))
end

function M.close()
  require("agent_ide.terminal").close("claude")
end

---@param _ any
---@param args? string
function M.simple_toggle(_, args)
  require("agent_ide.terminal").toggle("claude", split(args))
end

M.toggle = M.simple_toggle

--- Hide it where the cursor is in it, else go there.
---@param _ any
---@param args? string
function M.focus_toggle(_, args)
  if vim.b.agent_ide_terminal == "claude" then
    return M.close()
  end
  M.open(nil, args)
end

function M.ensure_visible()
  require("agent_ide.terminal").show("claude")
end

M.toggle_open_no_focus = M.ensure_visible

---@return integer? buf
function M.get_active_terminal_bufnr()
  return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    return vim.b[buf].agent_ide_terminal == "claude"
  end)
end

return M
