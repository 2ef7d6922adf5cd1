--- Which windows are for editing files, and how to leave a tab page as it was.
---
--- Owns:     nothing.
--- Not here: what is put into the windows (`files.lua`, `diff/split.lua`).
local M = {}

local api = vim.api

--- File explorers that show their list in a buffer with an empty 'buftype'.
local TREES = { netrw = true, oil = true, dirvish = true, minifiles = true }

--- Whether it shows a file, or an empty buffer that may become one.
---@param win integer
---@return boolean
function M.is_file(win)
  if not api.nvim_win_is_valid(win) or api.nvim_win_get_config(win).relative ~= "" then
    return false
  end
  local buf = api.nvim_win_get_buf(win)
  return vim.bo[buf].buftype == ""
    and not TREES[vim.bo[buf].filetype]
    and not api.nvim_buf_get_name(buf):find("^%a[%w+.-]+://")
end

--- Whether a file may be shown in it instead of what is there now.
---@param win integer
---@return boolean
function M.is_editing(win)
  if not M.is_file(win) then
    return false
  end
  local options, hidden = vim.wo[win], vim.bo[api.nvim_win_get_buf(win)].bufhidden
  return not (options.previewwindow or options.diff or options.winfixbuf)
    and (hidden == "" or hidden == "hide") -- else its buffer would be gone for good
end

---@param win integer
---@return integer cells
local function area(win)
  return api.nvim_win_get_width(win) * api.nvim_win_get_height(win)
end

--- The largest window of the current tab page that suits.
---@param suits fun(win: integer): boolean
---@return integer?
local function largest(suits)
  local best ---@type integer?
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if suits(win) and (not best or area(win) > area(best)) then
      best = win
    end
  end
  return best
end

--- The editing window of the current tab page that the user means: the current one, the one before,
--- the largest.
---@param except? integer a window that is not wanted
---@return integer?
function M.find_editing(except)
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, win in ipairs({ api.nvim_get_current_win(), previous }) do
    if win ~= except and win ~= 0 and M.is_editing(win) then
      return win
    end
  end
  return largest(function(win)
    return win ~= except and M.is_editing(win)
  end)
end

--- A window of the current tab page that can be split: an editing one, else the largest.
---@return integer
function M.find_base()
  local win = M.find_editing()
    or largest(function(win)
      return api.nvim_win_get_config(win).relative == ""
    end)
  return assert(win, "a tab page has a window")
end

--- A new window beside another. Inherited options that belong to a terminal or tree are taken off.
---@param buf integer
---@param base integer
---@param side "left"|"right"|"above"|"below"
---@return integer? win nil: there is no room
function M.split(buf, base, side)
  local ok, win = pcall(api.nvim_open_win, buf, false, { split = side, win = base })
  if not ok or win == 0 then
    return nil
  end
  for name, value in pairs({
    winfixbuf = false,
    winfixwidth = false,
    winfixheight = false,
    winhighlight = "",
    previewwindow = false,
  }) do
    api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
  return win
end

--- Beside a window that is not for editing: where there is more room.
---@param win integer
---@return "left"|"above"
function M.roomy_side(win)
  return api.nvim_win_get_width(win) >= 160 and "left" or "above"
end

--- Put a buffer into a window so that neither its alternate file nor its jump list nor the buffer
--- that was there notices.
---@param win integer
---@param buf integer
function M.swap_buffer(win, buf)
  api.nvim_win_call(win, function()
    vim.cmd.buffer({
      args = { tostring(buf) },
      mods = { hide = true, keepalt = true, keepjumps = true, noautocmd = true, silent = true },
    })
  end)
end

--- Close a window; the last one gets an empty buffer, since Neovim needs one.
---@param win integer
function M.close(win)
  local others = vim.tbl_filter(function(other)
    return other ~= win and api.nvim_win_get_config(other).relative == ""
  end, api.nvim_list_wins())
  if #others == 0 then
    api.nvim_win_set_buf(win, api.nvim_create_buf(true, false))
  else
    api.nvim_win_close(win, true)
  end
end

