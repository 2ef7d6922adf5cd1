--- What the user has selected, as the agents learn it.
---
--- Owns:     `tracking` (only while a client is connected), the payload sent last, the selection
---           that is held while the user is in an agent's terminal.
--- Not here: the encoding (region.lua), what is a file (share.lua), when it starts (tracking.lua).
local M = {}

local api = vim.api
local file_window = require("agent_ide.file_window")
local guard = require("agent_ide.guard")
local region = require("agent_ide.region")
local share = require("agent_ide.share")

--- More is not pushed at every key; a tool fetches the whole with `selection.read`. No agent's CLI
--- keeps more than 20,000 characters of a push, and with 256 KiB a send took 4 ms of the editor's
--- time (doc/decisions/005).
local PUSHED_BYTES = 64 * 1024

--- Whether Visual mode was left for good or on the way to a terminal is known after this.
local SETTLE_MS = 50

---@class agent_ide.Selection
---@field path string "": no file
---@field start_line integer
---@field start_character integer
---@field end_line integer
---@field end_character integer
---@field text string
---@field truncated boolean

--- A Visual selection whose mode has ended.
---@class agent_ide.Held
---@field payload agent_ide.Selection
---@field region agent_ide.Region
---@field buf integer
---@field win integer
---@field cursor integer[] of `win`; another one there ends the hold
---@field tick integer b:changedtick that the region is true for
---@field settled boolean the user did go to a window that shows no file

---@class agent_ide.SelectionTracking
---@field group integer
---@field throttle agent_ide.Throttle

---@type agent_ide.SelectionTracking?
local tracking

---@type agent_ide.Selection?
local sent

---@type agent_ide.Held?
local held

---@return agent_ide.Selection
local function nothing()
  return {
    path = "",
    start_line = 0,
    start_character = 0,
    end_line = 0,
    end_character = 0,
    text = "",
    truncated = false,
  }
end

---@param buf integer a buffer that shows a file
---@param r agent_ide.Region
---@param limit? integer
---@return agent_ide.Selection
local function payload_of(buf, r, limit)
  local path = share.file(buf)
  -- a Neovim that ends unloads its buffers before its last events
  if not path or not share.allowed(path) or not api.nvim_buf_is_loaded(buf) then
    return nothing()
  end
  local text, truncated = region.text(buf, r, limit)
  return vim.tbl_extend("error", { path = path, text = text, truncated = truncated }, r)
end

---@param win integer
---@return agent_ide.Region
local function cursor_of(win)
  local cursor = api.nvim_win_get_cursor(win)
  local line, character = cursor[1] - 1, cursor[2]
  return {
    start_line = line,
    start_character = character,
    end_line = line,
    end_character = character,
  }
end

---@param r agent_ide.Region?
---@param settled boolean
local function hold(r, settled)
  local buf, win = api.nvim_get_current_buf(), api.nvim_get_current_win()
  held = r
      and {
        payload = payload_of(buf, r, PUSHED_BYTES),
        region = r,
        buf = buf,
        win = win,
        cursor = api.nvim_win_get_cursor(win),
        tick = api.nvim_buf_get_changedtick(buf),
        settled = settled,
      }
    or nil
end

--- Whether the held selection still stands.
---@param h agent_ide.Held
---@return boolean
local function stands(h)
  if not api.nvim_buf_is_loaded(h.buf) then
    return false
  end
  if not api.nvim_win_is_valid(h.win) or api.nvim_win_get_buf(h.win) ~= h.buf then
    return true
  end
  return vim.deep_equal(api.nvim_win_get_cursor(h.win), h.cursor)
end

---@param h agent_ide.Held
---@param limit? integer
---@return agent_ide.Selection
local function held_payload(h, limit)
  -- once the buffer has changed under it, what was selected is known from the payload only
  if not limit and h.payload.truncated and api.nvim_buf_get_changedtick(h.buf) == h.tick then
    return payload_of(h.buf, h.region)
  end
  return h.payload
end

--- In a file, but in no Visual mode: the cursor, or what was selected a moment ago.
---@param buf integer
---@param limit? integer
---@return agent_ide.Selection
local function in_file(buf, limit)
  local same = held and held.buf == buf and api.nvim_buf_get_changedtick(buf) == held.tick
  if held and same and stands(held) then
    -- while it is open where the user goes, what was sent last stays
    return not held.settled and limit and sent or held_payload(held, limit)
  end
  held = nil
  return payload_of(buf, region.current(), limit)
