--- :checkhealth agent_ide: what is there, what is not, and the cure.
---
--- Owns:     nothing; state is read through status.lua, host.lua and install.lua.
--- Not here: the agents' own settings (health/<agent>.lua), other IDEs (health/others.lua).
local M = {}

local health = vim.health
local uv = vim.uv

--- A CLI that takes longer to name its version has other problems.
local VERSION_MS = 10000

local function check_neovim()
  health.start("agent_ide: Neovim")
  local version = tostring(vim.version())
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok("Neovim " .. version)
  else
    health.error("Neovim " .. version, "agent_ide needs Neovim 0.10 or newer")
  end
  local problems = require("agent_ide.config").problems()
  for _, problem in ipairs(problems) do
    health.warn(problem, "its default is used; see :help agent_ide-config")
  end
  if #problems == 0 then
    health.ok("the options are valid")
  end
end

--- Versions of the host's third parties, as the interpreter finds them.
---@param python string
---@return boolean ok
---@return string text
local function package_versions(python)
  local code = "import importlib.metadata as m, platform as p\n"
    .. "print('Python', p.python_version(), *(f', {n} {m.version(n)}' for n in "
    .. "('pynvim', 'websockets', 'aiohttp', 'msgspec')), sep='')"
  local started, process = pcall(vim.system, { python, "-I", "-c", code }, { text = true })
  local result = started and process:wait(VERSION_MS)
  if result and result.code == 0 then
    return true, (vim.trim(result.stdout):gsub("^Python", "Python "))
  end
  local reason = result and vim.trim(result.stderr or ""):match("[^\n]*$") or "it cannot be run"
  return false, reason
end

local function check_python()
  health.start("agent_ide: Python")
  local install = require("agent_ide.install")
  local named = require("agent_ide.config").get().python
  local python, reason = install.python()
  if not python then
    local cure = named and "mend the option python, or remove it" or "run :AgentIde install"
    return health.error(reason --[[@as string]], cure)
  end
  health.info("interpreter: " .. python .. (named and " (option python)" or ""))
  local ok, text = package_versions(python)
  if ok then
    health.ok(text)
  else
    local cure = named and "install the packages of the plugin's requirements.lock there"
      or "run :AgentIde install"
    health.error("the host's packages are not complete: " .. text, cure)
  end
end

--- What each phase of the host means; the cure where one is needed.
local PHASES = {
  off = { "warn", "the host is off", ":AgentIde start" },
  installing = { "info", "the host waits for its Python packages" },
  running = { "ok", "the host runs" },
  stopping = { "info", "the host is ending" },
  waiting = { "warn", "the host ended by itself and is about to start again", ":AgentIde log" },
  given_up = { "error", "the host ended too often", "see :AgentIde log, then :AgentIde restart" },
}

local function check_host()
  health.start("agent_ide: host")
  local info = require("agent_ide.host").info()
  local phase = PHASES[info.phase]
  local detail = info.pid and (" (pid %d, version %s)"):format(info.pid, info.version or "?") or ""
  health[phase[1]](phase[2] .. detail, phase[3])
  health.info("log: " .. require("agent_ide.log").path())
end

---@param path string a lock file or socket
local function check_private(path)
  local stat = uv.fs_stat(path)
  if not stat then
    return health.warn(path .. " is gone", ":AgentIde restart writes it anew")
  end
  local mode = bit.band(stat.mode, tonumber("777", 8))
  if mode == tonumber("600", 8) then
    health.ok(path .. " is private (0600)")
  else
    local text = ("%s has mode %04o: others may read it"):format(path, mode)
    health.error(text, "chmod 600 " .. path .. ", then :AgentIde restart")
  end
end

local function check_servers()
  health.start("agent_ide: servers")
  local status = require("agent_ide.status").get()
  for _, server in ipairs(status.servers) do
    if server.error then
      health.error(server.title .. ": " .. server.error, "see :AgentIde log")
    else
      health.ok(("%s is served at %s"):format(server.title, server.address))
    end
    vim.iter(server.files):each(check_private)
  end
  if #status.servers == 0 then
    health.warn("nothing is served", ":AgentIde start")
  end
  for _, client in ipairs(status.clients) do
    health.ok(("connected: %s %s (%s)"):format(client.name, client.version, client.id))
  end
  for _, client in ipairs(require("agent_ide.lost").list()) do
    local text = ("%s %s lost its connection with the host"):format(client.name, client.version)
    health.warn(text, "type /ide in it")
  end
  if #status.clients == 0 then
    health.info("no agent is connected")
  end
end

---@param name string
local function check_cli(name)
  local agents = require("agent_ide.agents")
  local agent, command = agents.get(name), agents.command(name)
  health.start("agent_ide: " .. agent.title)
  if not agents.config(name).enabled then
    health.info(("it is not served: the option %s.enabled is false"):format(name))
  end
  if not command[1] or vim.fn.executable(command[1]) == 0 then
    local cures = { agent.install_hint, ("or set the option %s.command"):format(name) }
    return health.warn("there is no program " .. vim.inspect(command[1]), cures)
  end
  local argv = vim.list_extend(vim.deepcopy(command), { "--version" })
  local started, process = pcall(vim.system, argv, { text = true })
  local result = started and process:wait(VERSION_MS)
  if result and result.code == 0 then
    health.ok(vim.trim(result.stdout) .. " (" .. vim.fn.exepath(command[1]) .. ")")
  else
    health.error(command[1] .. " --version failed", "run it in a shell to see why")
  end
  for _, finding in ipairs(agent.findings and agent.findings() or {}) do
    health[finding.level](finding.text, finding.cure)
  end
end

function M.check()
  check_neovim()
  check_python()
  check_host()
  check_servers()
  vim.iter(require("agent_ide.agents").names()):each(check_cli)
  require("agent_ide.health.others").check()
end

return M
