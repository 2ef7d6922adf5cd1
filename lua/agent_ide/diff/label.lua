--- What the winbars of a review say.
---
--- Owns:     nothing.
--- Not here: which windows have them (`split.lua`).
local M = {}

--- Text for a winbar: nothing of it is an item or a line break.
---@param text string
---@return string
local function escape(text)
  return (vim.fn.strtrans(text):gsub("%%", "%%%%"))
end

--- Keys as they are typed.
---@param name "accept"|"reject"
---@return string
local function hint(name)
  local keys = require("agent_ide.config").get().diff.keys
  local key = keys and keys[name]
  if not key then
    return ""
  end
  local leader, local_leader = vim.g.mapleader or "\\", vim.g.maplocalleader or "\\"
  key = key:gsub("<[Ll]eader>", (vim.fn.keytrans(leader):gsub("%%", "%%%%")))
  key = key:gsub("<[Ll]ocal[Ll]eader>", (vim.fn.keytrans(local_leader):gsub("%%", "%%%%")))
  return key .. " or "
end

--- What the user can do, or what is awaited.
---@param shown agent_ide.diff.Shown
---@return string
function M.state(shown)
  if shown.leaving then
    return "over (" .. shown.leaving .. "): it closes when you are back in Normal mode"
  elseif shown.told == "accept" then
    return ("accepted: waiting for %s to write the file"):format(shown.request.agent)
  elseif shown.told == "reject" then
    return "rejected"
  end
  return ("%s:w accepts, %s:q rejects"):format(hint("accept"), hint("reject"))
end

---@param request agent_ide.diff.Request
---@return string
function M.old(request)
  local name = escape(vim.fn.fnamemodify(request.path, ":~:."))
  local what = request.is_new and "new file, not on disk yet" or "on disk"
  return (" %s: %%<%s"):format(what, name)
end

---@param request agent_ide.diff.Request
---@param state string
---@return string
function M.new(request, state)
  local name = escape(vim.fs.basename(request.path))
  return (" %s: %s%%=  %%<%s "):format(escape(request.agent), name, escape(state))
end

return M
