--- What the mouse does in a review's winbar.
---
--- Owns:     nothing.
--- Not here: the winbar (`label.lua`), what a verdict leads to (`init.lua`).
local M = {}

---@param verdict "accept"|"reject"
---@return fun(id: integer, clicks: integer, button: string)
local function decide(verdict)
  return function(id, _, button)
    if button == "l" then
      -- scheduled: windows are not closed while Neovim handles a click in one
      vim.schedule(function()
        require("agent_ide.diff").decide(id, verdict)
      end)
    end
  end
end

M.accept = decide("accept")
M.reject = decide("reject")

---@param _ integer
---@param _clicks integer
---@param button string
function M.choose(_, _clicks, button)
  if button == "l" then
    vim.schedule(function()
      vim.cmd.AgentIde("diffs")
    end)
  end
end

return M
