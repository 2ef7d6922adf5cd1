--- An agent's version of a file put into the file's buffer, as unsaved changes.
---
--- Owns:     nothing; the merge itself is `git merge-file`.
--- Not here: which version is merged when (the host's).
local M = {}

local api = vim.api
local notify = require("agent_ide.notify")
local private_file = require("agent_ide.private_file")
local text = require("agent_ide.text")

--- `git merge-file` says how many conflicts there are, up to this; above it, that it failed.
local MOST_CONFLICTS = 127

--- How often a merge begins anew because the user has typed on meanwhile.
local ATTEMPTS = 5

--- Make a buffer's lines these, touching only what differs: marks and cursor stay.
---@param buf integer
---@param lines string[]
local function set_lines(buf, lines)
  local hunks = text.hunks(api.nvim_buf_get_lines(buf, 0, -1, true), lines)
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
    private_file.write(vim.fs.joinpath(folder, name), texts[name])
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
  text.fill(buf, theirs)
  local colours = require("agent_ide.colours")
  colours.give(buf, colours.filetype(path, buf))
  windows.when_free(function()
    if not windows.split(buf, windows.find_base(), "right") then
      vim.cmd.sbuffer({ args = { tostring(buf) }, mods = { tab = vim.fn.tabpagenr("$") } })
    end
  end)
  local name = vim.fs.basename(path)
  notify.show(("%s has unsaved changes: the agent's version is beside it"):format(name), "warn")
end

---@class agent_ide.Merge
---@field buf integer
---@field path string
---@field base string
---@field theirs string
---@field put fun(merged: string) the merged text becomes the buffer's
---@field on_done fun(conflicts: integer)

---@param merge agent_ide.Merge
---@param attempt integer
local function run(merge, attempt)
  local buf = merge.buf
  local tick = api.nvim_buf_get_changedtick(buf)
  local texts = { ours = plain(text.read(buf)), base = merge.base, theirs = merge.theirs }
  merge_texts(texts, function(merged, conflicts)
    if not api.nvim_buf_is_loaded(buf) then
      return merge.on_done(0)
    elseif merged and api.nvim_buf_get_changedtick(buf) ~= tick and attempt < ATTEMPTS then
      return run(merge, attempt + 1)
    elseif not merged or api.nvim_buf_get_changedtick(buf) ~= tick then
      show_beside(merge.path, merge.theirs)
      return merge.on_done(1)
    end
    merge.put(merged)
    if conflicts > 0 then
      local message = conflicts == 1
          and "%s: %d conflict with your unsaved changes, look for <<<<<<<"
        or "%s: %d conflicts with your unsaved changes, look for <<<<<<<"
      notify.show(message:format(vim.fs.basename(merge.path), conflicts), "warn")
    end
    merge.on_done(conflicts)
  end)
end

---@return boolean
local function has_git()
  return vim.fn.executable("git") == 1
end

--- Where a line is after the hunks.
---@param hunks integer[][]
---@param lnum integer
---@return integer
local function moved(hunks, lnum)
  local offset = 0
  for _, hunk in ipairs(hunks) do
    local start, count, new_start, new_count = unpack(hunk)
    local last = count == 0 and start or start + count - 1
    if lnum <= last then
      local inside = count > 0 and lnum >= start
      return inside and math.max(1, math.min(lnum + offset, new_start + new_count - 1))
        or lnum + offset
    end
    offset = offset + new_count - count
  end
  return lnum + offset
end

--- Where the user is in a buffer, and their marks: reading the file again would move them.
---@param buf integer
---@param hunks integer[][] what is to become of its lines
---@return fun() restore
local function places(buf, hunks)
  local views = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view = api.nvim_win_call(win, vim.fn.winsaveview)
    view.lnum, view.topline = moved(hunks, view.lnum), moved(hunks, view.topline)
    views[win] = view
  end
  local marks = vim.tbl_filter(function(item)
    return item.mark:find("^'%l") ~= nil
  end, vim.fn.getmarklist(buf))
  return function()
    for _, item in ipairs(marks) do
      local lnum, col = moved(hunks, item.pos[2]), item.pos[3]
      pcall(api.nvim_buf_set_mark, buf, item.mark:sub(2), lnum, col - 1, {}) -- its line is gone
    end
    for win, view in pairs(views) do
      if api.nvim_win_is_valid(win) then
        api.nvim_win_call(win, function()
          vim.fn.winrestview(view)
        end)
      end
    end
  end
end

--- The merged text as unsaved changes over the file as it is now; one undo brings back what was.
---@param buf integer
---@param merged string
local function put_over_file(buf, merged)
  local hunks = text.hunks(api.nvim_buf_get_lines(buf, 0, -1, true), text.lines(merged))
  local restore = places(buf, hunks)
  require("agent_ide.reload").read_over(buf)
  pcall(api.nvim_buf_call, buf, function()
    vim.cmd.undojoin() -- refused where the file's text was the buffer's
  end)
  put(buf, merged)
  restore()
end

---@param buf integer
---@return boolean the user is in the middle of something in it
local function is_being_typed_in(buf)
  return api.nvim_get_current_buf() == buf and not require("agent_ide.windows").in_normal_mode()
end

--- The file of a buffer with unsaved changes was written by an agent: merge the two.
---@param buf integer
---@param path string
---@param base? string what the file held before; nil: nobody knows
---@param on_done fun()
function M.take_up(buf, path, base, on_done)
  if is_being_typed_in(buf) then
    return require("agent_ide.windows").when_in_normal_mode(function()
      M.take_up(buf, path, base, on_done)
    end)
  elseif not api.nvim_buf_is_loaded(buf) then
    return on_done()
  end
  local theirs = text.of_file(path)
  if not theirs then
    local message = "%s is no file any more; its buffer keeps your unsaved changes"
    notify.show(message:format(vim.fs.basename(path)), "warn")
    return on_done()
  elseif not base or not has_git() then
    show_beside(path, theirs)
    return on_done()
  end
  run({
    buf = buf,
    path = path,
    base = plain(base),
    theirs = plain(theirs),
    put = function(merged)
      put_over_file(buf, merged)
    end,
    on_done = on_done,
  }, 1)
end

--- Put `theirs` into the file's buffer; three-way when the buffer does not hold `base`.
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
  if plain(text.read(buf)) == base then
    put(buf, theirs)
    done(0)
  elseif has_git() then
    run({
      buf = buf,
      path = args.path,
      base = base,
      theirs = theirs,
      put = function(merged)
        put(buf, merged)
      end,
      on_done = done,
    }, 1)
  else
    show_beside(args.path, theirs)
    done(1)
  end
end

return M
