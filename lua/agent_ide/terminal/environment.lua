--- The environment through which an agent's CLI finds this Neovim and nothing else.
---
--- Owns:     nothing.
--- Not here: the servers' own variables (the host's status).
local M = {}

local agents = require("agent_ide.agents")

--- What an outer terminal says about itself; in ours it misleads the CLI. An outer VS Code's
--- TERM_PROGRAM makes Claude Code believe that its diffs open there.
M.MISLEADING = { "TERM_PROGRAM", "TERM_PROGRAM_VERSION" }

--- The servers listen there; a CLI behind a proxy must not go through it.
local LOOPBACK = { "127.0.0.1", "localhost", "::1" }

---@param value? string
---@return string
local function with_loopback(value)
  local hosts = vim.split(value or "", ",", { trimempty = true })
  for _, host in ipairs(LOOPBACK) do
    if not vim.tbl_contains(hosts, host) then
      table.insert(hosts, host)
    end
  end
  return table.concat(hosts, ",")
end

---@return table<string, string>
local function proxies()
  local lower, upper = vim.env.no_proxy, vim.env.NO_PROXY
  return { no_proxy = with_loopback(lower or upper), NO_PROXY = with_loopback(upper or lower) }
end

--- What a CLI in a terminal of ours gets over Neovim's own environment.
---@param agent string
---@param server agent_ide.Server?
---@return table<string, string>
function M.of(agent, server)
  local own = agents.get(agent).env
  local served = server and server.env or {}
  local given = agents.config(agent).env
  return vim.tbl_extend("force", proxies(), own and own() or {}, served, given)
end

--- What any agent's CLI needs in a terminal outside Neovim.
---@return table<string, string>
local function for_all()
  local env = proxies()
  for _, server in ipairs(require("agent_ide.status").get().servers) do
    env = vim.tbl_extend("force", env, server.env)
  end
  return env
end

---@type table<string, fun(env: table<string, string>, names: string[]): string[]>
local formats = {
  sh = function(env, names)
    local lines = vim.tbl_map(function(name)
      return ("export %s='%s'"):format(name, (env[name]:gsub("'", "'\\''")))
    end, names)
    table.insert(lines, "unset " .. table.concat(M.MISLEADING, " "))
    return lines
  end,
  fish = function(env, names)
    local lines = vim.tbl_map(function(name)
      return ("set -gx %s '%s'"):format(name, (env[name]:gsub("[\\']", "\\%0")))
    end, names)
    table.insert(lines, "set -e " .. table.concat(M.MISLEADING, " "))
    return lines
  end,
  json = function(env)
    return { vim.json.encode({ env = env, unset = M.MISLEADING }) }
  end,
}

---@return string[]
function M.formats()
  local names = vim.tbl_keys(formats)
  table.sort(names)
  return names
end

--- For a terminal outside Neovim: what a shell evaluates there.
---@param format? "sh"|"fish"|"json"
---@return string? text nil: there is no such format
function M.text(format)
  local write = formats[format or "sh"]
  if not write then
    return nil
  end
  local env = for_all()
  local names = vim.tbl_keys(env)
  table.sort(names)
  return table.concat(write(env, names), "\n")
end

return M
