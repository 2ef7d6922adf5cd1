--- How to launch Gemini CLI.
---
--- Owns:     nothing; it is data.
--- Not here: what it has in common with Qwen Code (companion.lua).

--- In a container it looks for an IDE outside, unless something says that the IDE is inside as well.
local CONTAINER = { "/.dockerenv", "/run/.containerenv" }
local INSIDE = { "SSH_CONNECTION", "VSCODE_REMOTE_CONTAINERS_SESSION", "REMOTE_CONTAINERS" }

---@return boolean
local function looks_outside()
  local function there(path)
    return vim.uv.fs_stat(path) ~= nil
  end
  local function set(name)
    return (vim.env[name] or "") ~= ""
  end
  return vim.iter(CONTAINER):any(there) and not vim.iter(INSIDE):any(set)
end

local agent = require("agent_ide.agents.companion").new({
  name = "gemini",
  title = "Gemini CLI",
  prefix = "GeminiCli",
  package = "@google/gemini-cli",
  settings = function(env)
    return vim.fs.joinpath(env.GEMINI_CLI_HOME or env.HOME or "~", ".gemini", "settings.json")
  end,
})

agent.env = function()
  return looks_outside() and { REMOTE_CONTAINERS = "true" } or {}
end

local common = agent.findings
agent.findings = function()
  local found = common()
  if looks_outside() then
    table.insert(found, {
      level = "info",
      text = "in this container a Gemini CLI that Neovim has not started looks for an IDE outside; "
        .. "REMOTE_CONTAINERS=true in its environment brings it here",
    })
  end
  return found
end

return agent
