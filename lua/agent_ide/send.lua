--- Sending to an agent: files and lines as mentions, text into its prompt.
---
--- Owns:     nothing; the host keeps a mention until the agent is connected.
--- Not here: which file a tree shows (tree.lua), what may be shared (share.lua), the terminal itself.
local M = {}

local agents = require("agent_ide.agents")
local notify = require("agent_ide.notify")
local status = require("agent_ide.status")
local terminal = require("agent_ide.terminal")

--- A TUI takes an Enter that comes in one piece with a paste for a part of it.
local SUBMIT_DELAY_MS = 200

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
  if connected(agent) and not terminal.running(agent) then
    return
  elseif require("agent_ide.config").get().focus_after_send then
    terminal.open(agent)
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

--- Mention a file or folder in an agent's prompt.
---@param agent string
---@param path string absolute
---@param start_line? integer 0-based
---@param end_line? integer 0-based, inclusive
---@return boolean accepted false: refused, and the user was told why
function M.mention(agent, path, start_line, end_line)
  if not require("agent_ide.share").allowed(path) then
    local name = vim.fn.fnamemodify(path, ":t")
    notify.show(name .. " is not sent: the option do_not_share covers it", "warn")
    return false
  end
  show_terminal(agent)
  require("agent_ide.served").await(agent, function(server)
    local payload = {
      agent = agent,
      path = path,
      start_line = start_line,
      end_line = end_line,
      terminal_pid = terminal.pid(agent),
    }
    if server and require("agent_ide.rpc").notify("mention", payload) then
      return announce(agent, payload)
    end
    local name = vim.fn.fnamemodify(path, ":t")
    notify.show(name .. " was not sent, no host is running: see :checkhealth agent_ide", "error")
  end)
  return true
end

---@param buf integer
---@return string? path
---@return string? problem
local function file_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= "" or name:find("^%a[%w+.-]+://") then
    return nil, "this window shows no file"
  elseif name == "" then
    return nil, "this buffer has no name yet and agents read files from disk: :w it first"
  end
  local path = vim.fn.fnamemodify(name, ":p")
  if not vim.uv.fs_stat(path) then
    return nil, vim.fn.fnamemodify(path, ":t") .. " is not on disk yet: :w it first"
  end
  return path
end

--- Mention lines of a buffer.
---@param agent string
---@param buf integer
---@param first_lnum integer
---@param last_lnum integer
---@return boolean accepted
function M.lines(agent, buf, first_lnum, last_lnum)
  local path, problem = file_of(buf)
  if not path then
    notify.show(problem --[[@as string]], "warn")
    return false
  end
  return M.mention(agent, path, first_lnum - 1, last_lnum - 1)
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
---@return boolean
local function may_type(agent)
  local title, prefix = agents.get(agent).title, agents.get(agent).prefix
  local review = open_question(agent)
  if review then
    local message = "%s waits for your verdict on %s and would take text for it: settle that first"
    notify.show(message:format(title, vim.fn.fnamemodify(review.path, ":t")), "warn")
    return false
  elseif not terminal.running(agent) then
    local message = "%s does not run in a terminal of this Neovim: :%s starts it"
    notify.show(message:format(title, prefix), "warn")
    return false
  end
  return true
end

--- An escape sequence in the text could end the paste early, and the rest would count as keys.
---@param agent string
---@param text string
local function paste(agent, text)
  local clean = text:gsub("\27", "")
  terminal.write(agent, "\27[200~" .. clean .. "\27[201~")
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

--- Paste text into an agent's prompt.
---@param agent string
---@param text string
---@param submit boolean press Enter after it
---@return boolean accepted
function M.text(agent, text, submit)
  if not may_type(agent) then
    return false
  end
  paste(agent, text)
  if submit then
    vim.defer_fn(function()
      -- a question may have come up in the meantime
      if not open_question(agent) then
        terminal.write(agent, "\r")
      end
    end, SUBMIT_DELAY_MS)
  end
  show_terminal(agent)
  announce(agent, { agent = agent, text = text })
  return true
end

return M
