--- The window in which an agent's terminal is shown: hidden and shown again as it was.
---
--- Owns:     nothing; windows are Neovim's.
--- Not here: where it opens (placing.lua), the job and its buffer (job.lua).
local M = {}

local api = vim.api
local windows = require("agent_ide.windows")

--- What a terminal needs none of; it is set for the window and this buffer only.
local PLAIN = {
  number = false,
  relativenumber = false,
  signcolumn = "no",
  foldcolumn = "0",
  statuscolumn = "",
  list = false,
  spell = false,
  cursorline = false,
  cursorcolumn = false,
  colorcolumn = "",
  wrap = false,
}

--- How a terminal was looked at when it was hidden.
---@class agent_ide.TerminalView
---@field focused boolean it had the cursor
---@field inserting boolean in terminal mode
---@field scrolled? vim.fn.winsaveview.ret only when it did not show its end

--- A terminal's window, and what its opening has changed.
---@class agent_ide.TerminalWindow
---@field win integer
---@field sizes? agent_ide.Sizes of the other windows before; nil: it was open already

--- The window that shows a buffer in the current tab page.
---@param buf integer
---@return integer?
function M.window(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

---@param win integer
---@param buf integer
---@param view? agent_ide.TerminalView
local function look_as_before(win, buf, view)
  if view and view.scrolled then
    api.nvim_win_call(win, function()
      vim.fn.winrestview(view.scrolled)
    end)
  else
    -- a terminal follows its output only while the cursor is on its last line
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  end
end

--- Show a buffer in a window of its own; the cursor stays where it is.
---@param buf integer
---@param view? agent_ide.TerminalView as it was hidden
---@return agent_ide.TerminalWindow
function M.show(buf, view)
  local win = M.window(buf)
  if win then
    return { win = win }
  end
  local sizes = windows.sizes(api.nvim_get_current_tabpage())
  win = require("agent_ide.terminal.placing").open(buf)
  for name, value in pairs(PLAIN) do
    vim.wo[win][0][name] = value
  end
  look_as_before(win, buf, view)
  return { win = win, sizes = sizes }
end

--- Give the cursor to a window.
---@param win integer
---@param insert boolean enter terminal mode
function M.focus(win, insert)
  if api.nvim_get_current_win() ~= win then
    api.nvim_set_current_win(win)
  end
  if insert then
    vim.cmd.startinsert()
  end
end

---@param win integer
---@return boolean
local function is_last(win)
  local others = vim.tbl_filter(function(other)
    return other ~= win and api.nvim_win_get_config(other).relative == ""
  end, api.nvim_tabpage_list_wins(api.nvim_win_get_tabpage(win)))
  return #others == 0 and #api.nvim_list_tabpages() == 1
end

--- Take a window away; the last one shows another buffer instead.
---@param win integer
---@param sizes? agent_ide.Sizes of the other windows before it was opened
function M.dismiss(win, sizes)
  if not is_last(win) then
    local tab = api.nvim_win_get_tabpage(win)
    api.nvim_win_close(win, true)
    if sizes then
      windows.restore_sizes(tab, sizes)
    end
    return
  end
  local alternate = vim.fn.bufnr("#")
  if alternate < 1 or not vim.bo[alternate].buflisted then
    alternate = api.nvim_create_buf(true, false)
  end
  vim.wo[win].winfixwidth = false
  vim.wo[win].winfixheight = false
  api.nvim_win_set_buf(win, alternate)
end

--- Hide a buffer's window in the current tab page.
---@param win integer
---@param sizes? agent_ide.Sizes of the other windows before it was opened
---@return agent_ide.TerminalView how to show it again
function M.hide(win, sizes)
  local focused = api.nvim_get_current_win() == win
  local last_line = api.nvim_buf_line_count(api.nvim_win_get_buf(win))
  local view = {
    focused = focused,
    inserting = focused and api.nvim_get_mode().mode == "t",
  }
  if not view.inserting and api.nvim_win_get_cursor(win)[1] < last_line then
    view.scrolled = api.nvim_win_call(win, vim.fn.winsaveview)
  end
  M.dismiss(win, sizes)
  return view
end

return M
