--- The host's last status: who serves, who is connected, which reviews there are.
---
--- Owns:     a copy of what the host pushed. The host owns the truth.
--- Not here: how it is shown (commands.lua, statusline.lua).
local M = {}

---@class agent_ide.Server
---@field agent string
---@field title string
---@field address string
---@field error? string
---@field files string[] lock files and sockets that host.lua removes when the host is given up
---@field env table<string, string> what a CLI needs to find this server

---@class agent_ide.Client
---@field id string
---@field agent string
---@field name string
---@field version string
---@field pid? integer
---@field cwd? string
---@field ready boolean it can take a mention
---@field prompts? integer how many the user has sent since it connected; nil: it does not tell
---@field session_name? string what the agent calls its session; harmless to show

---@class agent_ide.Review
---@field id integer
---@field agent string
---@field title string the agent's name for people
---@field client string
---@field client_gone boolean
---@field path string
---@field tab_name string
---@field state "queued"|"opening"|"pending"|"hidden"|"accepted"
---@field is_new boolean
---@field stale? string why the edit does not fit the file any more
---@field added? integer lines
---@field removed? integer
---@field carries_reason? boolean a reason for a rejection can be put into the agent's prompt

---@class agent_ide.Status
---@field servers agent_ide.Server[]
---@field clients agent_ide.Client[]
---@field reviews agent_ide.Review[]
---@field kernel? string

---@return agent_ide.Status
local function nothing()
  return { servers = {}, clients = {}, reviews = {} }
end

---@type agent_ide.Status
local last = nothing()

---@return agent_ide.Status
function M.get()
  return last
end

--- An agent's name for people, also of one whose CLI this plugin cannot start.
---@param agent string
---@return string
function M.title(agent)
  for _, server in ipairs(last.servers) do
    if server.agent == agent then
      return server.title
    end
  end
  local agents = require("agent_ide.agents")
  return vim.tbl_contains(agents.names(), agent) and agents.get(agent).title or agent
end

---@param event string
---@param client agent_ide.Client
local function announce(event, client)
  vim.api.nvim_exec_autocmds("User", { pattern = event, modeline = false, data = client })
end

--- Say who came and who went.
---@param before agent_ide.Client[]
---@param host_gone boolean
local function announce_clients(before, host_gone)
  local now = last.clients
  require("agent_ide.lost").compare(before, now, host_gone)
  local function missing_in(clients)
    return function(client)
      return not vim.iter(clients):any(function(other)
        return other.id == client.id
      end)
    end
  end
  for _, client in ipairs(vim.tbl_filter(missing_in(now), before)) do
    announce("AgentIdeDisconnected", client)
  end
  for _, client in ipairs(vim.tbl_filter(missing_in(before), now)) do
    announce("AgentIdeConnected", client)
  end
end

---@param status agent_ide.Status
---@param reply agent_ide.Reply
function M.receive(status, reply)
  local before = last.clients
  last = status
  local files = {}
  for _, server in ipairs(status.servers) do
    for name, value in pairs(server.env) do
      -- Neovim's own environment, so that every :terminal inherits it
      vim.env[name] = value
    end
    vim.list_extend(files, server.files)
  end
  require("agent_ide.left_files").remember(files)
  announce_clients(before, false)
  M.changed()
  reply()
end

--- The host is gone: nothing is connected. The servers' files stay known until host.lua removes them.
function M.host_gone()
  local before = last.clients
  last = { servers = last.servers, clients = {}, reviews = {} }
  announce_clients(before, true)
  M.changed()
end

function M.forget_servers()
  local before = last.clients
  last = nothing()
  announce_clients(before, true)
  M.changed()
end

function M.changed()
  require("agent_ide.diff.terminal_keys").update(last)
  vim.api.nvim_exec_autocmds("User", { pattern = "AgentIdeStatus", modeline = false })
end

return M
