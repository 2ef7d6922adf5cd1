--- What the user means to send from where the cursor is.
---
--- Owns:     nothing.
--- Not here: sending it (send.lua), what a tree shows (tree.lua).
local M = {}

local api = vim.api

--- Something to mention.
---@class agent_ide.Item
---@field path string absolute
---@field first? integer 1-based; nil: the whole file or folder
---@field last? integer

--- Lines that a command was given, or that are selected.
---@class agent_ide.Range
---@field first integer
---@field last integer

--- The range of a command, also from a <Cmd> map in Visual mode, which is left.
---@param cmd vim.api.keyset.create_user_command.command_args
---@return agent_ide.Range? nil: none was given
function M.range(cmd)
  if cmd.range > 0 then
    return { first = math.min(cmd.line1, cmd.line2), last = math.max(cmd.line1, cmd.line2) }
  elseif not vim.fn.mode():find("^[vV\22sS\19]") then
    return nil
  end
  local first, last = vim.fn.line("v"), vim.fn.line(".")
  vim.cmd.normal({ "\27", bang = true })
  return { first = math.min(first, last), last = math.max(first, last) }
end

--- The file of a buffer, as agents can read it.
---@param buf integer
---@return string? path
---@return string? problem
local function file_of(buf)
  local name = api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= "" or name:find("^%a[%w+.-]+://") then
    return nil, "this window shows no file"
  elseif name == "" then
    return nil, "this buffer has no name yet and agents read files from disk: :w it first"
  end
  local path = vim.fn.fnamemodify(name, ":p")
  if not vim.uv.fs_stat(path) then
    return nil, vim.fn.fnamemodify(path, ":t") .. " is not on disk yet: :w it first"
  end
  return path
end

---@param range? agent_ide.Range
---@return agent_ide.Item[]? items
---@return string? problem
function M.tree(range)
  local paths, problem =
    require("agent_ide.tree").paths(range and range.first, range and range.last)
  return paths and vim.tbl_map(function(path)
    return { path = path }
  end, paths), problem
end

---@param entries vim.quickfix.entry[]
---@return agent_ide.Item[]? items
---@return string? problem
local function from_entries(entries)
  local items = {}
  for _, entry in ipairs(entries) do
    local name = entry.bufnr > 0 and api.nvim_buf_get_name(entry.bufnr) or ""
    if entry.valid == 1 and name ~= "" and vim.uv.fs_stat(name) then
      local first = entry.lnum > 0 and entry.lnum or nil
      local last = first and math.max(first, entry.end_lnum or 0)
      table.insert(items, { path = vim.fn.fnamemodify(name, ":p"), first = first, last = last })
    end
  end
  if #items == 0 then
    return nil, "there is no entry with a file"
  end
  return items
end

--- Entries of the quickfix or location list in the current window.
---@param range? agent_ide.Range
---@return agent_ide.Item[]? items
---@return string? problem
local function in_quickfix_window(range)
  local is_location = vim.fn.getwininfo(api.nvim_get_current_win())[1].loclist == 1
  local all = is_location and vim.fn.getloclist(0) or vim.fn.getqflist()
  local lnum = api.nvim_win_get_cursor(0)[1]
  return from_entries(
    vim.list_slice(all, range and range.first or lnum, range and range.last or lnum)
  )
end

--- All of the quickfix list.
---@return agent_ide.Item[]? items
---@return string? problem
function M.quickfix()
  return from_entries(vim.fn.getqflist())
end

--- The whole file of the current buffer.
---@return agent_ide.Item[]? items
---@return string? problem
function M.buffer()
  local path, problem = file_of(0)
  return path and { { path = path } }, problem
end

--- What is at the cursor: entries of a tree or of the quickfix list, else lines of the file.
---@param range? agent_ide.Range
---@return agent_ide.Item[]? items
---@return string? problem
function M.here(range)
  if require("agent_ide.tree").is_tree(0) then
    return M.tree(range)
  elseif vim.bo.buftype == "quickfix" then
    return in_quickfix_window(range)
  end
  local path, problem = file_of(0)
  local lnum = api.nvim_win_get_cursor(0)[1]
  local first, last = range and range.first or lnum, range and range.last or lnum
  return path and { { path = path, first = first, last = last } }, problem
end

local SEVERITIES = { "error", "warning", "information", "hint" }

--- Diagnostics of the current buffer.
---@param range? agent_ide.Range nil: all
---@return agent_ide.Item[]? items where they are
---@return string text_or_problem as compilers write them, for a prompt; why there are none
function M.diagnostics(range)
  local path, problem = file_of(0)
  if not path then
    return nil, problem --[[@as string]]
  end
  local items, lines = {}, {}
  local name = vim.fn.fnamemodify(path, ":.")
  for _, found in ipairs(vim.diagnostic.get(0)) do
    local first, last = found.lnum + 1, (found.end_lnum or found.lnum) + 1
    if not range or (first <= range.last and last >= range.first) then
      table.insert(items, { path = path, first = first, last = last })
      local severity = SEVERITIES[found.severity] or "error"
      local source = found.source and (" [%s]"):format(found.source) or ""
      table.insert(lines, ("%s:%d: %s: %s%s"):format(name, first, severity, found.message, source))
    end
  end
  if #items == 0 then
    return nil, range and "there is no diagnostic in this line" or "this buffer has no diagnostics"
  end
  return items, table.concat(lines, "\n")
end

return M