end

--- What is selected now.
---@param limit? integer bytes of text, for a push; nil: the whole
---@return agent_ide.Selection
local function now(limit)
  if file_window.current() then
    local buf = api.nvim_get_current_buf()
    if region.visual(api.nvim_get_mode().mode) then
      held = nil
      return payload_of(buf, region.current(), limit)
    end
    return in_file(buf, limit)
  end
  local win = file_window.find()
  if win and held and stands(held) then
    return held_payload(held, limit)
  end
  held = nil
  return win and payload_of(api.nvim_win_get_buf(win), cursor_of(win), limit) or nothing()
end

--- A review may take the place of the only file window for a while: the user has not left the file.
---@return boolean
local function covered_by_review()
  return vim.iter(api.nvim_tabpage_list_wins(0)):any(function(win)
    return vim.b[api.nvim_win_get_buf(win)].agent_ide_review ~= nil
  end)
end

--- Tell the host when it is something new.
local function push()
  -- a command line or a question on the screen: the user has not moved anywhere
  if api.nvim_get_mode().mode:find("^[cr!]") then
    return
  end
  local selection = now(PUSHED_BYTES)
  if selection.path == "" and covered_by_review() then
    return
  end
  if vim.deep_equal(selection, sent) then
    return
  end
  sent = selection
  if require("agent_ide.config").get().track_selection then
    require("agent_ide.rpc").notify("selection", selection)
  end
end

--- Decide what a Visual selection that has ended was left for.
---@param h agent_ide.Held
local function settle(h)
  if held ~= h or h.settled or not tracking then
    return
  elseif api.nvim_get_mode().mode:find("^[cr!]") then
    -- a command line such as :'<,'>ClaudeCodeSend; its end settles it
    return
  elseif file_window.current() then
    held = nil
  else
    h.settled = true
  end
  tracking.throttle.call()
end

local function settle_soon()
  local h = held
  if h and not h.settled then
    vim.defer_fn(
      guard.wrap("selection", function()
        settle(h)
      end),
      SETTLE_MS
    )
  end
end

local function on_mode_changed()
  local old, new = vim.v.event.old_mode, vim.v.event.new_mode
  if region.visual(old) and not region.visual(new) then
    if file_window.current() then
      hold(region.last_visual(), false)
      settle_soon()
    end
  elseif old:find("^[cr!]") then
    settle_soon()
    tracking.throttle.call()
  else
    tracking.throttle.call()
  end
end

--- Windows and buffers are half-way in some events: look when they are done.
local function call_soon()
  vim.schedule(function()
    if tracking then
      tracking.throttle.call()
    end
  end)
end

--- Start to push; the selection of this moment goes first.
function M.enable()
  M.disable()
  local group, on = guard.augroup("agent_ide_selection")
  local throttle = require("agent_ide.throttle").new("selection", push)
  tracking = { group = group, throttle = throttle }
  on({ "CursorMoved", "CursorMovedI" }, throttle.call)
  on({ "TextChanged", "TextChangedI", "TextChangedP" }, throttle.call)
  on("ModeChanged", on_mode_changed)
  on({ "BufEnter", "WinEnter", "BufFilePost", "WinClosed" }, call_soon)
  on({ "BufWinLeave", "BufDelete", "BufWipeout" }, call_soon)
  throttle.call()
end

function M.disable()
  if tracking then
    api.nvim_clear_autocmds({ group = tracking.group })
    tracking.throttle.stop()
  end
  tracking, sent = nil, nil
end

--- Remember what is selected before one of our commands or terminals takes the user away.
---@param from_visual? boolean the command was given a range by Visual mode, which has ended by that
function M.snapshot(from_visual)
  -- while tracking, the end of Visual mode is seen anyway
  if tracking or not file_window.current() then
    return
  elseif region.visual(api.nvim_get_mode().mode) then
    hold(region.current(), true)
  elseif from_visual then
    hold(region.last_visual(), true)
  end
end

--- What connected agents were told last.
---@return table? payload of the event `selection`; nil: nothing
function M.last_sent()
  return sent
end

--- Call `selection.read`: the selection with its whole text.
---@param args table
---@param reply agent_ide.Reply
function M.read(args, reply)
  local selection = now()
  reply(nil, selection.path ~= "" and { selection = selection } or nil)
end

return M
