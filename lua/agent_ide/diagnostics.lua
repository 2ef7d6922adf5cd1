--- What is wrong in the files, as vim.diagnostic knows it.
---
--- Owns:     `tracking` (only while a client is connected), under which path a buffer was reported.
--- Not here: words for severities, the limit of an answer (the host).
local M = {}

local api = vim.api

--- A slice of work ends after this; the next one waits for the editor.
local SLICE_MS = 4

--- More items of one file than anybody reads; the most severe ones are sent.
local ITEMS_A_FILE = 2000

---@class agent_ide.DiagnosticsTracking
---@field group integer
---@field throttle agent_ide.Throttle
---@field waiting integer[] buffers to look at, oldest first
---@field queued table<integer, true> the same as a set
---@field reported table<integer, string> buffer -> path that the host has items of
---@field resuming boolean the next slice is on its way

---@type agent_ide.DiagnosticsTracking?
local tracking

---@param diagnostic vim.Diagnostic
---@return table
local function item(diagnostic)
  local code = diagnostic.code
  local end_line = diagnostic.end_lnum or diagnostic.lnum
  return {
    message = diagnostic.message,
    severity = diagnostic.severity or vim.diagnostic.severity.ERROR,
    start_line = diagnostic.lnum,
    start_character = diagnostic.col,
    end_line = end_line,
    end_character = diagnostic.end_col or diagnostic.col,
    source = diagnostic.source,
    code = (type(code) == "string" or type(code) == "number") and code or nil,
  }
end

---@param buf integer
---@return table[]
local function items_of(buf)
  local out, counts = {}, vim.diagnostic.count(buf)
  for severity = vim.diagnostic.severity.ERROR, vim.diagnostic.severity.HINT do
    -- one severity at a time: to get all of 100,000 stalls the editor, to count them does not
    if counts[severity] and #out < ITEMS_A_FILE then
      for _, diagnostic in ipairs(vim.diagnostic.get(buf, { severity = severity })) do
        if #out < ITEMS_A_FILE then
          out[#out + 1] = item(diagnostic)
        end
      end
    end
  end
  return out
end

---@param path string
---@param items table[]
local function send(path, items)
  require("agent_ide.rpc").notify("diagnostics", { path = path, items = items })
end

--- Report one buffer; one that is gone, renamed or not to be shared is clean under its old path.
---@param t agent_ide.DiagnosticsTracking
---@param buf integer
local function report(t, buf)
  local share = require("agent_ide.share")
  local path = share.file(buf)
  path = path and share.allowed(path) and path or nil
  local before = t.reported[buf]
  if before and before ~= path then
    t.reported[buf] = nil
    send(before, {})
  end
  if not path then
    return
  end
  local items = items_of(buf)
  if #items > 0 or t.reported[buf] then
    t.reported[buf] = #items > 0 and path or nil
    send(path, items)
  end
end

--- Work off the queue until the slice is over, then give the editor as much time.
local function push()
  local t = tracking
  if not t or t.resuming then
    return
  end
  local deadline = vim.uv.hrtime() + SLICE_MS * 1e6
  while #t.waiting > 0 and vim.uv.hrtime() < deadline do
    local buf = table.remove(t.waiting, 1)
    t.queued[buf] = nil
    report(t, buf)
  end
  if #t.waiting > 0 then
    t.resuming = true
    vim.defer_fn(function()
      t.resuming = false
      t.throttle.now()
    end, SLICE_MS)
  end
end

---@param buf integer
local function queue(buf)
  local t = tracking
  if t and not t.queued[buf] then
    t.queued[buf] = true
    t.waiting[#t.waiting + 1] = buf
  end
end

---@param event { buf: integer }
local function on_changed(event)
  queue(event.buf)
  if tracking then
    tracking.throttle.call()
  end
end

--- The buffer is still there in these events: look when it is gone.
---@param event { buf: integer }
local function on_gone(event)
  if tracking and tracking.reported[event.buf] then
    vim.schedule(function()
      on_changed(event)
    end)
  end
end

--- Start to push; every file that has diagnostics now goes first.
function M.enable()
  M.disable()
  local group, on = require("agent_ide.guard").augroup("agent_ide_diagnostics")
  tracking = {
    group = group,
    throttle = require("agent_ide.throttle").new("diagnostics", push),
    waiting = {},
    queued = {},
    reported = {},
    resuming = false,
  }
  on("DiagnosticChanged", on_changed)
  on({ "BufDelete", "BufWipeout", "BufFilePost" }, on_gone)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if next(vim.diagnostic.count(buf)) then
      queue(buf)
    end
  end
  tracking.throttle.call()
end

function M.disable()
  if tracking then
    api.nvim_del_augroup_by_id(tracking.group)
    tracking.throttle.stop()
    tracking = nil
  end
end

return M
