--- What was sent and is not delivered yet: it waits for its agent, in order.
---
--- Owns:     letters that wait, and those that came back.
--- Not here: what a letter holds and how it is delivered (send.lua).
local M = {}

local agents = require("agent_ide.agents")
local notify = require("agent_ide.notify")
local status = require("agent_ide.status")

--- From the moment the agent can connect; a CLI that has to be logged in to takes longer than that.
local PATIENCE_MS = 30000

--- A mention goes through the host and the agent's protocol.
local MENTION_MS = 100

---@class agent_ide.Letter
---@field agent string
---@field name string for people
---@field deliver fun(): string? sends it; an error says why it cannot be
---@field is_text boolean it goes straight to the terminal, so it must not overtake a mention
---@field pause_ms? integer until the next one may follow

---@class agent_ide.Box
---@field letters agent_ide.Letter[] oldest first
---@field timer? uv.uv_timer_t
---@field pausing boolean
---@field mentioned_ms integer when the last mention went out

---@type table<string, agent_ide.Box>
local boxes = {}

--- Not delivered, for `:AgentIde send again`.
---@type agent_ide.Letter[]
local returned = {}

---@type integer?
local group

---@param agent string
---@return boolean some client of it can take a mention
function M.is_ready(agent)
  return vim.iter(status.get().clients):any(function(client)
    return client.agent == agent and client.ready ~= false
  end)
end

---@param box agent_ide.Box
local function clear_timer(box)
  if box.timer then
    box.timer:close()
    box.timer = nil
  end
end

--- Give up on what waits for an agent.
---@param agent string
---@param reason string as part of a sentence
local function give_back(agent, reason)
  local box = boxes[agent]
  if not box or #box.letters == 0 then
    return
  end
  clear_timer(box)
  local names = vim.tbl_map(function(letter)
    return letter.name
  end, box.letters)
  vim.list_extend(returned, box.letters)
  box.letters = {}
  local what = #names > 2 and ("%s and %d more"):format(names[1], #names - 1)
    or table.concat(names, " and ")
  local message = "%s was not sent: %s. It is kept: :AgentIde send again"
  notify.show(message:format(what, reason), "warn")
end

local flush

---@param agent string
---@param box agent_ide.Box
---@param ms integer
local function pause(agent, box, ms)
  box.pausing = true
  vim.defer_fn(function()
    box.pausing = false
    flush(agent)
  end, ms)
end

--- Deliver the oldest letter.
---@param agent string
---@param box agent_ide.Box
local function deliver_one(agent, box)
  local letter = box.letters[1]
  local wait_ms = letter.is_text and box.mentioned_ms + MENTION_MS - vim.uv.now() or 0
  if wait_ms > 0 then
    return pause(agent, box, wait_ms)
  end
  local err = letter.deliver()
  if err then
    return give_back(agent, err)
  end
  table.remove(box.letters, 1)
  if letter.pause_ms then
    pause(agent, box, letter.pause_ms)
  elseif not letter.is_text then
    box.mentioned_ms = vim.uv.now()
  end
end

---@param agent string
flush = function(agent)
  local box = boxes[agent]
  if not box then
    return
  end
  while not box.pausing and #box.letters > 0 and M.is_ready(agent) do
    deliver_one(agent, box)
  end
  if #box.letters == 0 then
    clear_timer(box)
  end
end

local function watch()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("agent_ide_outbox", {})
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = "AgentIdeStatus",
    desc = "agent_ide: deliver what waits for an agent",
    callback = function()
      vim.iter(vim.tbl_keys(boxes)):each(flush)
    end,
  })
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = "AgentIdeTerminalClosed",
    desc = "agent_ide: nobody will take what waits for this agent",
    callback = function(event)
      local agent = event.data.agent
      if not require("agent_ide.terminal").running(agent) then
        give_back(agent, agents.get(agent).title .. "'s terminal was closed")
      end
    end,
  })
end

--- Deliver a letter once its agent is connected, after those before it.
---@param letter agent_ide.Letter
function M.post(letter)
  watch()
  local agent = letter.agent
  boxes[agent] = boxes[agent] or { letters = {}, pausing = false, mentioned_ms = 0 }
  table.insert(boxes[agent].letters, letter)
  flush(agent)
  M.start_waiting(agent)
end

--- Count the time, once the agent's server is there for it to connect to.
---@param agent string
function M.start_waiting(agent)
  local box = boxes[agent]
  if #box.letters == 0 or box.timer then
    return
  end
  box.timer = assert(vim.uv.new_timer())
  local timer = box.timer
  require("agent_ide.served").await(agent, function(server)
    if not server or server.error then
      local err = server and server.error or "no host is running (:checkhealth agent_ide)"
      return give_back(agent, err)
    elseif box.timer == timer then
      timer:start(
        PATIENCE_MS,
        0,
        vim.schedule_wrap(function()
          local title = agents.get(agent).title
          give_back(agent, ("no %s has connected within %d s"):format(title, PATIENCE_MS / 1000))
        end)
      )
      flush(agent)
    end
  end)
end

---@param agent string
---@return boolean something waits for it
function M.is_waiting(agent)
  return boxes[agent] ~= nil and #boxes[agent].letters > 0
end

--- Take what came back.
---@return agent_ide.Letter[]
function M.take_returned()
  local letters = returned
  returned = {}
  return letters
end

return M
