--- Groups of autocommands for what comes and goes.
---
--- Owns:     those that are not in use. One that is deleted would stay in `:augroup` as `--Deleted--`,
---           two for each review.
--- Not here: what is watched (`frame.lua`, `view.lua`).
local M = {}

local api = vim.api

---@type integer[]
local free = {}
local made = 0

--- A group without autocommands.
---@return integer
function M.take()
  if #free > 0 then
    return table.remove(free)
  end
  made = made + 1
  return api.nvim_create_augroup("agent_ide.diff." .. made, {})
end

--- Its autocommands are over, and it may be anybody's.
---@param group integer
function M.give_back(group)
  api.nvim_clear_autocmds({ group = group })
  table.insert(free, group)
end

return M
