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

---@param status agent_ide.Status
---@param reply agent_ide.Reply
function M.receive(status, reply)
  last = status
  local files = {}
  for _, server in ipairs(status.servers) do
    for name, value in pairs(server.env) do
      -- Neovim's own environment, so that every :terminal inherits it
      vim.env[name] = value
    end
    vim.list_extend(files, server.files)
  end
  require("agent_ide.host").remember_files(files)
  M.changed()
  reply()
end

--- The host is gone: nothing is connected. The servers' files stay known until host.lua removes them.
function M.host_gone()
  last = { servers = last.servers, clients = {}, reviews = {} }
  M.changed()
end

function M.forget_servers()
  last = nothing()
  M.changed()
end

function M.changed()
  vim.api.nvim_exec_autocmds("User", { pattern = "AgentIdeStatus", modeline = false })
end

return M
