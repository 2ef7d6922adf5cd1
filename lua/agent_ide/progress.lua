--- Saying that something takes a while: Neovim's progress messages where it has them (0.12), else
--- ordinary ones at its beginning and end.
---
--- Owns:     nothing.
--- Not here: other messages (notify.lua).
local M = {}

---@class agent_ide.Progress
---@field done fun(message: string) it has ended well
---@field failed fun() it has not; the reason is said elsewhere

---@param message string
---@param opts table
---@return integer|string|nil id
local function echo(message, opts)
  local all = { kind = "progress", source = "agent_ide", title = "agent_ide" }
  opts = vim.tbl_extend("force", all, opts)
  local ok, id = pcall(vim.api.nvim_echo, { { message } }, true, opts)
  return ok and id or nil
end

---@param message string
---@return agent_ide.Progress
function M.begin(message)
  local log, notify = require("agent_ide.log"), require("agent_ide.notify")
  if vim.fn.has("nvim-0.12") == 0 then
    notify.show(message)
    return { done = notify.show, failed = function() end }
  end
  log.info("told the user: %s", message)
  local id = echo(message, { status = "running" })
  return {
    done = function(words)
      log.info("told the user: %s", words)
      echo(words, { id = id, status = "success", percent = 100 })
    end,
    failed = function()
      echo(message, { id = id, status = "failed" })
    end,
  }
end

return M
