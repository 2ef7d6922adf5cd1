--- A text and the lines of a buffer, back and forth without losing a byte.
---
--- Owns:     nothing: what lines cannot say (final newline, BOM, CRLF) lives in the buffer's options.
--- Not here: files that are edited (`files.lua`), the channel (`rpc.lua`).
local M = {}

local api = vim.api

local BOM = "\239\187\191"

--- Splitting 10 MB at once stalls the editor and doubles the memory at the peak.
local CHUNK_BYTES = 256 * 1024

---@class agent_ide.TextShape
---@field bom boolean
---@field dos boolean every line break is CRLF
---@field eol boolean the last line has its line break

--- What remains of a text as lines joined by line breaks, and what was taken off.
---@param text string
---@return string body
---@return agent_ide.TextShape
local function dress_down(text)
  local shape = { bom = vim.startswith(text, BOM), dos = false, eol = true }
  local first = shape.bom and #BOM + 1 or 1
  if text:find("\r\n", first, true) then
    local _, breaks = text:gsub("\n", "")
    local _, dos_breaks = text:gsub("\r\n", "")
    shape.dos = breaks == dos_breaks
  end
  shape.eol = #text < first or text:sub(-1) == "\n"
  local last = #text
  if #text >= first and shape.eol then
    last = last - (shape.dos and 2 or 1)
  end
  return text:sub(first, last), shape
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

---@param part string
---@param dos boolean
---@param is_last boolean the last line of `part` has no line break whose CR is to go
---@return string[]
local function split(part, dos, is_last)
  local lines = vim.split(part, "\n", { plain = true })
  for i = 1, dos and #lines - (is_last and 1 or 0) or 0 do
    lines[i] = lines[i]:gsub("\r$", "")
  end
  return lines
end

--- Lines of a text, without what the buffer's options hold.
---@param text string
---@return string[]
function M.lines(text)
  local body, shape = dress_down(text)
  return split(body, shape.dos, true)
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
  local _, shape = dress_down(text)
  put_on(buf, shape)
end

---@param body string
---@param dos boolean
---@param first integer
---@return string[] lines
---@return integer? next_first nil: that was the end
local function next_lines(body, dos, first)
  local last = first + CHUNK_BYTES - 1
  local line_break = last < #body and body:find("\n", last, true) or nil
  local chunk = body:sub(first, line_break and line_break - 1 or #body)
  return split(chunk, dos, line_break == nil), line_break and line_break + 1 or nil
end

--- Fill an empty buffer. A large text comes in chunks between which the editor goes on;
--- undo does not go back before it.
---@param buf integer a fresh one
---@param text string
---@param on_done fun(filled: boolean) at once for a small text; false: the buffer went before
function M.fill(buf, text, on_done)
  local body, shape = dress_down(text)
  put_on(buf, shape)
  -- a buffer that nothing was put into is written as no byte at all, one empty line as a newline
  if text == "" or text == BOM then
    return on_done(true)
  end
  local first ---@type integer?
  local function step()
    if not api.nvim_buf_is_loaded(buf) then
      return on_done(false)
    end
    local lines, next_first = next_lines(body, shape.dos, first or 1)
    local undo_levels = vim.bo[buf].undolevels
    vim.bo[buf].undolevels = -1
    api.nvim_buf_set_lines(buf, first and -1 or 0, -1, true, lines)
    vim.bo[buf].undolevels = undo_levels
    first = next_first
    if first then
      vim.schedule(step)
    else
      on_done(true)
    end
  end
  step()
end

--- The text of a buffer, as `fill` would take it.
---@param buf integer
---@return string
function M.read(buf)
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
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    vim.cmd("silent noautocmd keepalt keepjumps 0read ++edit " .. vim.fn.fnameescape(link))
    -- :read left the empty line that the buffer began with
    vim.cmd("silent noautocmd keepjumps $delete _")
  end)
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
  local path = vim.fn.tempname()
  local fd = assert(vim.uv.fs_open(path, "wx", tonumber("600", 8)))
  assert(vim.uv.fs_write(fd, bytes))
  assert(vim.uv.fs_close(fd))
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
