--- Autocommands for users' configurations.
---
--- Owns:     nothing.
--- Not here: what a review goes through (the host's).
local M = {}

local PATTERNS = {
  opened = "AgentIdeReviewOpened",
  accepted = "AgentIdeReviewAccepted",
  rejected = "AgentIdeReviewRejected",
  closed = "AgentIdeReviewClosed",
}

---@param pattern string
---@param data table
local function fire(pattern, data)
  vim.api.nvim_exec_autocmds("User", { pattern = pattern, modeline = false, data = data })
end

---@param agent string
---@return integer?
local function terminal_window(agent)
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    return vim.b[vim.api.nvim_win_get_buf(win)].agent_ide_terminal == agent
  end)
end

--- As configurations for claudecode.nvim know them.
---@param args table
local function fire_for_claude(args)
  if args.event == "opened" then
    local frame = require("agent_ide.diff").frame(args.id)
    fire("ClaudeCodeDiffOpened", {
      tab_name = args.tab_name,
      file_path = args.path,
      new_file_path = args.path,
      is_new_file = args.is_new,
      diff_window = frame and frame:win(),
      target_window = frame and frame.parts[1].win,
      terminal_window = terminal_window(args.agent),
      tab_number = frame and frame.tab_is_ours and vim.api.nvim_tabpage_get_number(frame.tab)
        or nil,
    })
  elseif args.event == "closed" then
    local reason = args.verdict and "diff " .. args.verdict or "diff closed"
    fire("ClaudeCodeDiffClosed", {
      tab_name = args.tab_name,
      file_path = args.path,
      reason = reason,
    })
  end
end

---@param args table as doc/channel.md has it
---@param reply agent_ide.Reply
function M.receive(args, reply)
  fire(PATTERNS[args.event], {
    agent = args.agent,
    path = args.path,
    tab_name = args.tab_name,
    hunks = args.hunks,
  })
  if args.agent == "claude" then
    fire_for_claude(args)
  end
  reply()
end

return M
