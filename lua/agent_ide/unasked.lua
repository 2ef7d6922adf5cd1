--- Running a command that may ask the user something.
---
--- Owns:     nothing.
--- Not here: questions that are ours (`notify.lua`).
local M = {}

local api = vim.api

--- A person does not answer faster.
local INTERVAL_MS = 20

--- Run what may ask; each question is answered with Esc, which means "no" or "leave it".
---@param run fun()
---@return boolean ok
---@return any error
function M.run(run)
  local mode = api.nvim_get_mode().mode
  local timer, asked = assert(vim.uv.new_timer()), false
  timer:start(INTERVAL_MS, INTERVAL_MS, function()
    local now = api.nvim_get_mode()
    if now.blocking or now.mode ~= mode then
      asked = true
      api.nvim_input("<Esc>")
    end
  end)
  local ok, err = pcall(run)
  timer:close()
  if asked then
    vim.cmd.redraw() -- else Neovim waits for a key until the question has been read
  end
  return ok, err
end

return M
