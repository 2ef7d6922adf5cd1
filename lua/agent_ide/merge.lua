--- An agent's version of a file put into the file's buffer, as unsaved changes.
---
--- Owns:     nothing; the merge itself is `git merge-file`.
--- Not here: which version is merged when (the host's).
local M = {}

local api = vim.api
local uv = vim.uv
local notify = require("agent_ide.notify")
local text = require("agent_ide.text")

--- `git merge-file` says how many conflicts there are, up to this; above it, that it failed.
local MOST_CONFLICTS = 127

--- How often a merge begins anew because the user has typed on meanwhile.
local ATTEMPTS = 5

--- Make a buffer's lines these, touching only what differs: marks and cursor stay.
---@param buf integer
---@param lines string[]
local function set_lines(buf, lines)
  local now = api.nvim_buf_get_lines(buf, 0, -1, true)
  local diff = vim.text.diff or vim.diff
  local hunks = diff(
    table.concat(now, "\n") .. "\n",
    table.concat(lines, "\n") .. "\n",
    { result_type = "indices" }
  ) --[[@as integer[][] ]]
  for i = #hunks, 1, -1 do
    local start, count, new_start, new_count = unpack(hunks[i])
    local first = count == 0 and start or start - 1
    local new = vim.list_slice(lines, new_start, new_start + new_count - 1)
    api.nvim_buf_set_lines(buf, first, first + count, true, new)
  end
end

---@param buf integer
---@param theirs string
local function put(buf, theirs)
  set_lines(buf, text.lines(theirs))
  local eol = theirs == "" or theirs:sub(-1) == "\n"
  if vim.bo[buf].endofline ~= eol then
    vim.bo[buf].endofline = eol
    vim.bo[buf].fixendofline = eol
    vim.bo[buf].modified = true
  end
end

--- A buffer's text as the agent sees it: LF, and no BOM, which stays in the buffer's option.
---@param whole string
---@return string
local function plain(whole)
  return (whole:gsub("^\239\187\191", ""):gsub("\r\n", "\n"))
end

---@param path string
---@param bytes string
local function write(path, bytes)
  local fd = assert(uv.fs_open(path, "wx", tonumber("600", 8)))
  assert(uv.fs_write(fd, bytes))
  assert(uv.fs_close(fd))
end

--- Merge three texts.
---@param texts { ours: string, base: string, theirs: string }
---@param on_done fun(merged: string?, conflicts: integer) nil: it could not be done
local function merge_texts(texts, on_done)
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, "p", tonumber("700", 8))
  local command = { "git", "merge-file", "-p" }
  for _, label in ipairs({ "your unsaved changes", "before", "the agent's version" }) do
    vim.list_extend(command, { "-L", label })
  end
  for _, name in ipairs({ "ours", "base", "theirs" }) do
    write(vim.fs.joinpath(folder, name), texts[name])
    table.insert(command, name)
  end
  vim.system(
    command,
    { cwd = folder },
    vim.schedule_wrap(function(result)
      vim.fn.delete(folder, "rf")
      if result.code > MOST_CONFLICTS then
        require("agent_ide.log").warn("git merge-file: %s", result.stderr)
        return on_done(nil, 0)
      end
      on_done(result.stdout, result.code)
    end)
  )
end

--- No merge: the buffer stays, the agent's version is shown beside it.
---@param path string
---@param theirs string
local function show_beside(path, theirs)
  local windows = require("agent_ide.windows")
  local buf = api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  text.fill(buf, theirs, function()
    local filetype = vim.filetype.match({ filename = path }) or ""
    require("agent_ide.diff.proposal").highlight(buf, filetype, #theirs)
    windows.when_free(function()
      if not windows.split(buf, windows.find_base(), "right") then
        vim.cmd.sbuffer({ args = { tostring(buf) }, mods = { tab = vim.fn.tabpagenr("$") } })
      end
    end)
  end)
  local name = vim.fs.basename(path)
  notify.show(("%s has unsaved changes: the agent's version is beside it"):format(name), "warn")
end

---@param buf integer
---@param path string
---@param texts { base: string, theirs: string }
---@param on_done fun(conflicts: integer)
---@param attempt integer
local function merge_into(buf, path, texts, on_done, attempt)
  local tick = api.nvim_buf_get_changedtick(buf)
  local ours = plain(text.read(buf))
  merge_texts({ ours = ours, base = texts.base, theirs = texts.theirs }, function(merged, conflicts)
    if not api.nvim_buf_is_loaded(buf) then
      return on_done(0)
    elseif merged and api.nvim_buf_get_changedtick(buf) ~= tick and attempt < ATTEMPTS then
      return merge_into(buf, path, texts, on_done, attempt + 1)
    elseif not merged or api.nvim_buf_get_changedtick(buf) ~= tick then
      show_beside(path, texts.theirs)
      return on_done(1)
    end
    put(buf, merged)
    if conflicts > 0 then
      local message = "%s: %d conflicts with your unsaved changes, look for <<<<<<<"
      notify.show(message:format(vim.fs.basename(path), conflicts), "warn")
    end
    on_done(conflicts)
  end)
end

--- Put `theirs` into the file's buffer; three-way when the buffer has unsaved changes of its own.
---@param args { path: string, base: agent_ide.PackedText, theirs: agent_ide.PackedText }
---@param reply agent_ide.Reply
function M.merge(args, reply)
  local rpc = require("agent_ide.rpc")
  local base, theirs = plain(rpc.unpack_text(args.base)), plain(rpc.unpack_text(args.theirs))
  local buf, problem = require("agent_ide.files").load(args.path)
  if not buf then
    return reply(problem)
  end
  local function done(conflicts)
    vim.bo[buf].buflisted = true
    reply(nil, { conflicts = conflicts })
  end
  if not vim.bo[buf].modified then
    put(buf, theirs)
    done(0)
  elseif vim.fn.executable("git") == 1 then
    merge_into(buf, args.path, { base = base, theirs = theirs }, done, 1)
  else
    show_beside(args.path, theirs)
    done(1)
  end
end

return M
