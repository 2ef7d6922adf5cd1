--- The public API. Everything here is optional: the plugin works without setup().
---
--- Owns:     nothing.
--- Not here: the commands (plugin/agent_ide.lua).
local M = {}

--- Merge options over vim.g.agent_ide and the defaults. What is wrong is said and left at its default.
---@param opts? agent_ide.SetupOpts
function M.setup(opts)
  require("agent_ide.config").setup(opts)
  if vim.v.vim_did_enter == 1 then
    require("agent_ide.keymaps").apply()
  end
end

--- Who serves, who is connected, which diffs are open: a copy of what the host said last.
---@return agent_ide.Status
function M.status()
  return vim.deepcopy(require("agent_ide.status").get())
end

--- The diffs that are open, oldest first.
---@return agent_ide.Review[]
function M.reviews()
  return M.status().reviews
end

--- Accept a diff, with what was changed in it.
---@param id? integer from `reviews()`; nil: the one under the cursor, else the only one shown
---@return boolean settled
---@return string? problem
function M.accept(id)
  return require("agent_ide.diff.commands").settle_by_id("accept", id)
end

--- Reject a diff.
---@param id? integer from `reviews()`; nil: the one under the cursor, else the only one shown
---@param reason? string put into the agent's prompt where that can be done
---@return boolean settled
---@return string? problem
function M.reject(id, reason)
  return require("agent_ide.diff.commands").settle_by_id("reject", id, reason)
end

--- For a statusline: agents that are connected and diffs that wait, "" when there is nothing to say.
---@return string
function M.statusline()
  return require("agent_ide.statusline").text()
end

--- What a shell outside Neovim evaluates so that an agent started there finds this Neovim.
---@param format? "sh"|"fish"|"json"
---@return string
function M.env(format)
  return assert(require("agent_ide.terminal.environment").text(format), "no such format")
end

return M
