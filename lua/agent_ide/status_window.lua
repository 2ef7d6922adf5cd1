--- The window of :AgentIde status.
---
--- Owns:     one float and its buffer while it is open.
--- Not here: the status itself (status.lua).
local M = {}

local api = vim.api

--- The open one.
---@type { buf: integer, win: integer }?
local window

---@param lines string[]
---@param server agent_ide.Server
local function add_server(lines, server)
  local state = server.error and "not served: " .. server.error or "at " .. server.address
  table.insert(lines, ("  %s  %s"):format(server.title, state))
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
  section(lines, "Connected", status.clients, add_client, "nobody")
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

---@param lines string[]
---@return vim.api.keyset.win_config
local function placed(lines)
  local width = 40
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 2)
  end
  width = math.max(1, math.min(width, vim.o.columns - 4))
  local height = math.max(1, math.min(#lines, vim.o.lines - 4))
  return {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
  }
end

local function fill()
  if not window or not api.nvim_win_is_valid(window.win) then
    return
  end
  local lines = M.lines()
  vim.bo[window.buf].modifiable = true
  api.nvim_buf_set_lines(window.buf, 0, -1, false, lines)
  vim.bo[window.buf].modifiable = false
  api.nvim_win_set_config(window.win, placed(lines))
end

local function close()
  if window and api.nvim_win_is_valid(window.win) then
    api.nvim_win_close(window.win, true)
  end
  window = nil
end

---@param buf integer
local function watch(buf)
  local group = api.nvim_create_augroup("agent_ide_status_window", {})
  api.nvim_create_autocmd("User", {
    group = group,
    pattern = "AgentIdeStatus",
    desc = "agent_ide: show the new status",
    callback = fill,
  })
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buf,
    desc = "agent_ide: forget the status window",
    callback = function()
      api.nvim_clear_autocmds({ group = group })
    end,
  })
  api.nvim_create_autocmd("WinLeave", {
    group = group,
    buffer = buf,
    desc = "agent_ide: close the status window",
    callback = vim.schedule_wrap(function()
      -- the next one may be open already
      if window and window.buf == buf then
        close()
      end
    end),
  })
end

--- Show the status in a float that q, <Esc> and leaving it close. It follows changes.
function M.open()
  close()
  local lines = M.lines()
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  local config = placed(lines)
  config.style, config.border = "minimal", "rounded"
  config.title = " agent_ide "
  window = { buf = buf, win = api.nvim_open_win(buf, true, config) }
  for _, keys in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", keys, close, { buffer = buf, nowait = true, desc = "agent_ide: close" })
  end
  watch(buf)
end

return M
