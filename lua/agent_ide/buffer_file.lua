--- Neovim's own reading and writing of a buffer, as no user's autocommand, list of buffers, register,
--- mark or undo notices.
---
--- Owns:     nothing.
--- Not here: how a text's line breaks, BOM and last line are kept (`text.lua`).
local M = {}

local api = vim.api

--- Run a :read or :write in a buffer. By itself either makes a buffer of the file's name, also with
--- :keepalt, which stays; each one more makes Neovim look through more of them.
---@param buf integer
---@param run fun()
---@return boolean ok
---@return string? problem
local function in_buffer(buf, run)
  local flags = vim.go.cpoptions
  vim.cmd("noautocmd set cpoptions-=a cpoptions-=A")
  local ok, problem = pcall(api.nvim_buf_call, buf, run)
  vim.cmd("noautocmd let &cpoptions = " .. vim.fn.string(flags))
  return ok, problem
end

---@param buf integer an empty one
---@param path string
---@param how string arguments of :read
---@return boolean read
---@return string? problem
function M.read(buf, path, how)
  return in_buffer(buf, function()
    local name = vim.fn.fnameescape(path)
    vim.cmd(("silent noautocmd keepalt keepjumps 0read %s %s"):format(how, name))
    -- :read left the empty line that the buffer began with
    vim.cmd("silent noautocmd keepjumps $delete _")
  end)
end

--- Write a buffer's text into a new private file, as the buffer's options are.
---@param buf integer
---@param how string arguments of :write
---@return string? path nil: it could not be written
function M.write(buf, how)
  local path = vim.fn.tempname()
  local fixes, syncs = vim.bo[buf].fixendofline, vim.go.fsync
  local function set(fixeol, fsync)
    vim.cmd("noautocmd setlocal " .. (fixeol and "fixendofline" or "nofixendofline"))
    vim.cmd("noautocmd setglobal " .. (fsync and "fsync" or "nofsync"))
  end
  local written, err
  in_buffer(buf, function()
    set(false, false)
    local name = vim.fn.fnameescape(path)
    written, err =
      pcall(vim.cmd, ("silent noautocmd keepalt keepjumps lockmarks write %s %s"):format(how, name))
    set(fixes, syncs)
  end)
  if not written then
    vim.uv.fs_unlink(path)
    require("agent_ide.log").warn("buffer %d was not written to a file: %s", buf, err)
    return nil
  end
  vim.uv.fs_chmod(path, tonumber("600", 8))
  return path
end

return M
