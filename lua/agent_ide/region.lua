--- Where the cursor or the Visual selection is, in the words of the protocols.
---
--- Owns:     nothing; a function of the current window.
--- Not here: when it is looked at and who is told (selection.lua), which files count (share.lua).
--- Source:   doc/protocols/claude-ide.md, "selection"; held against Neovim's own `y` by
---           tests/lua/test_selection_property.py.
local M = {}

local api = vim.api

--- 0-based lines and byte columns; the end is exclusive.
---@class agent_ide.Region
---@field start_line integer
---@field start_character integer
---@field end_line integer
---@field end_character integer

--- A place of Neovim: 0-based line and byte column, and how far beyond it in virtual space.
---@class agent_ide.Place
---@field line integer
---@field col integer
---@field off integer

--- Select mode is encoded as the Visual mode of the same type.
local VISUAL = { v = "v", V = "V", ["\22"] = "\22", s = "v", S = "V", ["\19"] = "\22" }

--- The longest UTF-8 sequence that Neovim takes as one code point.
local CODE_POINT_BYTES = 6

--- Before 0.11 the cursor and `y` do not find where a character starts that has a stray
--- continuation byte behind it, or a composing one an invalid byte before it.
local FINDS_EVERY_HEAD = vim.fn.has("nvim-0.11") == 1

---@param mode string as nvim_get_mode gives it
---@return "v"|"V"|"\22"|nil
function M.visual(mode)
  return VISUAL[mode:sub(1, 1)]
end

---@param line integer 0-based
---@return integer bytes
local function line_bytes(line)
  -- not the line itself: it may have megabytes
  return vim.fn.col({ line + 1, "$" }) - 1
end

--- A part of a line as Neovim has it inside: a NUL is a line feed there, and as NUL it would not
--- pass to Vim's functions as a string.
---@param line integer
---@param from integer
---@param to integer
---@return string
local function bytes_of(line, from, to)
  return (api.nvim_buf_get_text(0, line, from, line, to, {})[1]:gsub("%z", "\n"))
end

--- Bytes of the character at a place, as `y` takes it; 0 at the line's end.
---@param line integer
---@param col integer
---@return integer
local function char_bytes(line, col)
  local rest = line_bytes(line) - col
  local size = 64
  while rest > 0 do
    local seen = math.min(size, rest)
    local bytes = vim.fn.byteidx(bytes_of(line, col, col + seen), 1)
    -- near the cut the next code point may be torn and its being part of this character unseen
    if seen == rest or bytes + CODE_POINT_BYTES <= seen then
      return bytes
    end
    size = size * 8
  end
  return 0
end

--- Keys put the cursor on the first byte of a character, the API on any.
---@param line integer
---@param col integer before the line's end
---@return integer
local function code_point_start(line, col)
  local from = math.max(0, col - CODE_POINT_BYTES)
  local to = math.min(col + CODE_POINT_BYTES, line_bytes(line))
  local text = bytes_of(line, from, to)
  local index = col - from + 1
  local first, last = index + vim.str_utf_start(text, index), index + vim.str_utf_end(text, index)
  if not FINDS_EVERY_HEAD then
    local composing = vim.fn.strcharlen("a" .. text:sub(first, last)) == 1
    if composing or text:find("^[\128-\191]", last + 1) then
      return col
    end
  end
  return col + first - index
end

---@param position integer[] as getpos() gives it
---@return agent_ide.Place
local function place(position)
  -- a mark may lie behind text that has been deleted since
  local line = math.max(0, math.min(position[2], api.nvim_buf_line_count(0)) - 1)
  local col, length = math.max(0, position[3] - 1), line_bytes(line)
  col = col < length and code_point_start(line, col) or length
  return { line = line, col = col, off = position[4] }
end

---@param first agent_ide.Place
---@param second agent_ide.Place
---@return boolean
local function before(first, second)
  if first.line ~= second.line then
    return first.line < second.line
  elseif first.col ~= second.col then
    return first.col < second.col
  end
  return first.off < second.off
end

--- Whether `y` of a charwise selection works in virtual columns.
---@return boolean
local function virtual_all()
  -- "all" beside another flag does not make it so: Neovim compares the whole value
  for flag in vim.gsplit(api.nvim_get_option_value("virtualedit", {}), ",", { trimempty = true }) do
    if flag ~= "all" then
      return false
    end
  end
  return api.nvim_get_option_value("virtualedit", {}) ~= ""
