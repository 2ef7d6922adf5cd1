--- What :AgentIde status says, line by line.
---
--- Owns:     nothing.
--- Not here: the status itself (status.lua), its window (status_window.lua).
local M = {}

---@param lines string[]
---@param server agent_ide.Server
local function add_server(lines, server)
  local state = server.error and "not served: " .. server.error or "at " .. server.address
  table.insert(lines, ("  %s  %s"):format(server.title, state))
  for _, file in ipairs(server.files) do
    table.insert(lines, "    " .. vim.fn.fnamemodify(file, ":~"))
  end
end

---@param lines string[]
---@param client agent_ide.Client
local function add_client(lines, client)
  local words = { "  " .. client.id, client.name .. " " .. client.version }
  if client.pid then
    table.insert(words, "pid " .. client.pid)
  end
  if client.session_name then
    table.insert(words, ('"%s"'):format(client.session_name))
  end
  if client.cwd then
    table.insert(words, vim.fn.fnamemodify(client.cwd, ":~"))
  end
  table.insert(lines, table.concat(words, "  "))
end

---@param lines string[]
---@param client agent_ide.Client
local function add_lost(lines, client)
  local pid = client.pid and (" (pid %d)"):format(client.pid) or ""
  local text = "  %s %s%s lost its connection with the host: type /ide in it"
  table.insert(lines, text:format(client.name, client.version, pid))
end

---@param lines string[]
---@param session agent_ide.Session
local function add_terminal(lines, session)
  local title = require("agent_ide.agents").get(session.agent).title
  table.insert(lines, "  " .. title .. (session.name ~= "" and ": " .. session.name or ""))
end

---@return string
local function selection()
  local sent = package.loaded["agent_ide.selection"] and require("agent_ide.selection").last_sent()
  if not sent or sent.path == "" then
    return "Selection: none was told"
  end
  local path = vim.fn.fnamemodify(sent.path, ":~:.")
  if sent.text == "" then
    return ("Selection: none, the cursor is in line %d of %s"):format(sent.start_line + 1, path)
  end
  -- a selection of whole lines ends at the beginning of the next one
  local last = sent.end_line + (sent.end_character > 0 and 1 or 0)
  return ("Selection: lines %d to %d of %s"):format(sent.start_line + 1, last, path)
end

---@param lines string[]
---@param review agent_ide.Review
local function add_review(lines, review)
  local whose = review.client_gone and review.client .. " (gone)" or review.client
  local path = vim.fn.fnamemodify(review.path, ":~:.")
  local kind = review.is_new and " (new file)" or ""
  table.insert(lines, ("  %s  %s%s  from %s"):format(review.state, path, kind, whose))
end

---@param lines string[]
---@param title string
---@param items any[]
---@param add fun(lines: string[], item: any)
---@param none string
local function section(lines, title, items, add, none)
  table.insert(lines, title)
  for _, item in ipairs(items) do
    add(lines, item)
  end
  if #items == 0 then
    table.insert(lines, "  " .. none)
  end
  table.insert(lines, "")
end

---@return string[]
function M.lines()
  local status, lines = require("agent_ide.status").get(), {}
  local up = require("agent_ide.rpc").attached()
  table.insert(lines, up and "Host: running" or "Host: not running (:AgentIde start)")
  table.insert(lines, "")
  section(lines, "Servers", up and status.servers or {}, add_server, "none")
  section(lines, "Folders", require("agent_ide.folders").list(), function(into, folder)
    table.insert(into, "  " .. vim.fn.fnamemodify(folder, ":~"))
  end, "none")
  section(lines, "Connected", status.clients, add_client, "nobody")
  local lost = require("agent_ide.lost").list()
  if #lost > 0 then
    section(lines, "Lost", lost, add_lost, "none")
  end
  local sessions = require("agent_ide.terminal.sessions").list()
  if #sessions > 0 then
    section(lines, "Terminals", sessions, add_terminal, "none")
  end
  vim.list_extend(lines, { selection(), "" })
  section(lines, "Diffs", status.reviews, add_review, "none")
  if status.kernel then
    vim.list_extend(lines, { "Notebook kernel: " .. status.kernel, "" })
  end
  table.insert(lines, "Log: " .. vim.fn.fnamemodify(require("agent_ide.log").path(), ":~"))
  -- names of tabs and paths may hold line breaks; a buffer's line may not
  return vim.tbl_map(function(line)
    return (line:gsub("%c", " "))
  end, lines)
end

return M
