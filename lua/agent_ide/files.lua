--- Files as an agent may open and save them.
---
--- Owns:     nothing.
--- Not here: taking up what an agent has written (`reload.lua`), merging (`merge.lua`), notebooks
---           (`notebook.lua`), which windows are for editing (`windows.lua`).
local M = {}

local api = vim.api
local uv = vim.uv
local windows = require("agent_ide.windows")

--- The buffer of a file, loaded or not: the one of that name, else one that means the same file.
---@param path string
---@return integer?
function M.find(path)
  local others = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    if name == path then
      return buf
    elseif name ~= "" and vim.bo[buf].buftype == "" then
      others[buf] = name
    end
  end
  local real = uv.fs_realpath(path)
  for buf, name in pairs(real and others or {}) do
    if uv.fs_realpath(name) == real then
      return buf
    end
  end
end

--- Why this can be no file; nil: it may be one. `term://` and the like are commands to Neovim.
---@param path string
---@return string?
local function problem_with_name(path)
  if not vim.startswith(path, "/") or path:find("%z") then
    return "not an absolute path of a file: " .. path
  end
end

--- Why this is no file to open; nil: it is one.
---@param path string
---@return string?
local function problem_with(path)
  local problem = problem_with_name(path)
  if problem then
    return problem
  elseif path:find("\194[\128-\159]") then
    -- with 'title' they get as far as the terminal, and some obey them: U+009B is what ESC [ is
    return "its name has control characters: " .. vim.fn.strtrans(path)
  end
  local stat = uv.fs_stat(path)
  if stat and stat.type == "directory" then
    return "that is a folder: " .. path
  elseif stat and stat.type ~= "file" then
    -- Neovim would wait for what a pipe never says
    return ("that is no file but a %s: %s"):format(stat.type, path)
  elseif not stat and not M.find(path) then
    return "there is no file " .. path
  end
end

--- Run what may read a file; a swap file left by a crash raises no question.
---@param run fun()
---@return string? problem
local function quietly(run)
  local id = api.nvim_create_autocmd("SwapExists", {
    callback = function()
      -- Neovim's own handler has chosen already where another Neovim has the file open
      if vim.v.swapchoice == "" then
        vim.v.swapchoice = "o"
      end
    end,
  })
  local messages = vim.o.shortmess
  vim.opt.shortmess:append("AF")
  local ok, err = pcall(run)
  vim.o.shortmess = messages
  api.nvim_del_autocmd(id)
  if not ok then
    return tostring(err)
  end
end

--- Load a file's buffer without a window, as `:edit` would read it.
---@param path string
---@return integer? buf
---@return string? problem
function M.load(path)
  local problem = problem_with_name(path)
  if problem then
    return nil, problem
  end
  local buf = M.find(path) or vim.fn.bufadd(path)
  problem = quietly(function()
    vim.fn.bufload(buf)
  end)
  if api.nvim_buf_is_loaded(buf) then
    -- a fault in somebody's autocommand is not one of the file
    return buf
  end
  return nil, problem or ("could not be read: " .. path)
end

--- The window for previews of the current tab page; made where there is none.
---@return integer?
local function preview_window(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.wo[win].previewwindow then
      return win
    end
  end
  local win = windows.split(buf, windows.find_base(), "above")
  if win then
    api.nvim_win_set_height(win, vim.o.previewheight)
    vim.wo[win].winfixheight = true
    vim.wo[win].previewwindow = true
  end
  return win
end

--- The window for a file in the current tab page.
---@param buf integer
---@param preview boolean
---@return integer?
local function window_for(buf, preview)
  if preview then
    return preview_window(buf)
  end
  local shown = vim.iter(api.nvim_tabpage_list_wins(0)):find(function(win)
    return api.nvim_win_get_buf(win) == buf and windows.is_editing(win)
  end)
  if shown then
    return shown
  end
  local base = windows.find_editing()
  if base then
    return base
  end
  base = windows.find_base()
  return windows.split(buf, base, windows.roomy_side(base))
end

--- Show a buffer; the cursor goes along unless the user is typing somewhere.
---@param buf integer
---@param preview boolean
---@return integer? win
---@return string? problem
local function show(buf, preview)
  local win = window_for(buf, preview)
  if not win then
    return nil, "there is no room for another window"
  end
  if windows.in_normal_mode() then
    api.nvim_set_current_win(win)
  end
  require("agent_ide.reload").look(buf)
  local problem = quietly(function()
    api.nvim_win_call(win, function()
      if api.nvim_win_get_buf(win) ~= buf or not api.nvim_buf_is_loaded(buf) then
        vim.cmd.buffer({ args = { tostring(buf) }, mods = { hide = true, silent = true } })
      end
    end)
  end)
  if api.nvim_win_get_buf(win) ~= buf then
    return nil, problem or "the file could not be shown"
  end
  return win
end

---@param buf integer
---@param path string
---@return { language_id: string, line_count: integer }
local function describe(buf, path)
  if not require("agent_ide.share").allowed(path) then
    -- the user may look at it, the agent learns nothing of it
    return { language_id = "plaintext", line_count = 0 }
  end
  local filetype = vim.bo[buf].filetype
  if filetype == "" then
    filetype = vim.filetype.match({ buf = buf }) or "plaintext"
  end
  return { language_id = filetype, line_count = api.nvim_buf_line_count(buf) }
end

---@param args agent_ide.files.Open
---@param reply agent_ide.Reply
local function open_in_window(args, reply)
  if api.nvim_get_mode().mode:find("^[vVsS\22\19]") then
    vim.cmd.normal({ "\27", bang = true })
  end
  local buf = M.find(args.path) or vim.fn.bufadd(args.path)
  local win, problem = show(buf, args.preview)
  if not win then
    return reply(problem)
  end
  vim.bo[buf].buflisted = true
  if args.start_text then
    require("agent_ide.select").by_text(win, args)
  end
  reply(nil, describe(buf, args.path))
end

---@class agent_ide.files.Open
---@field path string
---@field preview boolean use a window that the next preview takes again
---@field make_frontmost boolean false: load it without a window
---@field select_to_end_of_line boolean
---@field start_text? string plain text, may span lines
---@field end_text? string

---@param args agent_ide.files.Open
---@param reply agent_ide.Reply
function M.open(args, reply)
  local problem = problem_with(args.path)
  if problem then
    return reply(problem)
  end
  if args.make_frontmost then
    return windows.when_free(function()
      open_in_window(args, reply)
    end)
  end
  local buf
  buf, problem = M.load(args.path)
  if not buf then
    return reply(problem)
  end
  vim.bo[buf].buflisted = true
  reply(nil, describe(buf, args.path))
end

--- Write a file's buffer, as `:write` does.
---@param args { path: string }
---@param reply agent_ide.Reply
function M.save(args, reply)
  local buf = M.find(args.path)
  if not buf or not api.nvim_buf_is_loaded(buf) then
    local message = "Document not open: " .. args.path
    return reply(nil, { found = false, saved = false, message = message })
  end
  local ok, err = true, nil
  if vim.bo[buf].modified or not uv.fs_stat(args.path) then
    ok, err = require("agent_ide.unasked").run(function()
      api.nvim_buf_call(buf, function()
        vim.cmd.write({ mods = { silent = true } })
      end)
    end)
  end
  if ok and not vim.bo[buf].modified then
    local message = "Document saved successfully"
    return reply(nil, { found = true, saved = true, message = message })
  end
  local reason = err and tostring(err):match("E%d+:[^\n]*")
    or err and tostring(err):match("^[^\n]*")
    or "its file has changed on disk since it was read"
  reply(nil, { found = true, saved = false, message = "The file was not saved: " .. reason })
end

return M
