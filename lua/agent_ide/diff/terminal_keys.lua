--- Keys that settle a review from its agent's terminal, in terminal mode.
---
--- Owns:     maps local to the terminals' buffers, while a review of that agent waits: at any other
---           time the keys are the CLI's.
--- Not here: the terminals' other keys (`terminal/keys.lua`).
local M = {}

local api = vim.api

---@type table<integer, string[]> buffer -> keys that are mapped
local mapped = {}

---@param buf integer
local function unmap(buf)
  for _, lhs in ipairs(mapped[buf] or {}) do
    pcall(vim.keymap.del, "t", lhs, { buffer = buf }) -- the user may have done it
  end
  mapped[buf] = nil
end

---@param buf integer
---@param keys agent_ide.DiffTerminalKeys
local function map(buf, keys)
  mapped[buf] = {}
  for _, verdict in ipairs({ "accept", "reject" }) do
    local lhs = keys[verdict]
    if lhs then
      vim.keymap.set("t", lhs, function()
        require("agent_ide.diff.commands").settle(verdict)
      end, { buffer = buf, desc = ("agent_ide: %s the diff"):format(verdict) })
      table.insert(mapped[buf], lhs)
    end
  end
end

--- Map or unmap, as reviews wait now.
---@param status agent_ide.Status
function M.update(status)
  local keys = require("agent_ide.config").get().diff.terminal_keys
  if not (keys.accept or keys.reject) then
    return
  end
  local waits = {} ---@type table<string, boolean>
  for _, review in ipairs(status.reviews) do
    waits[review.agent] = waits[review.agent] or require("agent_ide.diff.facts").waits(review)
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local agent = vim.b[buf].agent_ide_terminal
    if agent and waits[agent] and not mapped[buf] then
      map(buf, keys)
    elseif mapped[buf] and not waits[agent] then
      unmap(buf)
    end
  end
end

return M
