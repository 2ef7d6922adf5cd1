--- Files that are changed from outside Neovim without a diff: taken up while an agent is connected.
---
--- Owns:     what each file looked like when it was last seen, the timer.
--- Not here: reading a file again (reload.lua), which files have changed since a prompt (changes.lua).
local M = {}

local uv = vim.uv
local api = vim.api
local status = require("agent_ide.status")

--- Looking at a file's time and size costs some microseconds, also where a file system tells of no
--- changes (network, containers).
local INTERVAL_MS = 400

--- So many files at a time; with more of them each has its turn later.
local AT_A_TIME = 200

--- After a verdict the agent writes within this time; that is no write without asking.
local REVIEWED_MS = 10000

---@type table<integer, string> buffer -> what its file looked like
local seen = {}

--- Files with a diff, by path, and until when a write belongs to it.
---@type table<string, integer>
local reviewed = {}

---@type uv.uv_timer_t?
local timer

---@type integer?
local group

--- The buffer that the last round ended with.
local last_buf = 0

--- Said once for each Neovim.
local told = false

---@param stat uv.fs_stat.result
---@return string
local function signature(stat)
  return ("%d.%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

---@param path string
---@return string?
local function signature_now(path)
  local stat = uv.fs_stat(path)
  return stat and signature(stat)
end

local function note_reviews()
  local until_ms = uv.now() + REVIEWED_MS
  for _, review in ipairs(status.get().reviews) do
    reviewed[review.path] = until_ms
  end
end

--- Whether it is likely that an agent wrote it: it lies where one works, and was given something to do.
---@param path string
---@return agent_ide.Client?
local function likely_writer(path)
  return vim.iter(status.get().clients):find(function(client)
    local inside = not client.cwd or vim.startswith(path, client.cwd .. "/")
    return inside and client.prompts ~= 0
  end)
end

---@param path string
local function tell_of_skipped_reviews(path)
  note_reviews()
  local client = likely_writer(path)
  if told or not client or (reviewed[path] or 0) > uv.now() then
    return
  end
  told = true
  local agents = require("agent_ide.agents")
  local known = vim.tbl_contains(agents.names(), client.agent)
  local cure = known and agents.get(client.agent).ask_again or "see its help"
  local message =
    "%s was changed without a diff. If %s did it, it is in a mode that does not ask: %s"
  local name = vim.fs.basename(path)
  require("agent_ide.notify").show(message:format(name, status.title(client.agent), cure))
end

---@param buf integer
---@param path string
local function take_up(buf, path)
  if timer == nil or not api.nvim_buf_is_loaded(buf) or api.nvim_get_mode().blocking then
    return -- a prompt is open: at the next look
  end
  local now = signature_now(path)
  if not now or now == seen[buf] then
    return
  end
  seen[buf] = now
  local tick, modified = api.nvim_buf_get_changedtick(buf), vim.bo[buf].modified
  local reload = require("agent_ide.reload")
  if modified then
    reload.look(buf)
  else
    reload.reload({ path = path }, function() end)
  end
  if modified or not api.nvim_buf_is_loaded(buf) or tick ~= api.nvim_buf_get_changedtick(buf) then
    tell_of_skipped_reviews(path)
  end
end

---@param buf integer
---@param path string
local function look(buf, path)
  uv.fs_stat(path, function(_, stat)
    -- an empty file may be one that is just being written
    if stat and stat.size > 0 and seen[buf] and signature(stat) ~= seen[buf] then
      vim.schedule(function()
        take_up(buf, path)
      end)
    end
  end)
end

---@return integer[] buffers whose turn it is
local function due()
  local all = vim.tbl_keys(seen)
  table.sort(all)
  if #all <= AT_A_TIME then
    return all
  end
  local first = 1
  for index, buf in ipairs(all) do
    if buf <= last_buf then
      first = index + 1
    end
  end
  local picked = vim.list_slice(all, first, first + AT_A_TIME - 1)
  last_buf = #picked < AT_A_TIME and 0 or picked[#picked]
  return picked
end

local function round()
  for _, buf in ipairs(due()) do
    if api.nvim_buf_is_loaded(buf) then
      look(buf, api.nvim_buf_get_name(buf))
    else
      seen[buf] = nil
    end
  end
end

--- Neovim has seen by itself that a file is another one, and would ask.
---@param buf integer
local function answer(buf)
  local name = vim.fs.basename(api.nvim_buf_get_name(buf))
  if vim.v.fcs_reason == "deleted" then
    vim.v.fcs_choice = ""
    require("agent_ide.notify").show(
      name .. " is gone from disk; the buffer keeps its text",
      "warn"
    )
  elseif vim.bo[buf].modified then
    vim.v.fcs_choice = ""
    local message = "%s was changed on disk; your unsaved changes are kept, :e! takes the file"
    require("agent_ide.notify").show(message:format(name), "warn")
  else
    vim.v.fcs_choice = "reload"
  end
end

--- From now on this is what the buffer's file looks like.
---@param buf integer
local function remember(buf)
  local path = api.nvim_buf_is_loaded(buf) and require("agent_ide.share").file(buf)
  seen[buf] = path and (signature_now(path) or "none") or nil
end

--- Start watching the files of all buffers; done again, nothing changes.
function M.enable()
  if timer then
    return
  end
  timer = assert(uv.new_timer())
  local on
  group, on = require("agent_ide.guard").augroup("agent_ide_outside")
  on({ "BufReadPost", "BufWritePost", "BufNewFile", "BufFilePost" }, function(event)
    remember(event.buf)
  end)
  on("BufUnload", function(event)
    seen[event.buf] = nil
  end)
  on("FileChangedShell", function(event)
    answer(event.buf)
  end)
  on("User", note_reviews, { "AgentIdeStatus" })
  vim.iter(api.nvim_list_bufs()):each(remember)
  timer:start(
    INTERVAL_MS,
    INTERVAL_MS,
    vim.schedule_wrap(require("agent_ide.guard").wrap("outside", round))
  )
end

function M.disable()
  if timer then
    timer:close()
    timer = nil
    api.nvim_clear_autocmds({ group = group })
    seen, reviewed, last_buf = {}, {}, 0
  end
end

return M
