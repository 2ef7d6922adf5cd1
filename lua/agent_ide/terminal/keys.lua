--- Keys and pastes in an agent's terminal.
---
--- Owns:     maps local to those buffers; the parts of a paste that is still coming in.
--- Not here: the terminal's windows (native.lua).
local M = {}

local api = vim.api

--- What CLIs take for a line break in the prompt: Meta-Enter.
local NEWLINE = "\27\r"

--- Parts of one paste, while it comes in.
---@type string[]?
local parts

local watching_pastes = false

--- A large paste comes in parts, and each would be a paste of its own for the CLI.
local function join_pastes()
  if watching_pastes then
    return
  end
  watching_pastes = true
  local before = vim.paste
  ---@diagnostic disable-next-line: duplicate-set-field
  vim.paste = function(lines, phase)
    if phase == 1 and vim.b.agent_ide_terminal and api.nvim_get_mode().mode:find("t") then
      parts = {}
    end
    if not parts or phase == -1 then
      return before(lines, phase)
    end
    table.insert(parts, table.concat(lines, "\n"))
    if phase < 3 then
      return true
    end
    local text = table.concat(parts)
    parts = nil
    return before(vim.split(text, "\n", { plain = true }), -1)
  end
end

---@param buf integer
---@param lhs string|false
---@param desc string
---@param rhs fun()
local function map(buf, lhs, desc, rhs)
  -- a map of the user's own for terminals wins
  if lhs and vim.fn.maparg(lhs, "t") == "" then
    vim.keymap.set("t", lhs, rhs, { buffer = buf, desc = "agent_ide: " .. desc })
  end
end

local DIRECTIONS = { left = "h", down = "j", up = "k", right = "l" }

--- Prepare the buffer of a terminal before its program starts.
---@param buf integer
---@param on_focus fun()
function M.attach(buf, on_focus)
  join_pastes()
  local keys = require("agent_ide.config").get().terminal.keys
  local left_inserting = false
  api.nvim_create_autocmd({ "WinEnter", "TermEnter" }, {
    buffer = buf,
    desc = "agent_ide: what is sent next goes to this agent",
    callback = function()
      on_focus()
      if left_inserting then
        left_inserting = false
        vim.cmd.startinsert()
      end
    end,
  })
  if not keys then
    return
  end
  map(buf, keys.newline, "line break in the prompt", function()
    api.nvim_chan_send(vim.bo[buf].channel, NEWLINE)
  end)
  for name, letter in pairs(DIRECTIONS) do
    map(buf, keys[name], "window " .. name, function()
      local win = api.nvim_get_current_win()
      vim.cmd.wincmd(letter)
      left_inserting = api.nvim_get_current_win() ~= win
    end)
  end
end

return M