end

--- Where a selection ends that reaches the end of an empty line or takes in its line break.
---@param line integer
---@param with_break boolean the line break is selected
---@return integer line
---@return integer character
local function line_end(line, with_break)
  if with_break and line + 1 < api.nvim_buf_line_count(0) then
    return line + 1, 0
  end
  -- character 1 of an empty line, so that the line counts as selected
  return line, math.max(1, line_bytes(line))
end

--- The exclusive end of a charwise or blockwise selection.
---@param first agent_ide.Place
---@param last agent_ide.Place
---@param block boolean
---@return integer line
---@return integer character
local function exclusive_end(first, last, block)
  local selection = vim.o.selection
  local at_end = last.col == line_bytes(last.line)
  if selection == "exclusive" and before(first, last) and last.off == 0 then
    -- the character before the end position ends there; before column 0 it is a line break
    if not (block and line_bytes(last.line) == 0) then
      return last.line, last.col
    end
  end
  if at_end then
    local with_break = not block and selection ~= "old" and not virtual_all()
    return line_end(last.line, with_break)
  end
  return last.line, last.col + char_bytes(last.line, last.col)
end

---@param mode "v"|"V"|"\22"
---@param one agent_ide.Place
---@param other agent_ide.Place
---@return agent_ide.Region
local function region(mode, one, other)
  local first, last = one, other
  if before(other, one) then
    first, last = other, one
  end
  local line, character, start
  if mode == "V" then
    start = 0
    line, character = line_end(last.line, line_bytes(last.line) == 0)
  else
    start = first.col
    line, character = exclusive_end(first, last, mode == "\22")
  end
  return {
    start_line = first.line,
    start_character = start,
    end_line = line,
    end_character = character,
  }
end

--- What is selected in the current window now; the cursor when nothing is.
---@return agent_ide.Region
function M.current()
  local visual = M.visual(api.nvim_get_mode().mode)
  local cursor = place(vim.fn.getpos("."))
  if visual then
    return region(visual, place(vim.fn.getpos("v")), cursor)
  end
  return {
    start_line = cursor.line,
    start_character = cursor.col,
    end_line = cursor.line,
    end_character = cursor.col,
  }
end

--- What was selected in the current buffer when Visual mode ended last; nil when it never was.
---@return agent_ide.Region?
function M.last_visual()
  local visual = M.visual(vim.fn.visualmode())
  local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  if visual and first[2] > 0 then
    return region(visual, place(first), place(last))
  end
end

--- The last line up to which a text from the region's start fits into `limit` bytes.
---@param buf integer
---@param r agent_ide.Region
---@param limit integer
---@return integer line before the start line: not even that one fits
local function last_fitting_line(buf, r, limit)
  local budget = api.nvim_buf_get_offset(buf, r.start_line) + r.start_character + limit
  local low, high = r.start_line - 1, r.end_line - 1
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if api.nvim_buf_get_offset(buf, middle + 1) - 1 <= budget then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

--- The text of a region, cut at a line's end when it is longer than `limit` bytes.
---@param buf integer loaded
---@param r agent_ide.Region
---@param limit? integer
---@return string text
---@return boolean truncated
function M.text(buf, r, limit)
  local function get(line, character)
    local lines = api.nvim_buf_get_text(buf, r.start_line, r.start_character, line, character, {})
    return table.concat(lines, "\n")
  end
  local function offset(line)
    return api.nvim_buf_get_offset(buf, line)
  end
  local end_character = r.end_character
  if end_character == 1 and offset(r.end_line + 1) - offset(r.end_line) <= 1 then
    -- the empty line's character 1 lies behind its end; a last line may have no line break
    end_character = math.min(1, #api.nvim_buf_get_lines(buf, r.end_line, r.end_line + 1, true)[1])
  end
  local start = offset(r.start_line) + r.start_character
  if not limit or offset(r.end_line) + end_character - start <= limit then
    return get(r.end_line, end_character), false
  end
  local line = last_fitting_line(buf, r, limit)
  if line >= r.start_line then
    return get(line, offset(line + 1) - offset(line) - 1), true
  end
  -- one line alone is too long: cut before a byte that starts a code point
  local text = get(r.start_line, r.start_character + limit + 1)
  local keep = limit
  while keep > limit - CODE_POINT_BYTES and text:find("^[\128-\191]", keep + 1) do
    keep = keep - 1
  end
  return text:sub(1, keep), true
end

return M
