--- The highlight groups of reviews: links to Neovim's own, which a colour scheme or the user may set.
---
--- Owns:     nothing.
local M = {}

local LINKS = {
  AgentIdeAdd = "DiffAdd",
  AgentIdeDelete = "DiffDelete",
  AgentIdeChange = "DiffChange",
  AgentIdeText = "DiffText",
  AgentIdeAccepted = "DiagnosticOk",
  AgentIdeBar = "WinBar",
  AgentIdeWarning = "WarningMsg",
  AgentIdeKey = "Special",
}

--- Two windows in diff mode show them instead of Neovim's own.
M.IN_DIFF_MODE = "DiffAdd:AgentIdeAdd,DiffDelete:AgentIdeDelete,"
  .. "DiffChange:AgentIdeChange,DiffText:AgentIdeText"

--- A colour scheme clears groups, but not links that are defaults.
function M.define()
  for name, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

return M
