--- The notebook that the user is in: an .ipynb file, or a Python script in `# %%` cells.
---
--- Owns:     nothing.
--- Not here: the kernel (the host's).
local M = {}

local api = vim.api

--- A kernel's name stands near the end of an .ipynb file; larger ones are not searched for it.
local SEARCHED_BYTES = 8 * 1024 * 1024

--- Jupytext writes its header into the first lines.
local HEADER_LINES = 30

---@param text string
---@return string?
local function kernel_of_ipynb(text)
  if #text > SEARCHED_BYTES then
    return nil
  end
  local ok, notebook = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  local metadata = ok and type(notebook) == "table" and notebook.metadata
  local kernel = type(metadata) == "table" and metadata.kernelspec
  local name = type(kernel) == "table" and kernel.name
  return type(name) == "string" and name or nil
end

---@param lines string[]
---@return string?
local function kernel_of_script(lines)
  local inside = false
  for i = 1, math.min(HEADER_LINES, #lines) do
    inside = inside or lines[i]:find("^#%s+kernelspec:") ~= nil
    local name = inside and lines[i]:match("^#%s+name:%s*(%S+)")
    if name then
      return name
    end
  end
end

--- Plugins show an .ipynb file as a script: then the file itself is read.
---@param path string
---@return string
local function read_file(path)
  local fd = vim.uv.fs_open(path, "r", 0)
  if not fd then
    return ""
  end
  local text = vim.uv.fs_read(fd, SEARCHED_BYTES + 1, 0) or ""
  vim.uv.fs_close(fd)
  return text
end

---@param args table
---@param reply agent_ide.Reply
function M.read(args, reply)
  -- from the agent's terminal, the file window before it is meant
  local win = require("agent_ide.windows").find_editing()
  local buf = win and api.nvim_win_get_buf(win) or api.nvim_get_current_buf()
  local path = api.nvim_buf_get_name(buf)
  if path:find("%.ipynb$") then
    return reply(nil, { path = path, kernel_name = kernel_of_ipynb(read_file(path)) })
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local is_script = vim.bo[buf].filetype == "python" or path:find("%.py$")
  if is_script and path ~= "" then
    for _, line in ipairs(lines) do
      if line:find("^#%s?%%%%") then
        return reply(nil, { path = path, kernel_name = kernel_of_script(lines) })
      end
    end
  end
  reply()
end

return M
