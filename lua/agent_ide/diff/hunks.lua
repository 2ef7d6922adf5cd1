--- Where the proposal differs from the file, and what a user does with one such place.
---
--- Owns:     nothing but the marks of accepted hunks, in the buffer itself.
--- Not here: how a difference is shown (`split.lua`, `inline.lua`).
local M = {}

local api = vim.api
local text = require("agent_ide.text")

local marks = api.nvim_create_namespace("agent_ide.diff.hunks")

---@class agent_ide.diff.Hunk
---@field old_first integer line number in the file; with no line, the one before
---@field old_count integer
---@field new_first integer the same in the proposal
---@field new_count integer

---@param buf integer
---@return string[]
local function lines(buf)
  return api.nvim_buf_get_lines(buf, 0, -1, true)
end

--- A buffer that nothing was put into has no line, though Neovim shows one.
---@param buf integer
---@return string[]
local function real_lines(buf)
  local found = lines(buf)
  return #found == 1 and found[1] == "" and text.read(buf) == "" and {} or found
end

--- In a thread of its own: nothing of this file is there.
---@param old_path string
---@param new_path string
---@return string? indices packed; nil: a file is gone
local function compare_files(old_path, new_path)
  local function contents(path)
    -- not io.read, whose buffer would be there a second time
    local fd = assert(vim.uv.fs_open(path, "r", 0))
    local found = assert(vim.uv.fs_read(fd, assert(vim.uv.fs_fstat(fd)).size, 0))
    vim.uv.fs_close(fd)
    if found:sub(1, 3) == "\239\187\191" then
      found = found:sub(4)
    end
    return (found == "" or found:sub(-1) == "\n") and found or found .. "\n"
  end
  local diff = vim.text and vim.text.diff or vim.diff
  local ok, packed = pcall(function()
    local found = diff(contents(old_path), contents(new_path), { result_type = "indices" })
    return vim.mpack.encode(found)
  end)
  return ok and packed or nil
end

---@param indices integer[][]
---@return agent_ide.diff.Hunk[]
local function as_hunks(indices)
  return vim.tbl_map(function(hunk)
    return { old_first = hunk[1], old_count = hunk[2], new_first = hunk[3], new_count = hunk[4] }
  end, indices)
end

---@param old_buf integer
---@param new_buf integer
---@return agent_ide.diff.Hunk[]
local function between(old_buf, new_buf)
  return as_hunks(text.hunks(real_lines(old_buf), real_lines(new_buf)))
end

--- Compare large texts: the editor only writes them into files (35 ms for 10 MB, against 600 for
--- `between`).
---@param old_buf integer
---@param new_buf integer
---@param on_done fun(hunks: agent_ide.diff.Hunk[])
local function find_in_thread(old_buf, new_buf, on_done)
  local old_path, new_path = text.lines_to_file(old_buf), text.lines_to_file(new_buf)
  local function clean_up()
    for _, path in pairs({ old_path, new_path }) do
      vim.uv.fs_unlink(path)
    end
  end
  if not (old_path and new_path) then
    clean_up()
    return on_done(between(old_buf, new_buf))
  end
  local work = vim.uv.new_work(
    compare_files,
    vim.schedule_wrap(function(packed)
      clean_up()
      if packed then
        return on_done(as_hunks(vim.mpack.decode(packed)))
      end
      -- in the editor itself: it takes longer, and needs no file
      local loaded = api.nvim_buf_is_loaded(old_buf) and api.nvim_buf_is_loaded(new_buf)
      on_done(loaded and between(old_buf, new_buf) or nil)
    end)
  )
  work:queue(old_path, new_path)
end

--- Where the texts of two buffers differ: at once, or soon for large ones.
---@param old_buf integer
---@param new_buf integer
---@param on_done fun(hunks?: agent_ide.diff.Hunk[]) nil: a buffer has gone
function M.find(old_buf, new_buf, on_done)
  if not (text.is_large(old_buf) or text.is_large(new_buf)) then
    return on_done(between(old_buf, new_buf))
  end
  -- the screen is drawn first: both comparisons at once would need twice the memory
  vim.defer_fn(function()
    vim.cmd.redraw()
    vim.schedule(function()
      if api.nvim_buf_is_loaded(old_buf) and api.nvim_buf_is_loaded(new_buf) then
        find_in_thread(old_buf, new_buf, on_done)
      else
        on_done()
      end
    end)
  end, 1)
end

---@param hunks agent_ide.diff.Hunk[]
---@return integer added lines
---@return integer removed lines
function M.count(hunks)
  local added, removed = 0, 0
  for _, hunk in ipairs(hunks) do
    added, removed = added + hunk.new_count, removed + hunk.old_count
  end
  return added, removed
end

--- The line of the proposal to look at for a hunk.
---@param hunk agent_ide.diff.Hunk
---@return integer lnum
function M.lnum(hunk)
  return math.max(1, hunk.new_first)
end

--- The hunk that a line of the proposal is in. Where lines are only removed it is the line above or
--- the one below.
---@param hunks agent_ide.diff.Hunk[]
---@param lnum integer
---@return integer? index
function M.at(hunks, lnum)
  for index, hunk in ipairs(hunks) do
    local first, last = hunk.new_first, hunk.new_first + math.max(1, hunk.new_count - 1)
    if hunk.new_count > 0 then
      last = hunk.new_first + hunk.new_count - 1
    end
    if lnum >= first and lnum <= last then
      return index
    end
  end
end

--- Put the old text in.
---@param old_buf integer
---@param new_buf integer
---@param hunk agent_ide.diff.Hunk
function M.reject(old_buf, new_buf, hunk)
  local first = hunk.new_count == 0 and hunk.new_first or hunk.new_first - 1
  local old_first = hunk.old_count == 0 and hunk.old_first or hunk.old_first - 1
  local old = api.nvim_buf_get_lines(old_buf, old_first, old_first + hunk.old_count, false)
  api.nvim_buf_set_lines(new_buf, first, first + hunk.new_count, false, old)
end

--- Mark a hunk as one that the user agrees to.
---@param new_buf integer
---@param hunk agent_ide.diff.Hunk
function M.accept(new_buf, hunk)
  for row = M.lnum(hunk) - 1, M.lnum(hunk) - 2 + math.max(1, hunk.new_count) do
    api.nvim_buf_set_extmark(new_buf, marks, row, 0, {
      sign_text = "✓",
      sign_hl_group = "AgentIdeAccepted",
      priority = 200,
      invalidate = true,
    })
  end
end

---@param new_buf integer
---@param hunk agent_ide.diff.Hunk
---@return boolean
function M.is_accepted(new_buf, hunk)
  local row = M.lnum(hunk) - 1
  local found = api.nvim_buf_get_extmarks(
    new_buf,
    marks,
    { row, 0 },
    { row, -1 },
    { details = true }
  )
  return vim.iter(found):any(function(mark)
    return not mark[4].invalid
  end)
end

return M