--- Run a function that makes or closes windows while the others keep their sizes. ('noequalalways'
--- is no way: setting 'equalalways' again makes all windows equal.)
---@param tab integer
---@param except integer? the window whose room is shared
---@param run fun()
function M.keeping_sizes(tab, except, run)
  local before = {} ---@type table<integer, { winfixwidth: boolean, winfixheight: boolean }>
  local function set(win, options)
    for name, value in pairs(options) do
      api.nvim_set_option_value(name, value, { win = win, scope = "local" })
    end
  end
  for _, win in ipairs(api.nvim_tabpage_list_wins(tab)) do
    if win ~= except then
      local options = vim.wo[win]
      before[win] = { winfixwidth = options.winfixwidth, winfixheight = options.winfixheight }
      set(win, { winfixwidth = true, winfixheight = true })
    end
  end
  local ok, err = pcall(run)
  for win, options in pairs(before) do
    if api.nvim_win_is_valid(win) then
      set(win, options)
    end
  end
  if not ok then
    error(err, 0)
  end
end

---@class agent_ide.Sizes
---@field screen { [1]: integer, [2]: integer }
---@field windows table<integer, { [1]: integer, [2]: integer }> height and width by window

---@param tab integer
---@return agent_ide.Sizes
function M.sizes(tab)
  local sizes = { screen = { vim.o.lines, vim.o.columns }, windows = {} }
  for _, win in ipairs(api.nvim_tabpage_list_wins(tab)) do
    if api.nvim_win_get_config(win).relative == "" then
      sizes.windows[win] = { api.nvim_win_get_height(win), api.nvim_win_get_width(win) }
    end
  end
  return sizes
end

--- Give the windows their sizes back, where they are still the same windows on the same screen.
---@param tab integer
---@param sizes agent_ide.Sizes
function M.restore_sizes(tab, sizes)
  if not api.nvim_tabpage_is_valid(tab) then
    return
  end
  local now = M.sizes(tab)
  local function known(win)
    return sizes.windows[win] ~= nil
  end
  if
    not vim.deep_equal(now.screen, sizes.screen)
    or vim.tbl_count(now.windows) ~= vim.tbl_count(sizes.windows)
    or not vim.iter(pairs(now.windows)):all(known)
  then
    return
  end
  -- twice, as winrestcmd() does: a window may have to wait until its neighbour gave room
  for _ = 1, 2 do
    for win, size in pairs(sizes.windows) do
      api.nvim_win_set_height(win, size[1])
      api.nvim_win_set_width(win, size[2])
    end
  end
end

--- Normal mode (also of a terminal), no operator begun, no prompt open.
---@return boolean
function M.in_normal_mode()
  local mode = api.nvim_get_mode()
  return (mode.mode == "n" or mode.mode == "nt") and not mode.blocking
end

--- Run a function once windows may be opened and closed: not inside the command-line window.
---@param run fun()
function M.when_free(run)
  if vim.fn.getcmdwintype() == "" then
    return run()
  end
  api.nvim_create_autocmd("CmdwinLeave", {
    once = true,
    callback = function()
      vim.schedule(function()
        M.when_free(run)
      end)
    end,
  })
end

--- Whether a window may open now without interrupting anybody: Normal mode, nothing begun, nothing
--- recorded, no prompt. Who types into a terminal is not interrupted by one elsewhere.
---@return boolean
function M.is_calm()
  return (M.in_normal_mode() or api.nvim_get_mode().mode == "t")
    and vim.fn.reg_recording() == ""
    and vim.fn.getcmdwintype() == ""
end

--- Run a function once `is_calm`.
---@param run fun() at once where it is
---@return fun()? cancel nil: it has run
function M.when_calm(run)
  if M.is_calm() then
    run()
    return nil
  end
  local cancelled = false
  local id ---@type integer
  id = api.nvim_create_autocmd({ "SafeState", "TermEnter" }, {
    desc = "agent_ide: show what has waited",
    callback = function()
      if not cancelled and M.is_calm() then
        cancelled = true
        -- scheduled: windows are not opened in the middle of an autocommand
        vim.schedule(run)
      end
      return cancelled
    end,
  })
  return function()
    if not cancelled then
      cancelled = true
      api.nvim_del_autocmd(id)
    end
  end
end

--- Run a function once the user is in Normal mode: what they type must not land elsewhere.
---@param run fun()
function M.when_in_normal_mode(run)
  if M.in_normal_mode() then
    return M.when_free(run)
  end
  api.nvim_create_autocmd("ModeChanged", {
    once = true,
    callback = vim.schedule_wrap(function()
      M.when_in_normal_mode(run)
    end),
  })
end

return M
