--- Switches what is watched in the editor on and off: no client, no cost.
---
--- Owns:     nothing; each module owns its autocommands.
--- Not here: what is sent (selection.lua, buffers.lua, diagnostics.lua).
local M = {}

local MODULES = { "agent_ide.selection", "agent_ide.buffers", "agent_ide.diagnostics" }

--- Call `track`. Enabling again sends everything anew: the host may be another one.
---@param args { enabled: boolean }
---@param reply agent_ide.Reply
function M.set(args, reply)
  for _, name in ipairs(MODULES) do
    if args.enabled then
      require(name).enable()
    elseif package.loaded[name] then
      require(name).disable()
    end
  end
  reply()
end

return M
