--- A text and the lines of a buffer, back and forth without losing a byte.
---
--- Owns:     nothing: what lines cannot say (final newline, BOM, CRLF) lives in the buffer's options.
--- Not here: files that are edited (`files.lua`), the channel (`rpc.lua`).
local M = {}

local api = vim.api
local buffer_file = require("agent_ide.buffer_file")
local private_file = require("agent_ide.private_file")

local BOM = "\239\187\191"

--- Above this a text goes through a file: 10 MB as Lua's lines take 150 to 200 ms a way and leave as
--- much to collect, Neovim's own reading and writing takes 35 (doc/decisions/009).
local LARGE_BYTES = 256 * 1024

---@class agent_ide.TextShape
---@field bom boolean
---@field dos boolean every line break is CRLF
---@field eol boolean the last line has its line break

---@param text string
---@return agent_ide.TextShape
local function shape_of(text)
  local shape = { bom = vim.startswith(text, BOM), dos = false, eol = true }
  local first = shape.bom and #BOM + 1 or 1
  if text:find("\r\n", first, true) then
    local _, breaks = text:gsub("\n", "")
    local _, dos_breaks = text:gsub("\r\n", "")
    shape.dos = breaks == dos_breaks
  end
  shape.eol = #text < first or text:sub(-1) == "\n"
  return shape
end

---@param buf integer
---@param shape agent_ide.TextShape
local function put_on(buf, shape)
  local options = vim.bo[buf]
  options.fileencoding = "utf-8"
  options.bomb = shape.bom
  options.fileformat = shape.dos and "dos" or "unix"
  options.fixendofline = false
  options.endofline = shape.eol
end

--- Lines of a text, without what the buffer's options hold.
---@param text string
---@param shape? agent_ide.TextShape
---@return string[]
function M.lines(text, shape)
  shape = shape or shape_of(text)
  local first = shape.bom and #BOM + 1 or 1
  local last = #text
  if #text >= first and shape.eol then
    last = last - (shape.dos and 2 or 1)
  end
  local lines = vim.split(text:sub(first, last), "\n", { plain = true })
  for i = 1, shape.dos and #lines - 1 or 0 do
    lines[i] = lines[i]:gsub("\r$", "")
  end
  return lines
end

