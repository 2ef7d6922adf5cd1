--- Which agents are at work, as far as the titles of their terminals say so.
---
--- Owns:     the terminals whose agent is at work.
--- Not here: what a title means (agents/<agent>.lua), the text of the statusline (statusline.lua).
local M = {}

local api = vim.api

--- By buffer, the agent's name.
---@type table<integer, string>
local working = {}

---@param buf integer
---@param agent? string nil: not at work
local function set(buf, agent)
  if working[buf] ~= agent then
    working[buf] = agent
    require("agent_ide.statusline").changed()
  end
end

--- Follow the title of a terminal. Costs nothing until that changes.
---@param buf integer
function M.watch(buf)
  local agent = require("agent_ide.agents").get(vim.b[buf].agent_ide_terminal)
  if not agent.is_working then
    return
  end
  local changed = "v:lua.require('agent_ide.terminal.working').changed"
  api.nvim_buf_call(buf, function()
    vim.cmd(("call dictwatcheradd(b:, 'term_title', {-> %s(%d)})"):format(changed, buf))
  end)
end

--- The title of a terminal has changed. Called by Neovim.
---@param buf integer
function M.changed(buf)
  local name = vim.b[buf].agent_ide_terminal
  local title = vim.b[buf].term_title or ""
  set(buf, require("agent_ide.agents").get(name).is_working(title) and name or nil)
end

--- Its program has ended.
---@param buf integer
function M.forget(buf)
  set(buf, nil)
end

---@param agent string
---@return boolean
function M.is_working(agent)
  return vim.iter(pairs(working)):any(function(_, name)
    return name == agent
  end)
end

return M
