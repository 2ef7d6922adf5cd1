--- Selecting a part of a buffer that an agent names by its text.
---
--- Owns:     nothing.
--- Not here: the user's own selection (`selection.lua`).
local M = {}

local api = vim.api

--- Where a text lies.
---@class agent_ide.Span
---@field first integer 1-based offset of its first byte
---@field last integer 1-based offset of its last byte

---@param text string
---@param args agent_ide.files.Open
---@return agent_ide.Span?
local function find(text, args)
  local start_text = args.start_text:gsub("\r\n", "\n")
  local first, last = text:find(start_text, 1, true)
  if not first or start_text == "" then
    return nil
  end
  if args.end_text and args.end_text ~= "" then
    local end_text = args.end_text:gsub("\r\n", "\n")
    local _, end_last = text:find(end_text, last + 1, true)
    if not end_last then
      _, end_last = text:find(end_text, first, true)
    end
    last = math.max(last, end_last or last)
  end
  return { first = first, last = last }
end

---@param text string lines joined by "\n"
---@param offset integer 1-based
---@return integer lnum
---@return integer byte_col 0-based
local function position(text, offset)
  local before = text:sub(1, offset - 1)
  local _, breaks = before:gsub("\n", "")
  local line_start = before:match(".*()\n") or 0
  return breaks + 1, offset - 1 - line_start
end

--- The last character of a selection that ends with this byte.
---@param buf integer
---@param lnum integer
---@param byte_col integer
---@param to_end_of_line boolean
---@return integer byte_col
local function last_character(buf, lnum, byte_col, to_end_of_line)
  local line = api.nvim_buf_get_lines(buf, lnum - 1, lnum, true)[1]
  if line == "" then
    return 0
  end
  local byte = to_end_of_line and #line or math.min(byte_col + 1, #line)
  local start = byte + vim.str_utf_start(line, byte)
  if vim.o.selection == "exclusive" then
    return byte + vim.str_utf_end(line, byte)
  end
  return start - 1
end

--- Select in Visual mode where the window has the cursor, else only for a later `gv`.
---@param win integer
---@param args agent_ide.files.Open
---@return boolean found
function M.by_text(win, args)
  local buf = api.nvim_win_get_buf(win)
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
  local span = find(text, args)
  if not span then
    return false
  end
  local first_lnum, first_col = position(text, span.first)
  local last_lnum, last_col = position(text, span.last)
  last_col = last_character(buf, last_lnum, last_col, args.select_to_end_of_line)
  api.nvim_win_set_cursor(win, { first_lnum, first_col })
  if win ~= api.nvim_get_current_win() or api.nvim_get_mode().mode ~= "n" then
    api.nvim_buf_set_mark(buf, "<", first_lnum, first_col, {})
    api.nvim_buf_set_mark(buf, ">", last_lnum, last_col, {})
    return true
  end
  vim.cmd.normal({ "v", bang = true })
  if api.nvim_get_mode().mode == "s" then
    -- 'selectmode' has "cmd"
    vim.cmd.normal({ "\7", bang = true })
  end
  api.nvim_win_set_cursor(win, { last_lnum, last_col })
  vim.cmd.normal({ "zv", bang = true })
  return true
end

return M
