--- Callbacks that Neovim runs by itself: what goes wrong in one is logged, not shown at every key.
---
--- Owns:     nothing.
--- Not here: calls of the host (rpc.lua answers those), the log (log.lua).
local M = {}

--- A function that does the same, logs an error and returns nothing (a true value would delete an
--- autocommand).
---@param what string for the log
---@param callback function
---@return function
function M.wrap(what, callback)
  return function(...)
    -- with the arguments behind the handler, which LuaJIT takes: without a closure and a table for
    -- each event a move of the cursor costs 1 us less (doc/decisions/005)
    local ok, err = xpcall(callback, debug.traceback, ...)
    if not ok then
      require("agent_ide.log").error("%s: %s", what, err)
    end
  end
end

--- A group of autocommands whose callbacks are wrapped.
---@param name string of the augroup
---@return integer group
---@return fun(events: string|string[], callback: function, pattern?: string[]) on
function M.augroup(name)
  local group = vim.api.nvim_create_augroup(name, { clear = true })
  return group,
    function(events, callback, pattern)
      vim.api.nvim_create_autocmd(events, {
        group = group,
        pattern = pattern,
        callback = M.wrap(name, callback),
      })
    end
end

return M
