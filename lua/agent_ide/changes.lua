--- :AgentIde changes: the files that have changed since an agent's last prompt.
---
--- Owns:     the moment of the last prompt and what the folder held then.
--- Not here: how a state is kept (snapshot.lua), taking up changed files (outside.lua).
local M = {}

local uv = vim.uv
local notify = require("agent_ide.notify")
local snapshot = require("agent_ide.snapshot")
local status = require("agent_ide.status")

--- Without git no more files are looked at.
local MANY_FILES = 20000

--- Folders that hold nothing a person has written.
local SKIPPED =
  { ["node_modules"] = true, [".git"] = true, [".venv"] = true, ["__pycache__"] = true }

---@class agent_ide.Mark
---@field root string
---@field is_git boolean
---@field tree? string nil: not known yet, or git failed
---@field since_s number
---@field title string of the agent
---@field prompted boolean false: since the agent has connected

---@type agent_ide.Mark?
local mark

--- Prompts seen of each client.
---@type table<string, integer>
local prompts = {}

---@param client agent_ide.Client
local function set_mark(client)
  local folder = client.cwd or vim.fn.getcwd()
  local git = vim.fs.root(folder, ".git")
  local seconds, microseconds = uv.gettimeofday()
  ---@type agent_ide.Mark
  local fresh = {
    root = git or folder,
    is_git = git ~= nil,
    since_s = seconds + microseconds / 1e6,
    title = status.title(client.agent),
    prompted = (client.prompts or 0) > 0,
  }
  mark = fresh
  if git then
    snapshot.take(git, function(tree)
      fresh.tree = tree
    end)
  end
end

--- The status has changed: a prompt may have been sent.
local function look_for_prompts()
  local known = {}
  for _, client in ipairs(status.get().clients) do
    known[client.id] = client.prompts or 0
    if prompts[client.id] ~= known[client.id] then
      set_mark(client)
    end
  end
  prompts = known
end

---@type integer?
local group

--- Watch for prompts.
function M.enable()
  if not require("agent_ide.config").get().track_changes then
    return
  end
  local on
  group, on = require("agent_ide.guard").augroup("agent_ide_changes")
  on("User", look_for_prompts, { "AgentIdeStatus" })
  look_for_prompts()
end

--- What was seen last stays: an agent that is gone leaves its changes behind.
function M.disable()
  if group then
    vim.api.nvim_clear_autocmds({ group = group })
  end
end

---@class agent_ide.Change
---@field name string relative to the root
---@field kind "new"|"changed"|"deleted"

local KINDS = { A = "new", D = "deleted" }

---@param listing string of `git diff --name-status -z`
---@return agent_ide.Change[]
local function parse_names(listing)
  local words = vim.split(listing, "\0", { plain = true, trimempty = true })
  local changes = {}
  for index = 1, #words - 1, 2 do
    table.insert(changes, { name = words[index + 1], kind = KINDS[words[index]] or "changed" })
  end
  return changes
end

---@param patch string of `git diff -U0`
---@return table<string, integer> first changed line of each file
local function parse_lines(patch)
  local lines, name = {}, nil
  for line in vim.gsplit(patch, "\n", { plain = true }) do
    name = line:match("^%+%+%+ b/(.*)$") or name
    local lnum = line:match("^@@ %S+ %+(%d+)")
    if name and lnum and not lines[name] then
      lines[name] = math.max(1, tonumber(lnum) --[[@as integer]])
    end
  end
  return lines
end

---@param from agent_ide.Mark
---@param changes agent_ide.Change[]
---@param lines table<string, integer>
local function show(from, changes, lines)
  local when = from.prompted and "last prompt" or "connection"
  if #changes == 0 then
    return notify.show(("no file has changed since %s's %s"):format(from.title, when))
  end
  vim.fn.setqflist({}, " ", {
    title = ("Changed since %s's %s"):format(from.title, when),
    items = vim.tbl_map(function(change)
      return {
        filename = vim.fs.joinpath(from.root, change.name),
        lnum = lines[change.name] or 1,
        text = change.kind,
      }
    end, changes),
  })
  vim.cmd("botright copen")
