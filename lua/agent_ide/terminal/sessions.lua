--- Which terminals run, and which of them a command means.
---
--- Owns:     the list of sessions; which one of each agent, and which agent, was used last.
--- Not here: the programs and their windows (the providers).
local M = {}

local api = vim.api

---@class agent_ide.Session
---@field agent string
---@field name string "" unless the user gave one
---@field tab? integer the tab page it belongs to (option terminal.per_tab)
---@field provider agent_ide.Provider that started it
---@field handle any what the provider knows it by
---@field stopped boolean ended by us: no message about its exit code

--- Oldest first.
---@type agent_ide.Session[]
local running = {}

--- By agent.
---@type table<string, agent_ide.Session>
local used = {}

---@type string?
local last_agent

---@return boolean
local function per_tab()
  return require("agent_ide.config").get().terminal.per_tab
end

--- The tab page that a terminal which starts now belongs to.
---@return integer?
function M.tab()
  return per_tab() and api.nvim_get_current_tabpage() or nil
end

--- What a terminal that is about to start is known by.
---@param agent string
---@param name? string
---@return string
function M.key(agent, name)
  return table.concat({ agent, name or "", M.tab() or "" }, "\n")
end

--- The one that a command means. With terminal.per_tab it is that of the current tab page, or one
--- whose tab page is gone.
---@param agent string
---@param name? string
---@return agent_ide.Session?
function M.find(agent, name)
  local here = api.nvim_get_current_tabpage()
  local orphan ---@type agent_ide.Session?
  for _, session in ipairs(running) do
    if session.agent == agent and session.name == (name or "") then
      if not per_tab() or session.tab == here then
        return session
      elseif not session.tab or not api.nvim_tabpage_is_valid(session.tab) then
        orphan = orphan or session
      end
    end
  end
  if orphan then
    orphan.tab = here
  end
  return orphan
end

--- The one of an agent that was used last, else any.
---@param agent string
---@return agent_ide.Session?
function M.recent(agent)
  if used[agent] then
    return used[agent]
  end
  return vim.iter(running):find(function(session)
    return session.agent == agent
  end)
end

--- The agent that something was sent to last, or whose terminal had the cursor last.
---@return string?
function M.recent_agent()
  return last_agent
end

---@param agent string
function M.use_agent(agent)
  last_agent = agent
end

---@param session agent_ide.Session
function M.use(session)
  used[session.agent], last_agent = session, session.agent
end

---@param session agent_ide.Session
function M.add(session)
  table.insert(running, session)
  M.use(session)
end

---@param session agent_ide.Session
function M.remove(session)
  running = vim.tbl_filter(function(other)
    return other ~= session
  end, running)
  if used[session.agent] == session then
    used[session.agent] = nil
  end
end

--- Those of an agent, or all.
---@param agent? string
---@return agent_ide.Session[]
function M.list(agent)
  return vim.tbl_filter(function(session)
    return not agent or session.agent == agent
  end, running)
end

return M
