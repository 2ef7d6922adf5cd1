--- A host of this Neovim that nobody looks after: a plugin manager has loaded the modules anew.
---
--- Owns:     nothing; Neovim's list of channels knows them all.
--- Not here: the host that is looked after (host.lua).
local M = {}

local SCRIPT = "agent_ide_host.py"

---@param channel table of nvim_list_chans()
---@return boolean
local function is_host(channel)
  local argv = channel.argv or {}
  return channel.mode == "rpc" and vim.endswith(argv[#argv] or "", SCRIPT)
end

--- End it, if there is one: killed, so that its lock stays and the next host takes port and token over.
function M.finish()
  for _, channel in ipairs(vim.api.nvim_list_chans()) do
    if is_host(channel) then
      local ok, pid = pcall(vim.fn.jobpid, channel.id)
      if ok then
        vim.uv.kill(pid, "sigkill")
        -- its port is free once it has ended; a killed process takes no time for that
        vim.fn.jobwait({ channel.id }, 100)
      end
    end
  end
end

return M
