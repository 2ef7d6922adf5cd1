--- In which folders the user works: the lock files say so, client or not.
---
--- Owns:     `watching` (while a host runs), the folders sent last.
--- Not here: real paths (the host adds them), open files (buffers.lua).
local M = {}

local api = vim.api

---@class agent_ide.FoldersWatch
---@field group integer
---@field sent? string[]
---@field scheduled boolean a look is due

---@type agent_ide.FoldersWatch?
local watching

--- Each once, as spelled, the current one first.
---@return string[]
function M.list()
  local out, seen = {}, {}
  local function add(path)
    if path and path ~= "" and not seen[path] then
      seen[path] = true
      out[#out + 1] = path
    end
  end
  add(vim.fn.getcwd())
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    local number = api.nvim_tabpage_get_number(tab)
    add(vim.fn.getcwd(-1, number))
    for _, win in ipairs(api.nvim_tabpage_list_wins(tab)) do
      add(vim.fn.getcwd(api.nvim_win_get_number(win), number))
    end
  end
  for _, client in ipairs(vim.lsp.get_clients()) do
    for _, folder in ipairs(client.workspace_folders or {}) do
      add(vim.uri_to_fname(folder.uri))
    end
  end
  add(vim.fs.root(out[1], ".git"))
  return out
end

--- What the users' functions say of the folders. Asked again only when these have changed.
---@param folders string[]
---@return table<string, boolean>? by_agent nil: there is no such function
local function trusted(folders)
  local agents = require("agent_ide.agents")
  local by_agent ---@type table<string, boolean>?
  for _, name in ipairs(agents.names()) do
    local trust = agents.config(name).trust
    if type(trust) == "function" then
      local real = vim.tbl_map(function(folder)
        return vim.uv.fs_realpath(folder) or folder
      end, folders)
      local ok, answer = pcall(trust, real)
      if not ok then
        local message = "the option %s.trust failed, nothing is trusted: %s"
        require("agent_ide.notify").show(message:format(name, answer), "error")
      end
      by_agent = by_agent or {}
      by_agent[name] = ok and answer == true
    end
  end
  return by_agent
end

local function push()
  if not watching then
    return
  end
  watching.scheduled = false
  local folders = M.list()
  if not vim.deep_equal(folders, watching.sent) then
    watching.sent = folders
    local payload = { folders = folders, trusted = trusted(folders) }
    require("agent_ide.rpc").notify("folders", payload)
  end
end

--- These events are rare: a change of directory, a window less, a language server.
local function push_soon()
  if watching and not watching.scheduled then
    watching.scheduled = true
    vim.schedule(push)
  end
end

--- Tell the host now, and whenever they change.
function M.watch()
  M.unwatch()
  local group, on = require("agent_ide.guard").augroup("agent_ide_folders")
  watching = { group = group, scheduled = false }
  on({ "DirChanged", "LspAttach", "LspDetach" }, push_soon)
  on({ "TabEnter", "TabClosed", "WinClosed" }, push_soon)
  push()
end

function M.unwatch()
  if watching then
    api.nvim_clear_autocmds({ group = watching.group })
    watching = nil
  end
end

return M