--- The hunks between two lists of lines: start and count in the first, start and count in the second;
--- a start with count 0 is the line before.
---@param old string[]
---@param new string[]
---@return integer[][]
function M.hunks(old, new)
  local diff = vim.text.diff or vim.diff
  local function joined(lines)
    return table.concat(lines, "\n") .. (#lines > 0 and "\n" or "")
  end
  return diff(joined(old), joined(new), { result_type = "indices" }) --[[@as integer[][] ]]
end

--- Take a text's final newline, BOM and line breaks over into a buffer's options.
---@param buf integer
---@param text string
function M.shape_like(buf, text)
  put_on(buf, shape_of(text))
end

--- Whether a buffer's text is one that goes through a file.
---@param buf integer
---@return boolean
function M.is_large(buf)
  return M.bytes(buf) > LARGE_BYTES
end

--- How large a buffer's text is.
---@param buf integer
---@return integer
function M.bytes(buf)
  return math.max(0, api.nvim_buf_get_offset(buf, api.nvim_buf_line_count(buf)))
end

--- A file with a buffer's text, as `read` would give it; the caller deletes it.
---@param buf integer
---@return string? path nil: it could not be written
function M.to_file(buf)
  return buffer_file.write(buf, "++nobin ++enc=utf-8")
end

--- A file with a buffer's lines, with LF and no matter how the last one ends; the caller deletes it.
---@param buf integer
---@return string? path nil: it could not be written
function M.lines_to_file(buf)
  return buffer_file.write(buf, "++nobin ++ff=unix ++enc=utf-8")
end

--- Let a function fill a buffer; undo does not go back before it.
---@param buf integer
---@param run fun()
local function without_undo(buf, run)
  local undo_levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  run()
  vim.bo[buf].undolevels = undo_levels
end

---@param buf integer an empty one
---@param path string of a file without BOM
---@param shape agent_ide.TextShape
---@return boolean filled
local function fill_as(buf, path, shape)
  local how = "++edit ++bad=keep ++enc=utf-8 ++ff=" .. (shape.dos and "dos" or "unix")
  local filled = buffer_file.read(buf, path, how)
  put_on(buf, shape)
  return filled
end

--- Fill an empty buffer; undo does not go back before it.
---@param buf integer a fresh one
---@param text string
function M.fill(buf, text)
  local shape = shape_of(text)
  put_on(buf, shape)
  -- a buffer that nothing was put into is written as no byte at all, one empty line as a newline
  if text == "" or text == BOM then
    return
  end
  without_undo(buf, function()
    local filled = false
    if #text > LARGE_BYTES then
      local path = private_file.put(shape.bom and text:sub(#BOM + 1) or text)
      filled = fill_as(buf, path, shape)
      vim.uv.fs_unlink(path)
    end
    if not filled then
      api.nvim_buf_set_lines(buf, 0, -1, true, M.lines(text, shape))
    end
  end)
end

--- What can be told of a text from the ends of its file.
---@param path string
---@return agent_ide.TextShape? shape nil: it has to be looked at as a whole
local function shape_of_file(path)
  local fd = vim.uv.fs_open(path, "r", 0)
  if not fd then
    return nil
  end
  local size = assert(vim.uv.fs_fstat(fd)).size
  local first = vim.uv.fs_read(fd, #BOM, 0)
  local last = vim.uv.fs_read(fd, 2, math.max(0, size - 2))
  vim.uv.fs_close(fd)
  -- a last line break that is none of DOS says that not all are
  if first ~= BOM and last and last:find("^[^\r]\n$") then
    return { bom = false, dos = false, eol = true }
  end
end

--- The same from a file, without its text as a string of Lua; the file stays.
---@param buf integer a fresh one
---@param path string
---@return boolean filled false: it is no large text with plain line breaks
function M.fill_from_file(buf, path)
  local shape = shape_of_file(path)
  if not shape then
    return false
  end
  local filled = false
  without_undo(buf, function()
    filled = fill_as(buf, path, shape)
  end)
  return filled
end

--- The text of a buffer, as `fill` would take it.
---@param buf integer
---@return string
function M.read(buf)
  local path = M.is_large(buf) and M.to_file(buf)
  if path then
    return private_file.take(path)
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local options = vim.bo[buf]
  local bom = options.bomb and BOM or ""
  if #lines == 1 and lines[1] == "" then
    local bytes = api.nvim_buf_call(buf, function()
      return vim.fn.wordcount().bytes
    end)
    if bytes == 0 then
      return bom
    end
  end
  local line_break = options.fileformat == "dos" and "\r\n" or "\n"
  local final = options.endofline and line_break or ""
  return bom .. table.concat(lines, line_break) .. final
end

--- Read a file into an empty buffer, decoded as for editing it; the buffer's options say how.
---@param buf integer
---@param path string
---@return string? problem
function M.read_file(buf, path)
  -- through a link, since no escaping lets a line break in a file's name pass
  local link = vim.fn.tempname()
  local linked, problem = vim.uv.fs_symlink(path, link)
  if not linked then
    return problem
  end
  local ok, err = buffer_file.read(buf, link, "++edit")
  vim.uv.fs_unlink(link)
  if not ok then
    return tostring(err):match("E%d+:.*") or tostring(err)
  end
end

--- A text from a file's bytes, decoded as for editing it.
---@param bytes string
---@return string
function M.decode(bytes)
  if not bytes:find("[\128-\255%z]") then
    return bytes
  end
  local path = private_file.put(bytes)
  local text = M.of_file(path)
  vim.uv.fs_unlink(path)
  return text or bytes
end

--- The text of a file, decoded as for editing it.
---@param path string
---@return string? text nil: there is no such file
function M.of_file(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return nil
  end
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].undolevels = -1
  local problem = M.read_file(buf, path)
  local text = not problem and M.read(buf) or nil
  api.nvim_buf_delete(buf, { force = true })
  return text
end

return M
