--- Switches what is watched in the editor on and off: no client, no cost.
---
--- Owns:     nothing; each module owns its autocommands.
--- Not here: what is sent (selection.lua, buffers.lua, diagnostics.lua).
local M = {}

local MODULES = {
  "agent_ide.selection",
  "agent_ide.buffers",
  "agent_ide.diagnostics",
  "agent_ide.outside",
  "agent_ide.changes",
}

--- Stop watching: the last client or the host is gone.
function M.disable()
  for _, name in ipairs(MODULES) do
    -- what was never loaded was never enabled
    if package.loaded[name] then
      require(name).disable()
    end
  end
end

--- Call `track`. Enabling again sends everything anew: the host may be another one.
---@param args { enabled: boolean }
---@param reply agent_ide.Reply
function M.set(args, reply)
  if args.enabled then
    for _, name in ipairs(MODULES) do
      require(name).enable()
    end
  else
    M.disable()
  end
  reply()
end

return M
