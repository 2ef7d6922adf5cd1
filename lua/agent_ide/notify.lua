--- What the user is told and asked.
---
--- Owns:     nothing.
--- Not here: the log (log.lua).
local M = {}

--- Neovim's own vim.notify echoes; a plugin's shows a window.
---@return boolean
local function echoes()
  local source = debug.getinfo(vim.notify, "S").source
  return source:find("^@?vim/") ~= nil or source:find("^=?%?") ~= nil
end

--- What fits into the command line: one line more is a hit-enter prompt, which blocks the host.
---@param message string
---@return string
local function one_line(message)
  -- as it is shown: %S below miscounts the cells of control characters
  local line = vim.fn.strtrans((message:gsub("%s*\n%s*", "; ")))
  if vim.fn.strdisplaywidth(line) <= vim.v.echospace then
    return line
  end
  -- %S counts cells, not characters
  return vim.fn.printf("%." .. vim.v.echospace - 1 .. "S…", line)
end

---@param message string one line that names the next step
---@param level? "info"|"warn"|"error"
function M.show(message, level)
  level = level or "info"
  -- a string with a NUL is none to Vimscript
  message = message:gsub("%z", "^@")
  -- scheduled: a message in the middle of a redraw or another message scrolls the screen
  vim.schedule(function()
    require("agent_ide.log")[level]("told the user: %s", message)
    local text = "agent_ide: " .. message
    if echoes() then
      text = one_line(text)
      -- what was echoed before must not share the screen with it
      vim.cmd.redraw()
    end
    vim.notify(text, vim.log.levels[level:upper()])
  end)
end

---@param args { message: string, level: "info"|"warn"|"error" }
---@param reply agent_ide.Reply
function M.receive(args, reply)
  M.show(args.message, args.level)
  reply()
end

---@param args { question: string }
---@param reply agent_ide.Reply
function M.confirm(args, reply)
  -- scheduled: Neovim's own vim.ui.select waits, and other calls of the host must not wait for it
  vim.schedule(function()
    local opts = { prompt = args.question, kind = "agent_ide.confirm" }
    vim.ui.select({ "No", "Yes" }, opts, function(choice)
      reply(nil, { yes = choice == "Yes" })
    end)
  end)
end

return M
