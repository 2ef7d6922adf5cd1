--- Sending to an agent: files and lines as mentions, text into its prompt.
---
--- Owns:     nothing.
--- Not here: what the user means to send (sources.lua), what waits for an agent (outbox.lua), what may be
---           shared (share.lua), the terminal itself.
local M = {}

local agents = require("agent_ide.agents")
local outbox = require("agent_ide.outbox")
local notify = require("agent_ide.notify")
local status = require("agent_ide.status")
local terminal = require("agent_ide.terminal")

--- A TUI takes an Enter that comes in one piece with a paste for a part of it.
local SUBMIT_DELAY_MS = 200

--- More than that is most likely a mistake.
local MANY = 50

---@param agent string
---@return boolean
local function connected(agent)
  return vim.iter(status.get().clients):any(function(client)
    return client.agent == agent
  end)
end

--- Let the user see where it goes. An agent that is connected from elsewhere needs no terminal here.
---@param agent string
local function show_terminal(agent)
  require("agent_ide.terminal.sessions").use_agent(agent)
  if connected(agent) and not terminal.running(agent) then
    return
  elseif require("agent_ide.config").get().focus_after_send then
    terminal.focus_recent(agent)
  else
    terminal.show(agent)
  end
end

---@param agent string
---@param sent table what went out, for autocommands
local function announce(agent, sent)
  vim.api.nvim_exec_autocmds("User", {
    pattern = { "AgentIdeSent", agents.get(agent).prefix .. "SendComplete" },
    modeline = false,
    data = sent,
  })
end

---@param path string
---@return boolean
local function may_share(path)
  if require("agent_ide.share").allowed(path) then
    return true
  end
  local name = vim.fn.fnamemodify(path, ":t")
  notify.show(name .. " is not sent: the option do_not_share covers it", "warn")
  return false
end

--- Mention a file or folder in an agent's prompt.
---@param agent string
---@param path string absolute
---@param start_line? integer 0-based
---@param end_line? integer 0-based, inclusive
---@return boolean accepted false: refused, and the user was told why
function M.mention(agent, path, start_line, end_line)
  if not may_share(path) then
    return false
  end
  show_terminal(agent)
  outbox.post({
    agent = agent,
    name = vim.fn.fnamemodify(path, ":t"),
    is_text = false,
    deliver = function()
      local payload = {
        agent = agent,
        path = path,
        start_line = start_line,
        end_line = end_line,
        terminal_pid = terminal.pid(agent),
      }
      if not require("agent_ide.rpc").notify("mention", payload) then
        return "no host is running (:checkhealth agent_ide)"
      end
      announce(agent, payload)
    end,
  })
  return true
end

--- Mention several.
---@param agent string
---@param items agent_ide.Item[]
---@return boolean accepted one at least
function M.items(agent, items)
  local list = vim.list_slice(items, 1, MANY)
  if #items > MANY then
    notify.show(("only the first %d of %d are sent"):format(MANY, #items), "warn")
  end
  local any = false
  for _, item in ipairs(list) do
    local first, last = item.first, item.last
    any = M.mention(agent, item.path, first and first - 1, last and last - 1) or any
  end
  return any
end

--- A review whose dialog is open in the agent's terminal, where text would answer it.
---@param agent string
---@return agent_ide.Review?
local function open_question(agent)
  for _, review in ipairs(status.get().reviews) do
    if review.agent == agent and not review.client_gone and review.state ~= "accepted" then
      return review
    end
  end
end

---@param agent string
---@return string? problem a sentence; nil: text can be typed
local function why_not_type(agent)
  local title, prefix = agents.get(agent).title, agents.get(agent).prefix
  local review = open_question(agent)
  if review then
    local message = "%s waits for your verdict on %s and would take text for it: settle that first"
    return message:format(title, vim.fn.fnamemodify(review.path, ":t"))
  elseif not terminal.running(agent) then
    local message = "%s does not run in a terminal of this Neovim: :%s starts it"
    return message:format(title, prefix)
  end
end

---@param agent string
---@return boolean
local function may_type(agent)
  local problem = why_not_type(agent)
  if problem then
    notify.show(problem, "warn")
  end
  return problem == nil
end

--- An escape sequence in the text could end the paste early, and the rest would count as keys.
---@param agent string
---@param text string
---@return boolean
local function paste(agent, text)
  local clean = text:gsub("\27", "")
  return terminal.write(agent, "\27[200~" .. clean .. "\27[201~")
end

--- The host has a mention for a CLI whose protocol has no message for it.
---@param args { agent: string, text: string }
---@param reply agent_ide.Reply
function M.receive(args, reply)
  if not may_type(args.agent) then
    return reply("it cannot be typed now; the user was told why")
  end
  paste(args.agent, args.text)
  reply()
end

---@param agent string
---@param text string
---@param submit boolean
---@return string? problem
local function type_in(agent, text, submit)
  local problem = why_not_type(agent)
  if problem then
    return problem
  elseif not paste(agent, text) then
    return "nothing can be typed into the terminal it runs in"
  end
  if submit then
    vim.defer_fn(function()
      -- a question may have come up in the meantime
      if not open_question(agent) then
        terminal.write(agent, "\r")
      end
    end, SUBMIT_DELAY_MS)
  end
  announce(agent, { agent = agent, text = text })
end

--- Paste text into an agent's prompt; starts it where it does not run.
---@param agent string
---@param text string
---@param submit boolean press Enter after it
---@return boolean accepted
function M.text(agent, text, submit)
  local starting = not terminal.running(agent) and not connected(agent)
  if not starting and not may_type(agent) then
    return false
  end
  show_terminal(agent)
  if not starting and not outbox.is_waiting(agent) then
    local problem = type_in(agent, text, submit)
    if problem then
      notify.show(problem, "warn")
    end
    return problem == nil
  end
  outbox.post({
    agent = agent,
    name = "the text",
    is_text = true,
    pause_ms = submit and 2 * SUBMIT_DELAY_MS or nil,
    deliver = function()
      return type_in(agent, text, submit)
    end,
  })
  return true
end

--- Send once more what could not be delivered.
function M.again()
  local letters = outbox.take_returned()
  if #letters == 0 then
    return notify.show("nothing has come back")
  end
  for _, letter in ipairs(letters) do
    show_terminal(letter.agent)
    outbox.post(letter)
  end
end

--- Diagnostics: their words into the prompt where it can be typed into, else where they are.
---@param agent string
---@param items agent_ide.Item[]
---@param text string
---@return boolean accepted
function M.diagnostics(agent, items, text)
  if not may_share(items[1].path) then
    return false
  elseif connected(agent) and not terminal.running(agent) then
    return M.items(agent, items)
  end
  return M.text(agent, text, false)
end

return M
