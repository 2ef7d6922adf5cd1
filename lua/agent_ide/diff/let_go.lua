--- Texts that the user has accepted and changed, from the end of their view until they are safe.
---
--- A client closes its diff before it writes; until then only the host has the user's version, which
--- it keeps if the client does not write. When the host ends first, that is done here.
---
--- Owns:     those texts, for as long as the host waits for a write.
--- Not here: where a text is kept (`kept.lua`), the wait itself (the host's writing.py).
local M = {}

--- A little more than the host's patience.
local PATIENCE_MS = 12000

---@class agent_ide.diff.LetGo
---@field request agent_ide.diff.Request
---@field text string

---@type table<agent_ide.ReviewId, agent_ide.diff.LetGo>
local entries = {}

---@param request agent_ide.diff.Request
---@param text string as accepted
function M.add(request, text)
  local entry = { request = request, text = text }
  entries[request.id] = entry
  vim.defer_fn(function()
    if entries[request.id] == entry then
      entries[request.id] = nil
    end
  end, PATIENCE_MS)
end

---@param entry agent_ide.diff.LetGo
---@return boolean
local function is_safe(entry)
  local text, path = require("agent_ide.text"), entry.request.path
  local buf = require("agent_ide.files").find(path)
  local in_buffer = buf and vim.api.nvim_buf_is_loaded(buf) and text.read(buf) == entry.text
  return in_buffer or text.of_file(path) == entry.text
end

--- The host has ended: what is neither in its file nor in its buffer is kept.
---@param keep fun(request: agent_ide.diff.Request, text: string)
function M.host_gone(keep)
  local left = entries
  entries = {}
  for _, entry in pairs(left) do
    if not is_safe(entry) then
      keep(entry.request, entry.text)
    end
  end
end

return M
