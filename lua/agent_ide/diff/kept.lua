--- Proposals that the user had changed when their review was withdrawn.
---
--- Owns:     a folder of private files, one for each text; in memory what could not be written.
--- Not here: when a text is kept (`init.lua`).
local M = {}

local uv = vim.uv

--- The oldest go first.
local MOST = 50
--- Seconds and microseconds; sorted, the newest is last.
local NAME = "%012d-%06d"

---@class agent_ide.diff.Kept
---@field path string the file that the proposal was for
---@field tab_name string
---@field time integer seconds since 1970
---@field file? string where the text is; nil: in `text`
---@field text? string

--- Newest last.
---@type agent_ide.diff.Kept[]
local unwritten = {}

---@return string
local function folder()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "agent_ide", "kept")
end

--- Files of kept texts, oldest first: their names begin with the time.
---@return string[]
local function files()
  local names = {}
  for name, kind in vim.fs.dir(folder()) do
    if kind == "file" and name:find("^%d+%-%d+$") then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- Keep a text. Never raises: this is the last place it can go.
---@param request { path: string, tab_name: string }
---@param text string
function M.add(request, text)
  local seconds, micros = uv.gettimeofday()
  local entry = { path = request.path, tab_name = request.tab_name, time = seconds }
  pcall(vim.fn.mkdir, folder(), "p", tonumber("700", 8)) -- what stands in the way shows below
  local names = files()
  for i = 1, #names - MOST + 1 do
    uv.fs_unlink(vim.fs.joinpath(folder(), names[i]))
  end
  local name, newest = NAME:format(seconds, micros), names[#names]
  if newest and name <= newest then
    -- the clock was set back: what comes now must not be taken for the oldest
    name = NAME:format(tonumber(newest:match("^%d+")) + 1, 0)
  end
  local file = vim.fs.joinpath(folder(), name)
  local packed = vim.json.encode(entry) .. "\n" .. text
  if not pcall(require("agent_ide.private_file").write, file, packed) then
    entry.text = text
    table.insert(unwritten, entry)
    require("agent_ide.log").error("a kept proposal could not be written to %s", file)
  end
end

--- The host keeps a text that the user accepted and the agent did not write.
---@param args table as doc/channel.md has it
---@param reply agent_ide.Reply
function M.receive(args, reply)
  M.add(args, require("agent_ide.rpc").unpack_text(args))
  reply()
end

---@param file string
---@return string? header one line of JSON
---@return string? text
local function read(file)
  local bytes = require("agent_ide.whole_file").read(file)
  if bytes then
    return bytes:match("^([^\n]*)\n(.*)$")
  end
end

--- What there is, newest first.
---@return agent_ide.diff.Kept[]
function M.list()
  local list = {} ---@type agent_ide.diff.Kept[]
  for _, name in ipairs(files()) do
    local file = vim.fs.joinpath(folder(), name)
    local ok, entry = pcall(vim.json.decode, (read(file)))
    if ok and type(entry) == "table" and type(entry.path) == "string" then
      entry.file = file
      list[#list + 1] = entry
    end
  end
  vim.list_extend(list, unwritten)
  return vim.iter(list):rev():totable()
end

--- Show a kept text in a new buffer, in a tab page of its own.
---@param entry agent_ide.diff.Kept
function M.open(entry)
  local text = entry.text or select(2, read(entry.file))
  if not text then
    return require("agent_ide.notify").show("that text is not there any more", "warn")
  end
  local buf = vim.api.nvim_create_buf(true, true)
  vim.bo[buf].bufhidden = "hide"
  require("agent_ide.text").fill(buf, text)
  local colours = require("agent_ide.colours")
  colours.give(buf, colours.filetype(entry.path, buf))
  vim.cmd.sbuffer({ args = { tostring(buf) }, mods = { tab = vim.fn.tabpagenr() } })
end

--- Let the user choose one and open it.
function M.pick()
  local list = M.list()
  if #list == 0 then
    return require("agent_ide.notify").show("no proposal is kept")
  end
  vim.ui.select(list, {
    prompt = "Proposals that you had changed:",
    kind = "agent_ide.kept",
    format_item = function(entry)
      local path = vim.fn.strtrans(vim.fn.fnamemodify(entry.path, ":~:."))
      return ("%s  %s"):format(os.date("%Y-%m-%d %H:%M:%S", entry.time), path)
    end,
  }, function(entry)
    if entry then
      M.open(entry)
    end
  end)
end

return M
