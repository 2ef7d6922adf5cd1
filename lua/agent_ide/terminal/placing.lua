--- Opening the window of an agent's terminal: a split, a float, or one of snacks.nvim.
---
--- Owns:     nothing; windows are Neovim's.
--- Not here: showing and hiding as it was before (native.lua).
local M = {}

local api = vim.api

---@param config agent_ide.TerminalConfig
---@return vim.api.keyset.win_config
local function split_config(config)
  if config.side == "left" or config.side == "right" then
    local width = math.max(1, math.floor(vim.o.columns * config.size))
    return { split = config.side, win = -1, width = width }
  end
  local height = math.max(1, math.floor(vim.o.lines * config.size))
  return { split = config.side == "top" and "above" or "below", win = -1, height = height }
end

---@param config agent_ide.TerminalConfig
---@param title string
---@return vim.api.keyset.win_config
local function float_config(config, title)
  local border = config.border ~= "none" and 2 or 0
  local lines = vim.o.lines - vim.o.cmdheight
  local width = math.max(1, math.floor(vim.o.columns * config.float_width) - border)
  local height = math.max(1, math.floor(lines * config.float_height) - border)
  return {
    relative = "editor",
    width = width,
    height = height,
    col = math.max(0, math.floor((vim.o.columns - width - border) / 2)),
    row = math.max(0, math.floor((lines - height - border) / 2)),
    border = config.border,
    title = border > 0 and (" %s "):format(title) or nil,
  }
end

---@param buf integer
---@param config agent_ide.TerminalConfig
---@return integer win
local function float(buf, config)
  local title = vim.b[buf].agent_ide_terminal_title
  local win = api.nvim_open_win(buf, false, float_config(config, title))
  api.nvim_create_autocmd("VimResized", {
    desc = "agent_ide: fit the terminal's float to the screen",
    callback = function()
      if not api.nvim_win_is_valid(win) then
        return true
      end
      api.nvim_win_set_config(win, float_config(config, title))
    end,
  })
  return win
end

---@param buf integer
---@param config agent_ide.TerminalConfig
---@return integer win
local function split(buf, config)
  local win = api.nvim_open_win(buf, false, split_config(config))
  local sideways = config.side == "left" or config.side == "right"
  vim.wo[win][sideways and "winfixwidth" or "winfixheight"] = true
  return win
end

--- The window is one of snacks.nvim, with the user's style "terminal" of it.
---@param buf integer
---@param config agent_ide.TerminalConfig
---@return integer win
local function snacks(buf, config)
  local floating = config.side == "float"
  local opts = vim.tbl_deep_extend("force", {
    style = "terminal",
    position = config.side,
    border = floating and config.border or nil,
    title = floating and vim.b[buf].agent_ide_terminal_title or nil,
    width = floating and config.float_width or config.size,
    height = floating and config.float_height or config.size,
    stack = false,
  }, config.snacks, { buf = buf, enter = false })
  return require("snacks").win(opts).win
end

---@param config agent_ide.TerminalConfig
---@return boolean
local function wants_snacks(config)
  if config.provider ~= "snacks" and config.provider ~= "auto" then
    return false
  end
  local installed = pcall(require, "snacks")
  if not installed and config.provider == "snacks" then
    require("agent_ide.notify").show(
      "snacks.nvim is not installed: the terminal opens in a window of Neovim's (terminal.provider)",
      "warn"
    )
  end
  return installed
end

--- Open a window for a terminal's buffer; the cursor stays where it is.
---@param buf integer
---@return integer win
function M.open(buf)
  local config = require("agent_ide.config").get().terminal
  if wants_snacks(config) then
    return snacks(buf, config)
  end
  return (config.side == "float" and float or split)(buf, config)
end

return M
