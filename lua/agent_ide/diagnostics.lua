--- What is wrong in the files, as vim.diagnostic knows it.
---
--- Owns:     `tracking` (only while a client is connected), `reported`.
--- Not here: words for severities, the limit of an answer (the host).
local M = {}

local api = vim.api

--- A slice of work ends after this, which most often is one file; the next one waits for the editor.
--- With 4 the longest stall while all of 1,000 files change was 12 to 14 ms, with this 9 to 10, and all
--- was told sooner.
local SLICE_MS = 1

--- More of one file than anybody reads; the most severe ones are sent. Twice as many took 19 ms of
--- the editor's time in one go.
local ITEMS_A_FILE = 1000
local BYTES_A_FILE = 512 * 1024

---@class agent_ide.DiagnosticsTracking
---@field group integer
---@field throttle agent_ide.Throttle
---@field waiting table<integer, integer> place in the queue -> buffer to look at
---@field first integer place of the oldest
---@field last integer place of the newest
---@field queued table<integer, true> the same buffers as a set
---@field resuming boolean the next slice is on its way

---@type agent_ide.DiagnosticsTracking?
local tracking

--- Buffer -> path that the host has items of. It outlives the tracking: what becomes clean while no
--- client is connected is told when the next one comes.
---@type table<integer, string>
local reported = {}

---@param diagnostic vim.Diagnostic
---@return table
local function item(diagnostic)
  local code = diagnostic.code
  local end_line = diagnostic.end_lnum or diagnostic.lnum
  return {
    message = tostring(diagnostic.message),
    severity = diagnostic.severity or vim.diagnostic.severity.ERROR,
    range = {
      start = { line = diagnostic.lnum, character = diagnostic.col },
      ["end"] = { line = end_line, character = diagnostic.end_col or diagnostic.col },
    },
    source = type(diagnostic.source) == "string" and diagnostic.source or nil,
    code = (type(code) == "string" or type(code) == "number") and tostring(code) or nil,
  }
end

---@param buf integer
---@return table[] the worst first
local function items_of(buf)
  local out, counts, bytes = {}, vim.diagnostic.count(buf), 0
  for severity = vim.diagnostic.severity.ERROR, vim.diagnostic.severity.HINT do
    -- one severity at a time: to get all of 100,000 stalls the editor, to count them does not
    if counts[severity] and #out < ITEMS_A_FILE then
      for _, diagnostic in ipairs(vim.diagnostic.get(buf, { severity = severity })) do
        bytes = bytes + #diagnostic.message
        if #out < ITEMS_A_FILE and bytes <= BYTES_A_FILE then
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
  -- one string: pynvim takes 2.1 ms to decode 100 items, this 0.1 ms (doc/decisions/006)
  require("agent_ide.rpc").notify("diagnostics", { path = path, items = vim.json.encode(items) })
end

--- Report one buffer; one that is gone, renamed or not to be shared is clean under its old path.
---@param buf integer
local function report(buf)
  local has_any = api.nvim_buf_is_valid(buf) and next(vim.diagnostic.count(buf)) ~= nil
  if not has_any and not reported[buf] then
    return
  end
  local share = require("agent_ide.share")
  local path = share.file(buf)
  path = path and share.allowed(path) and path or nil
  local before = reported[buf]
  if before and before ~= path then
    reported[buf] = nil
    send(before, {})
  end
  if not path then
    return
  end
  local items = items_of(buf)
  if #items > 0 or reported[buf] then
    reported[buf] = #items > 0 and path or nil
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
  while t.first <= t.last and vim.uv.hrtime() < deadline do
    local buf = t.waiting[t.first]
    t.waiting[t.first], t.queued[buf] = nil, nil
    t.first = t.first + 1
    report(buf)
  end
  if t.first <= t.last then
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
    t.last = t.last + 1
    t.waiting[t.last] = buf
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
  if tracking and reported[event.buf] then
    vim.schedule(function()
      on_changed(event)
    end)
  end
end

--- Start to push; every file that has diagnostics now goes first, and those that had any.
function M.enable()
  M.disable()
  local group, on = require("agent_ide.guard").augroup("agent_ide_diagnostics")
  tracking = {
    group = group,
    throttle = require("agent_ide.throttle").new("diagnostics", push),
    waiting = {},
    first = 1,
    last = 0,
    queued = {},
    resuming = false,
  }
  on("DiagnosticChanged", on_changed)
  on({ "BufDelete", "BufWipeout", "BufFilePost" }, on_gone)
  -- whether it has any is counted in slices, too: 1,000 files at once take 20 ms
  for _, buf in ipairs(api.nvim_list_bufs()) do
    queue(buf)
  end
  for buf in pairs(reported) do
    queue(buf)
  end
  tracking.throttle.call()
end

function M.disable()
  if tracking then
    api.nvim_clear_autocmds({ group = tracking.group })
    tracking.throttle.stop()
    tracking = nil
  end
end

return M
