--- Calling a user who is busy: one line, and a sign of the terminal where they want it.
---
--- Owns:     nothing.
--- Not here: whether somebody is busy (`windows.lua`).
local M = {}

local OSC9 = "\27]9;%s\27\\"

--- Bytes for the terminal that Neovim runs in.
---@param bytes string
local function send(bytes)
  if vim.api.nvim_ui_send then
    return vim.api.nvim_ui_send(bytes)
  end
  vim.api.nvim_chan_send(vim.v.stderr, bytes)
end

---@param message string
function M.call(message)
  require("agent_ide.notify").show(message)
  local how = require("agent_ide.config").get().diff.attention
  if how == "bell" then
    send("\a")
  elseif how == "osc9" then
    -- terminals obey U+0080 to U+009F as well, which end the sequence or begin another
    local plain = message:gsub("%c", " "):gsub("\194[\128-\159]", " ")
    send(OSC9:format(plain))
  end
end

return M
