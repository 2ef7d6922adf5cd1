--- Which files an agent may learn of, and what is a file at all.
---
--- Owns:     the answers already given, for the patterns they were given for.
--- Not here: the patterns (option `do_not_share`).
local M = {}

local api = vim.api

--- Answers are dropped beyond this, so that a long session does not collect paths for ever.
local REMEMBERED = 1000

---@type table<string, boolean>
local answers = {}
local answer_count = 0

--- The list that `answers` belong to; setup() makes a new one.
---@type string[]?
local patterns

---@class agent_ide.SharePattern
---@field regex vim.regex
---@field negated boolean
---@field on_path boolean compared with the whole path, not with the file's name

---@type agent_ide.SharePattern[]
local compiled = {}

--- One gitignore glob as a very-nomagic pattern: `*` and `?` stop at a slash, `**` does not.
---@param glob string
---@return string
local function to_regex(glob)
  local out, i = {}, 1
  while i <= #glob do
    local rest = glob:sub(i)
    local class = rest:match("^%[!?%^?%]?[^%]]*%]")
    local token, piece = rest:sub(1, 1), nil
    if rest:find("^%*%*/") then
      token, piece = "**/", [[\%(\_.\*/\)\?]]
    elseif rest:find("^%*%*") then
      token, piece = "**", [[\_.\*]]
    elseif class then
      token, piece = class, [[\]] .. class:gsub("^%[!", "[^")
    elseif rest:find("^\\.") then
      token = rest:sub(1, 2)
    elseif token == "*" then
      piece = "\\_[^/]\\*"
    elseif token == "?" then
      piece = "\\_[^/]"
    end
    out[#out + 1] = piece or vim.fn.escape(token:sub(-1), [[\]])
    i = i + #token
  end
  return table.concat(out)
end

---@param pattern string
---@return agent_ide.SharePattern
local function compile(pattern)
  local glob, negated = pattern:gsub("^!", "")
  local folder = glob:sub(-1) == "/"
  glob = glob:gsub("/+$", ""):gsub("^~/", function()
    return (vim.uv.os_homedir() or "~") .. "/"
  end)
  local on_path = folder or glob:find("/", 1, true) ~= nil
  -- on a path it may begin below any folder, unless it starts at the root
  local start = on_path and not vim.startswith(glob, "/") and [[\_.\*/]] or ""
  -- a folder stands for what lies in it, too
  local tail = folder and [[/\_.\*]] or on_path and [[\%(/\_.\*\)\?]] or ""
  return {
    regex = vim.regex([[\C\V\^]] .. start .. to_regex(glob) .. tail .. [[\$]]),
    negated = negated > 0,
    on_path = on_path,
  }
end

---@param path string
---@return boolean
local function matches_none(path)
  local allowed = true
  local name = vim.fs.basename(path)
  for _, pattern in ipairs(compiled) do
    -- the last pattern that fits decides, as in a .gitignore
    if pattern.regex:match_str(pattern.on_path and path or name) then
      allowed = pattern.negated
    end
  end
  return allowed
end

--- Whether an agent may learn of this file.
---@param path string absolute
---@return boolean
function M.allowed(path)
  local now = require("agent_ide.config").get().do_not_share
  if now ~= patterns or answer_count > REMEMBERED then
    patterns, answers, answer_count = now, {}, 0
    compiled = vim.tbl_map(compile, now)
  end
  local answer = answers[path]
  if answer == nil then
    -- a harmless name may be a link to a secret
    local real = vim.uv.fs_realpath(path)
    answer = matches_none(path) and (not real or real == path or matches_none(real))
    answers[path], answer_count = answer, answer_count + 1
  end
  return answer
end

--- The path of a buffer that shows a file, also of one not written yet; nil for a terminal, a tree,
--- help, a prompt, a diff of ours, a buffer without a name.
---@param buf integer
---@return string?
function M.file(buf)
  if not api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return nil
  end
  local name = api.nvim_buf_get_name(buf)
  -- the scheme of a URI has two letters at least; one would be a drive
  if name == "" or name:find("^%a[%w+.-]+://") then
    return nil
  end
  local stat = vim.uv.fs_stat(name)
  if stat and stat.type == "directory" then
    return nil
  end
  return name
end

return M
