--- Which files are open.
---
--- Owns:     `tracking` (only while a client is connected), the list sent last.
--- Not here: what is a file (share.lua), opening and saving (files.lua).
local M = {}

local api = vim.api

---@class agent_ide.OpenBuffer
---@field path string
---@field active boolean the one the user works on, also while the cursor is in a terminal
---@field dirty boolean
---@field untitled boolean no such file on disk yet
---@field language_id string
---@field line_count integer
---@field last_used? integer seconds since the epoch; 0: never in a window. Not compared: it changes
---        with every look at another window

---@class agent_ide.BuffersTracking
---@field group integer
---@field throttle agent_ide.Throttle
---@field sent? agent_ide.OpenBuffer[] the list sent last
---@field languages table<string, string> path of an unloaded file -> filetype
---@field budget integer files whose language this push may still find out
---@field lines integer line count of the current buffer when its text was looked at last

---@type agent_ide.BuffersTracking?
local tracking

--- Files that were never loaded have no filetype, and to find it costs 0.3 ms: so many a push.
local LANGUAGES_A_PUSH = 10

--- A filetype of an unloaded file; "" while it is not known yet.
---@param t agent_ide.BuffersTracking
---@param path string
---@return string
local function language_of_path(t, path)
  if not t.languages[path] then
    if t.budget == 0 then
      -- the next push knows more
      t.throttle.call()
      return ""
    end
    t.budget = t.budget - 1
    t.languages[path] = vim.filetype.match({ filename = path }) or ""
  end
  return t.languages[path]
end

---@param t agent_ide.BuffersTracking
---@param buf integer
---@param path string
---@return string
local function language_of(t, buf, path)
  local filetype = vim.bo[buf].filetype
  if filetype ~= "" or api.nvim_buf_is_loaded(buf) then
    return filetype
  end
  return language_of_path(t, path)
end

---@param t agent_ide.BuffersTracking
---@return agent_ide.OpenBuffer[]
---@return integer[] numbers of the same buffers
local function open_buffers(t)
  t.budget = LANGUAGES_A_PUSH
  local share = require("agent_ide.share")
  local win = require("agent_ide.file_window").find()
  local active = win and api.nvim_win_get_buf(win)
  local out, numbers = {}, {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    -- not vim.bo: of 1,000 files that a language server knows it took 4 to 11 ms a push, this 1
    local path = vim.fn.buflisted(buf) == 1 and share.file(buf)
    if path and share.allowed(path) then
      numbers[#numbers + 1] = buf
      out[#out + 1] = {
        path = path,
        active = buf == active,
        dirty = vim.bo[buf].modified,
        untitled = vim.uv.fs_stat(path) == nil,
        language_id = language_of(t, buf, path),
        line_count = api.nvim_buf_line_count(buf),
      }
    end
  end
  return out, numbers
end

---@param buffers agent_ide.OpenBuffer[]
---@param numbers integer[] of the same buffers
---@return agent_ide.OpenBuffer[]
local function with_times(buffers, numbers)
  local out = {}
  for index, buffer in ipairs(buffers) do
    local last_used = vim.fn.getbufinfo(numbers[index])[1].lastused
    out[index] = vim.tbl_extend("force", buffer, { last_used = last_used })
  end
  return out
end

--- Tell the host when it is something new.
local function push()
  if not tracking then
    return
  end
  local buffers, numbers = open_buffers(tracking)
  if not vim.deep_equal(tracking.sent, buffers) then
    tracking.sent = buffers
    require("agent_ide.rpc").notify("buffers", { buffers = with_times(buffers, numbers) })
  end
end

--- Windows and buffers are half-way in most of these events: look when they are done.
local function call_soon()
  vim.schedule(function()
    if tracking then
      tracking.throttle.call()
    end
  end)
end

--- Typing changes one thing here, the number of lines; at most keys it does not.
local function on_text()
  local lines = api.nvim_buf_line_count(0)
  if tracking and tracking.lines ~= lines then
    tracking.lines = lines
    call_soon()
  end
end

--- Start to push; what is open now goes first.
function M.enable()
  M.disable()
  local group, on = require("agent_ide.guard").augroup("agent_ide_buffers")
  tracking = {
    group = group,
    throttle = require("agent_ide.throttle").new("buffers", push),
    languages = {},
    budget = 0,
    lines = api.nvim_buf_line_count(0),
  }
  on({ "BufAdd", "BufDelete", "BufWipeout", "BufUnload", "BufFilePost", "BufNew" }, call_soon)
  on({ "BufEnter", "WinEnter", "WinClosed", "TabClosed", "BufWinLeave" }, call_soon)
  on({ "BufReadPost", "BufWritePost", "BufModifiedSet", "FileType" }, call_soon)
  on("OptionSet", call_soon, { "buflisted", "buftype" })
  on({ "TextChanged", "TextChangedI", "TextChangedP" }, on_text)
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
