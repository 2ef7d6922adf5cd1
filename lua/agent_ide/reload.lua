--- Taking up what an agent has written to a file, without a question.
---
--- Neovim asks (W11, W12) when it notices by itself that a file has changed. While an agent is about
--- to write one, its buffer is guarded: unmodified it is read again, modified it is left alone until
--- the agent's version is merged into it.
---
--- Owns:     the guards.
--- Not here: merging the agent's version with unsaved changes (`merge.lua`).
local M = {}

local api = vim.api

--- Until Neovim may ask again; the CLIs write within a second of the verdict.
local GUARD_MS = 10000

--- Buffers whose unsaved changes are in safety: they are read again all the same.
---@type table<integer, true>
local forced = {}

---@class agent_ide.reload.Guard
---@field autocommand integer
---@field reviews integer how many of the file are shown or hidden
---@field ended integer how many have ended; the last one's end counts

---@type table<integer, agent_ide.reload.Guard> by buffer
local guards = {}

---@param buf integer
---@return agent_ide.reload.Guard
local function guard(buf)
  if not guards[buf] then
    local autocommand = api.nvim_create_autocmd("FileChangedShell", {
      buffer = buf,
      callback = function()
        vim.v.fcs_choice = vim.bo[buf].modified and not forced[buf] and "" or "reload"
      end,
    })
    guards[buf] = { autocommand = autocommand, reviews = 0, ended = 0 }
  end
  return guards[buf]
end

---@param buf integer
local function unguard(buf)
  if guards[buf] then
    pcall(api.nvim_del_autocmd, guards[buf].autocommand) -- gone already where the buffer was wiped
    guards[buf] = nil
  end
end

--- What a verdict has led to is taken up; another one may be open.
---@param buf integer
local function unguard_decided(buf)
  if guards[buf] and guards[buf].reviews == 0 then
    unguard(buf)
  end
end

--- From now on a change of this file on disk raises no question.
---@param path string
function M.guard(path)
  local buf = require("agent_ide.files").find(path)
  if buf then
    local of_buf = guard(buf)
    of_buf.reviews = of_buf.reviews + 1
  end
end

--- The agent has its verdict: it writes now or not at all.
---@param path string
function M.guard_ends_soon(path)
  local buf = require("agent_ide.files").find(path)
  local of_buf = buf and guards[buf]
  if not buf or not of_buf then
    return
  end
  of_buf.reviews = math.max(0, of_buf.reviews - 1) -- the buffer may be younger than the review
  of_buf.ended = of_buf.ended + 1
  local this_one = of_buf.ended
  vim.defer_fn(function()
    if guards[buf] == of_buf and of_buf.reviews == 0 and of_buf.ended == this_one then
      unguard(buf)
    end
  end, GUARD_MS)
end

--- Let Neovim see now what became of a buffer's file: showing the buffer raises no question then.
--- Unmodified it is read again; modified it stays, and `:w` asks as ever.
---@param buf integer
function M.look(buf)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" then
    return
  end
  local was_guarded = guards[buf] ~= nil
  guard(buf)
  require("agent_ide.unasked").run(function()
    vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
  end)
  if not was_guarded then
    unguard(buf)
  end
end

--- Whether the buffer holds what the file holds.
---@param buf integer
---@param path string
---@return boolean
local function is_same(buf, path)
  local bytes = require("agent_ide.whole_file").read(path)
  return bytes ~= nil and bytes == require("agent_ide.text").read(buf)
end

---@param buf integer
---@param bang boolean
local function edit(buf, bang)
  api.nvim_buf_call(buf, function()
    vim.cmd.edit({ bang = bang, mods = { silent = true, keepalt = true, keepjumps = true } })
  end)
end

---@param buf integer
---@param run fun()
local function keeping_undo(buf, run)
  local undo_lines = vim.o.undoreload
  vim.o.undoreload = -1 -- else a buffer of more lines loses its history
  local ok, err = pcall(run)
  vim.o.undoreload = undo_lines
  if not ok then
    require("agent_ide.log").warn("buffer %d was not read again: %s", buf, err)
  end
end

---@param buf integer
local function read_again(buf)
  local is_empty = api.nvim_buf_line_count(buf) == 1
    and api.nvim_buf_get_lines(buf, 0, 1, true)[1] == ""
  keeping_undo(buf, function()
    if is_empty then
      -- made before the file was: Neovim would ask (W13) whether to load it
      edit(buf, false)
    else
      vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
    end
  end)
end

--- Read the file into a buffer whose unsaved changes are in safety: from then on Neovim knows the
--- file as it is, and `:w` raises no question. Undo brings the changes back.
---@param buf integer
function M.read_over(buf)
  local was_guarded = guards[buf] ~= nil
  guard(buf)
  forced[buf] = true
  keeping_undo(buf, function()
    vim.cmd.checktime({ args = { tostring(buf) }, mods = { silent = true } })
    if vim.bo[buf].modified then
      -- Neovim had seen the change before, and looks at it once only
      edit(buf, true)
    end
  end)
  forced[buf] = nil
  if not was_guarded then
    unguard(buf)
  end
end

---@param buf integer
---@param path string
---@param base? string
---@param reply agent_ide.Reply
local function merge(buf, path, base, reply)
  base = base and require("agent_ide.text").decode(base)
  require("agent_ide.merge").take_up(buf, path, base, function()
    M.look(buf)
    unguard_decided(buf)
    reply()
  end)
end

--- The agent has written a file. Unsaved changes of its buffer are merged with what it wrote, with
--- `base`, the file's bytes before, as their common root.
---@param args { path: string, base?: agent_ide.PackedText }
---@param reply agent_ide.Reply
function M.reload(args, reply)
  local base = args.base and require("agent_ide.rpc").unpack_text(args.base)
  local buf = require("agent_ide.files").find(args.path)
  if not buf or not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" then
    return reply()
  end
  guard(buf)
  if vim.bo[buf].modified and is_same(buf, args.path) then
    vim.bo[buf].modified = false
  end
  if vim.bo[buf].modified then
    return merge(buf, args.path, base, reply)
  end
  read_again(buf)
  unguard_decided(buf)
  reply()
end

return M
