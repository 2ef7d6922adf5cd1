--- Sessions that were saved while a review was open: `:mksession` saves its windows, too.
---
--- Owns:     nothing.
--- Not here: when one is loaded (plugin/agent_ide.lua).
local M = {}

local api = vim.api

--- What a review sets in its windows and a session keeps.
local OPTIONS = {
  "diff",
  "scrollbind",
  "cursorbind",
  "wrap",
  "foldmethod",
  "foldenable",
  "foldlevel",
  "signcolumn",
  "winbar",
  "winhighlight",
}

---@param buf integer
---@return "disk"|"review"|nil
local function kind_of(buf)
  return api.nvim_buf_get_name(buf):match("agent%-ide://(%a+)/%d+/")
end

--- The file that was reviewed, which the session has as a buffer where it was open.
---@param name string of the review's buffer
---@return integer?
local function file_of(name)
  return vim.iter(api.nvim_list_bufs()):find(function(buf)
    return vim.bo[buf].buflisted
      and not kind_of(buf)
      and vim.fs.basename(api.nvim_buf_get_name(buf)) == vim.fs.basename(name)
  end)
end

--- Show a file in a window of the review.
---@param win integer
local function put_back(win)
  local file = file_of(api.nvim_buf_get_name(api.nvim_win_get_buf(win)))
  api.nvim_win_call(win, function()
    if file then
      vim.cmd.buffer({ args = { tostring(file) }, mods = { silent = true } })
    else
      vim.cmd.enew({ mods = { silent = true } })
    end
    for _, name in ipairs(OPTIONS) do
      vim.cmd(("setlocal %s<"):format(name))
    end
  end)
end

--- Take the windows of reviews out of a session that was just loaded.
function M.clean()
  local left = {} ---@type table<integer, true>
  for _, win in ipairs(api.nvim_list_wins()) do
    local kind = kind_of(api.nvim_win_get_buf(win))
    local tab = kind and api.nvim_win_get_tabpage(win)
    if kind and left[tab] then
      api.nvim_win_close(win, true)
    elseif kind then
      left[tab] = true
      put_back(win)
    end
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if kind_of(buf) then
      api.nvim_buf_delete(buf, { force = true })
    end
  end
end

return M
