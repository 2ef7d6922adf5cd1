--- The text for a statusline.
---
--- Owns:     the text of the last status, so that drawing a statusline costs nothing.
--- Not here: the status (status.lua).
local M = {}

---@type string?
local text

--- More of a session's name is cut: a statusline is short.
local NAME_WIDTH = 24

---@param name string
---@return string
local function shortened(name)
  -- some plugins put the text into 'statusline' itself, where % begins an expression to evaluate
  local plain = name:gsub("%%", "")
  if vim.fn.strdisplaywidth(plain) <= NAME_WIDTH then
    return plain
  end
  return vim.fn.strcharpart(plain, 0, NAME_WIDTH - 1) .. "…"
end

---@param status agent_ide.Status
---@return string[] agents with a client; the session's name of an only one, else their number
local function connected(status)
  local titles = {} ---@type table<string, string>
  for _, server in ipairs(status.servers) do
    titles[server.agent] = server.title
  end
  local counts, order, names = {}, {}, {}
  for _, client in ipairs(status.clients) do
    names[client.agent] = client.session_name
    if not counts[client.agent] then
      table.insert(order, client.agent)
    end
    counts[client.agent] = (counts[client.agent] or 0) + 1
  end
  return vim.tbl_map(function(agent)
    local title = titles[agent] or agent
    if counts[agent] > 1 then
      title = ("%s x%d"):format(title, counts[agent])
    elseif names[agent] then
      title = ("%s (%s)"):format(title, shortened(names[agent]))
    end
    return require("agent_ide.terminal.working").is_working(agent) and title .. " works" or title
  end, order)
end

---@param status agent_ide.Status
---@return string
local function render(status)
  local waiting = vim.tbl_filter(function(review)
    return review.state ~= "accepted"
  end, status.reviews)
  local parts = connected(status)
  for _, client in ipairs(require("agent_ide.lost").list()) do
    table.insert(parts, require("agent_ide.status").title(client.agent) .. " is gone")
  end
  if #waiting > 0 then
    table.insert(parts, #waiting == 1 and "1 diff" or #waiting .. " diffs")
  end
  return table.concat(parts, ", ")
end

--- Draw the statusline anew.
function M.changed()
  text = nil
  vim.cmd.redrawstatus({ bang = true })
end

vim.api.nvim_create_autocmd("User", {
  pattern = "AgentIdeStatus",
  group = vim.api.nvim_create_augroup("agent_ide_statusline", {}),
  desc = "agent_ide: draw the statusline anew",
  callback = function()
    M.changed()
  end,
})

---@return string
function M.text()
  if not text then
    text = render(require("agent_ide.status").get())
  end
  return text
end

return M
