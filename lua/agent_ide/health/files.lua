--- Reading what other programs have written, for :checkhealth.
---
--- Owns:     nothing.
local M = {}

local uv = vim.uv

--- Settings and locks are small; what is larger is none.
local MAX_BYTES = 16 * 1024 * 1024

---@param path string
---@return string?
function M.read(path)
  local fd = uv.fs_open(path, "r", 0)
  if not fd then
    return nil
  end
  -- what lies in /proc has no size
  local text = uv.fs_read(fd, MAX_BYTES, 0)
  uv.fs_close(fd)
  return text
end

--- A file of JSON, also with comments on lines of their own.
---@param path string
---@return table? content nil: there is none, or it is no object
function M.json(path)
  local text = M.read(path)
  if not text then
    return nil
  end
  local plain = ("\n" .. text):gsub("\n%s*//[^\n]*", "\n")
  local ok, content = pcall(vim.json.decode, plain, { luanil = { object = true, array = true } })
  return ok and type(content) == "table" and content or nil
end

--- A value in nested tables of which any may be missing or something else.
---@param content any
---@param ... string
---@return any
function M.at(content, ...)
  for _, key in ipairs({ ... }) do
    if type(content) ~= "table" then
      return nil
    end
    content = content[key]
  end
  return content
end

--- Programs of a name that run, with a variable of their environment. Linux only.
---@param name string
---@param variable string
---@return { pid: integer, value?: string }[]
function M.processes(name, variable)
  local found = {}
  for entry in vim.fs.dir("/proc") do
    local pid = tonumber(entry)
    if pid and vim.trim(M.read("/proc/" .. entry .. "/comm") or "") == name then
      -- that of another user cannot be read
      local environment = M.read("/proc/" .. entry .. "/environ")
      if environment then
        local value = ("\0" .. environment):match("%z" .. variable .. "=(%Z*)")
        table.insert(found, { pid = pid, value = value })
      end
    end
  end
  return found
end

---@param found agent_ide.Finding[]
---@param level "ok"|"info"|"warn"|"error"
---@param text string
---@param cure? string|string[]
function M.add(found, level, text, cure)
  table.insert(found, { level = level, text = text, cure = cure })
end

return M
