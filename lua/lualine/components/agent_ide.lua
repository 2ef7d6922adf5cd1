--- A component for lualine.nvim: `sections = { lualine_x = { "agent_ide" } }`.
---
--- Owns:     nothing.
--- Not here: the text (lua/agent_ide/statusline.lua).
local M = require("lualine.component"):extend()

---@return string
function M.update_status()
  return require("agent_ide").statusline()
end

return M
