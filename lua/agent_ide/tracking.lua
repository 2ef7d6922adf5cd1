--- Switches what is watched in the editor on and off: no client, no cost.
---
--- Owns:     which module is switched on next; each owns its autocommands.
--- Not here: what is sent (selection.lua, buffers.lua, diagnostics.lua).
local M = {}

local MODULES = {
  "agent_ide.selection",
  "agent_ide.buffers",
  "agent_ide.diagnostics",
  "agent_ide.outside",
  "agent_ide.changes",
}

--- A module has this long until the next one begins: all in one turn held the editor up for 11 ms
--- where a language server knows 1,000 files.
local APART_MS = 1

--- How often it was switched: what was begun before is not gone on with.
local switched = 0

--- Stop watching: the last client or the host is gone.
function M.disable()
  switched = switched + 1
  for _, name in ipairs(MODULES) do
    -- what was never loaded was never enabled
    if package.loaded[name] then
      require(name).disable()
    end
  end
end

--- Call `track`. Enabling again sends everything anew: the host may be another one.
---@param args { enabled: boolean }
---@param reply agent_ide.Reply once all of it is switched
function M.set(args, reply)
  if not args.enabled then
    M.disable()
    return reply()
  end
  switched = switched + 1
  local this_one = switched
  local function enable(index)
    if this_one ~= switched or not MODULES[index] then
      return reply()
    end
    require(MODULES[index]).enable()
    vim.defer_fn(
      require("agent_ide.guard").wrap("tracking", function()
        enable(index + 1)
      end),
      APART_MS
    )
  end
  enable(1)
end

return M
