--- Whether a write of a proposal was typed by the user, for that buffer alone.
---
--- Neovim fires BufWriteCmd alike for `:w`, `:wa`, 'autowriteall', a plugin's `silent! wall` and
--- `nvim_command("write")`. A verdict must be the user's, so all of this has to hold:
---   * a key was typed since Neovim last waited for one (else a timer or a client wrote);
---   * no Lua function and no script, function or autocommand is running above the write;
---   * a command line that ended just now held a command that writes one buffer;
---   * no other buffer is being written with it. `:wa` and its kin write every modified buffer in
---     their order of creation: a hidden modified buffer made before all proposals, the sentinel,
---     tells when they do;
---   * the whole buffer goes to its own name.
---
--- Owns:     the sentinel, what happened since Neovim last waited for a key.
--- Not here: what a write means (`proposal.lua`).
local M = {}

local api = vim.api

local SENTINEL_NAME = "agent-ide://review/none"

--- Commands that write the current buffer only.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- Since Neovim last waited for a key.
---@class agent_ide.diff.Since
---@field key boolean a key was typed
---@field command_line? string one was entered
---@field sweep boolean every modified buffer is being written, or Neovim is asked to quit

---@return agent_ide.diff.Since
local function nothing()
  return { key = false, sweep = false }
end

local since = nothing()

---@type integer?
local sentinel

local group = api.nvim_create_augroup("agent_ide.typed_write", { clear = true })
local keys = api.nvim_create_namespace("agent_ide.typed_write")

--- `:%bdelete!` takes it as well.
---@return boolean
local function has_sentinel()
  return sentinel ~= nil and api.nvim_buf_is_loaded(sentinel)
end

---@param modified boolean
local function set_sentinel(modified)
  if has_sentinel() then
    vim.bo[sentinel].modified = modified
  end
end

local function make_sentinel()
  local buf = api.nvim_create_buf(false, false)
  api.nvim_buf_set_name(buf, SENTINEL_NAME)
  vim.bo[buf].buftype = "acwrite"
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].swapfile = false
  vim.bo[buf].modified = true
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = buf,
    callback = function()
      since.sweep = true
    end,
  })
  return buf
end

--- Watch; call it before the first proposal's buffer is made.
function M.start()
  if sentinel and api.nvim_buf_is_valid(sentinel) then
    return
  end
  sentinel = make_sentinel()
  since = nothing()
  vim.on_key(function()
    since.key = true
  end, keys)
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    callback = function()
      since.command_line = vim.fn.getcmdline()
    end,
  })
  api.nvim_create_autocmd("QuitPre", {
    group = group,
    callback = function()
      -- `:qa` asks about each modified buffer: the sentinel is nobody's work
      since.sweep = true
      set_sentinel(false)
    end,
  })
  api.nvim_create_autocmd("SafeState", {
    group = group,
    callback = function()
      since.key = false
      -- in a prompt, such as the one of `:confirm qa`, a command is still running
      if not api.nvim_get_mode().mode:find("^[cr]") then
        since = nothing()
        set_sentinel(true)
      end
    end,
  })
end

function M.stop()
  vim.on_key(nil, keys)
  api.nvim_clear_autocmds({ group = group })
  if sentinel and api.nvim_buf_is_valid(sentinel) then
    api.nvim_buf_delete(sentinel, { force = true })
  end
  sentinel = nil
end

--- The commands of a line: `:silent! w | redraw` has two.
---@param line string
---@return boolean
local function writes_one_buffer(line)
  for _ = 1, 10 do
    local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
    if not ok then
      return false
    elseif WRITES[parsed.cmd] then
      return true
    elseif parsed.nextcmd == "" then
      return false
    end
    line = parsed.nextcmd
  end
  return false
end

--- Whether the command line that was entered just now quits Neovim as a whole.
---@return boolean
function M.quits_all()
  local ok, parsed = pcall(api.nvim_parse_cmd, since.command_line or "", {})
  return ok and parsed.cmd:find("all$") ~= nil
end

--- Whether Lua code runs above the autocommand's callback, which is `level` frames up from here.
---@param level integer
---@return boolean
local function called_from_lua(level)
  return debug.getinfo(level + 2, "l") ~= nil
end

--- Ask it in the callback of BufWriteCmd itself.
---@param event { buf: integer, match: string }
---@param name string the buffer's own name; `:saveas` has changed it by now
---@return boolean
function M.is_typed(event, name)
  local first = api.nvim_buf_get_mark(event.buf, "[")[1]
  local last = api.nvim_buf_get_mark(event.buf, "]")[1]
  return since.key
    and has_sentinel()
    and not since.sweep
    and not called_from_lua(2)
    and not vim.fn.expand("<stack>"):find("..", 1, true)
    and (not since.command_line or writes_one_buffer(since.command_line))
    and event.match == name
    and first <= 1
    and last == api.nvim_buf_line_count(event.buf)
end

return M
