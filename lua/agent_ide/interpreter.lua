--- Which Python can run what is ours.
---
--- Owns:     nothing.
--- Not here: the venv (install.lua).
local M = {}

--- Newest last: a distribution's own python3 is the one its updates look after.
local PYTHONS = { "python3", "python3.14", "python3.13", "python3.12", "python3.11", "python" }
--- As the builder of the venv checks them.
local PACKAGES = "import pynvim, websockets, aiohttp, msgspec"
local IS_NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"

--- The interpreter that the option names.
---@param named string
---@return string? path
---@return string? err
function M.named(named)
  local path = vim.fn.exepath(vim.fs.normalize(named))
  if path == "" then
    return nil, ("the option python is %q, which cannot be run"):format(named)
  end
  return path
end

--- Look for a Python >= 3.11, one candidate after the other, without blocking.
---@param found fun(command: string[]?) the command that runs it
---@param index? integer
function M.find(found, index)
  local name = PYTHONS[index or 1]
  if not name then
    -- uv brings a Python of its own
    local command = { "uv", "run", "--no-project", "--quiet", "--python", ">=3.11", "python", "-I" }
    return found(vim.fn.executable("uv") == 1 and command or nil)
  end
  local path = vim.fn.exepath(name)
  if path == "" then
    return M.find(found, (index or 1) + 1)
  end
  -- PATH may name a shim that cannot run, or an old version
  local started = pcall(vim.system, { path, "-I", "-c", IS_NEW_ENOUGH }, {}, function(result)
    vim.schedule(function()
      if result.code == 0 then
        return found({ path, "-I" })
      end
      M.find(found, (index or 1) + 1)
    end)
  end)
  if not started then
    M.find(found, (index or 1) + 1)
  end
end

--- Can it run the host? Never blocks.
---@param python string path
---@param done fun(loads: boolean)
function M.loads_packages(python, done)
  local started = pcall(vim.system, { python, "-I", "-c", PACKAGES }, {}, function(result)
    vim.schedule(function()
      done(result.code == 0)
    end)
  end)
  if not started then
    done(false)
  end
end

return M
