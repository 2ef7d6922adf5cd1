--- What the user is told and asked.
---
--- Owns:     nothing.
--- Not here: the log (log.lua).
local M = {}

---@param message string one line that names the next step
---@param level? "info"|"warn"|"error"
function M.show(message, level)
  local function show()
    vim.notify("agent_ide: " .. message, vim.log.levels[(level or "info"):upper()])
  end
  if vim.in_fast_event() then
    vim.schedule(show)
  else
    show()
  end
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
  vim.ui.select({ "No", "Yes" }, { prompt = args.question, kind = "agent_ide.confirm" }, function(choice)
    reply(nil, { yes = choice == "Yes" })
  end)
end

return M