end

---@param from agent_ide.Mark
---@param on_done fun(changes: agent_ide.Change[]?, lines: table<string, integer>)
local function by_git(from, on_done)
  snapshot.take(from.root, function(tree)
    if not tree then
      return on_done(nil, {})
    end
    local diff = { "diff", "--no-renames", "--no-color", "--no-ext-diff", from.tree, tree }
    local names = vim.list_extend({ "diff", "--name-status", "-z" }, vim.list_slice(diff, 2))
    snapshot.git(from.root, names, function(listing)
      if not listing then
        return on_done(nil, {})
      end
      snapshot.git(from.root, vim.list_extend(diff, { "-U0" }), function(patch)
        on_done(parse_names(listing), parse_lines(patch or ""))
      end)
    end)
  end)
end

---@param from agent_ide.Mark
---@return agent_ide.Change[]
local function by_time(from)
  local changes, count = {}, 0
  local function walk(folder, prefix)
    for name, kind in vim.fs.dir(folder) do
      count = count + 1
      if count > MANY_FILES then
        return
      elseif kind == "directory" and not SKIPPED[name] then
        walk(vim.fs.joinpath(folder, name), prefix .. name .. "/")
      elseif kind == "file" then
        local stat = uv.fs_stat(vim.fs.joinpath(folder, name))
        if stat and stat.mtime.sec + stat.mtime.nsec / 1e9 >= from.since_s then
          table.insert(changes, { name = prefix .. name, kind = "changed" })
        end
      end
    end
  end
  walk(from.root, "")
  return changes
end

---@return agent_ide.Mark? nil: the user was told why
local function marked()
  if not mark then
    notify.show("no agent has been connected yet, so there is no prompt to count from")
  end
  return mark
end

--- List what has changed in the quickfix window.
function M.list()
  local from = marked()
  if not from then
    return
  elseif not from.tree then
    return show(from, by_time(from), {})
  end
  by_git(from, function(changes, lines)
    show(from, changes or by_time(from), lines)
  end)
end

--- Whether the state at the last prompt is known: git takes a moment.
---@return boolean
function M.is_known()
  return mark ~= nil and mark.tree ~= nil
end

---@param path string
---@param text string
local function split_with(path, text)
  local filetype, win = vim.bo.filetype, vim.api.nvim_get_current_win()
  vim.cmd("diffthis | leftabove vnew")
  local buf = vim.api.nvim_get_current_buf()
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" then
    table.remove(lines)
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "wipe", false
  vim.bo[buf].modifiable = false
  vim.bo[buf].syntax = filetype
  pcall(vim.api.nvim_buf_set_name, buf, ("agent_ide://before/%s"):format(path))
  vim.cmd.diffthis()
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    desc = "agent_ide: end diff mode with the state before",
    callback = function()
      if vim.api.nvim_win_is_valid(win) then
        vim.wo[win].diff = false
      end
    end,
  })
  vim.api.nvim_set_current_win(win)
end

--- Show the current file beside what it was at the last prompt.
function M.split()
  local from = marked()
  if not from then
    return
  end
  local path = require("agent_ide.share").file(vim.api.nvim_get_current_buf())
  local name = path and vim.startswith(path, from.root .. "/") and path:sub(#from.root + 2)
  if not name then
    return notify.show(("this window shows no file below %s"):format(from.root), "warn")
  elseif not from.tree then
    return notify.show(
      "what the file was before is not known: it is not in a git repository",
      "warn"
    )
  end
  snapshot.git(from.root, { "cat-file", "blob", from.tree .. ":" .. name }, function(text)
    split_with(name, text or "")
  end)
end

return M
