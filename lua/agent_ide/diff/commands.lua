--- What the commands do that are about reviews.
---
--- Owns:     nothing.
--- Not here: their names (plugin/agent_ide.lua, subcommands.lua), the reviews themselves (`init.lua`).
local M = {}

local facts = require("agent_ide.diff.facts")
local notify = require("agent_ide.notify")

---@return agent_ide.Review[]
local function reviews()
  return require("agent_ide.status").get().reviews
end

---@return agent_ide.Review[]
local function waiting()
  return vim.tbl_filter(facts.waits, reviews())
end

---@param problem string
local function refuse(problem)
  notify.show(problem, "warn")
end

--- Tell the host; says so where there is none.
---@param event string
---@param payload? table
---@return boolean
local function tell_host(event, payload)
  local told = require("agent_ide.rpc").notify(event, payload)
  if not told then
    refuse("the host is not running: :AgentIde start")
  end
  return told
end

--- Names to complete.
---@return string[]
function M.names()
  return vim.tbl_map(function(review)
    return review.tab_name
  end, waiting())
end

---@param review agent_ide.Review
---@return string
function M.describe(review)
  local whose = review.title .. (review.client_gone and ", which is gone" or "")
  local path = vim.fn.strtrans(vim.fn.fnamemodify(review.path, ":~:."))
  local size = review.added and (" +%d -%d"):format(review.added, review.removed) or ""
  local stale = review.stale and ", " .. review.stale or ""
  return ("%s: %s%s (%s%s)"):format(review.state, path, size, whose, stale)
end

--- Let the user choose a review.
---@param choices agent_ide.Review[]
---@param on_choice fun(review: agent_ide.Review)
local function choose(choices, on_choice)
  vim.ui.select(choices, {
    prompt = "Diffs:",
    kind = "agent_ide.review",
    format_item = M.describe,
  }, function(review)
    if review then
      on_choice(review)
    end
  end)
end

--- Choose one of the open reviews and go there.
function M.pick()
  if #reviews() == 0 then
    return notify.show("no diff is open")
  end
  choose(reviews(), function(review)
    local diff = require("agent_ide.diff")
    if facts.waits(review) then
      diff.present(review.id)
    elseif not diff.focus(review.id) then
      notify.show("this diff has no window: " .. M.describe(review))
    end
  end)
end

--- The review that a command without a name means, as far as it is clear: the one under the cursor,
--- the one of the terminal's agent, else the only one that is shown.
---@param choices agent_ide.Review[]
---@return agent_ide.Review?
local function meant(choices)
  local shown, here = {}, {}
  for _, review in ipairs(choices) do
    if review.id == vim.b.agent_ide_review then
      return review
    elseif review.state == "pending" then
      table.insert(shown, review)
      if review.agent == vim.b.agent_ide_terminal then
        table.insert(here, review)
      end
    end
  end
  if #here == 1 then
    return here[1]
  end
  return #shown == 1 and shown[1] or #choices == 1 and choices[1] or nil
end

---@param review agent_ide.Review
---@param verdict "accept"|"reject"
function M.decide(review, verdict)
  -- the view knows what the user has changed in the proposal; the host only what was proposed
  if not require("agent_ide.diff").decide(review.id, verdict) then
    tell_host(verdict, { id = review.id })
  end
end

--- Whether a reason can be put into the prompt of the program that asks: it must run in a terminal of
--- ours, which takes text.
---@param review agent_ide.Review
---@return boolean
local function can_carry(review)
  local terminal = require("agent_ide.terminal")
  local client = vim.iter(require("agent_ide.status").get().clients):find(function(client)
    return client.id == review.client
  end)
  local pid = terminal.running(review.agent) and terminal.pid(review.agent)
  return review.carries_reason == true and pid ~= nil and client ~= nil and client.pid == pid
end

---@param review agent_ide.Review
---@param reason string
local function reject_with_reason(review, reason)
  if can_carry(review) then
    tell_host("reject", { id = review.id, reason = reason })
  else
    M.decide(review, "reject")
    local message = "rejected, but %s cannot be given the reason from here: tell it yourself"
    refuse(message:format(review.title))
  end
end

---@param name? string
---@return agent_ide.Review[]
local function named(name)
  return vim.tbl_filter(function(review)
    return not name or review.tab_name == name
  end, waiting())
end

--- Settle a review, from wherever the command was given.
---@param verdict "accept"|"reject"
---@param argument? string its tab name; for a rejection anything else is the reason
function M.settle(verdict, argument)
  local choices, reason = named(argument), nil
  if argument and #choices == 0 and verdict == "reject" then
    choices, reason = named(nil), argument
  end
  if #choices == 0 then
    local problem = argument and not reason and "no open diff is called " .. argument
    return refuse(problem or "no diff awaits a verdict")
  end
  local function run(review)
    if reason then
      return reject_with_reason(review, reason)
    end
    M.decide(review, verdict)
  end
  local review = meant(choices)
  if review then
    return run(review)
  end
  choose(choices, run)
end

--- For configurations: settle one review without asking which.
---@param verdict "accept"|"reject"
---@param id? integer nil: the one that a command means
---@param reason? string
---@return boolean settled
---@return string? problem
function M.settle_by_id(verdict, id, reason)
  local review = id == nil and meant(waiting())
    or vim.iter(waiting()):find(function(review)
      return review.id == id
    end)
  if not review then
    local problem = #waiting() > 0 and "several diffs await a verdict" or "no diff awaits a verdict"
    return false, id and ("no diff %d awaits a verdict"):format(id) or problem
  elseif reason then
    reject_with_reason(review, reason)
  else
    M.decide(review, verdict)
  end
  return true
end

---@param choices agent_ide.Review[]
---@return table<string, agent_ide.Review[]> by agent
---@return string[] agents in order
local function by_agent(choices)
  local groups, order = {}, {}
  for _, review in ipairs(choices) do
    if not groups[review.agent] then
      groups[review.agent] = {}
      table.insert(order, review.agent)
    end
    table.insert(groups[review.agent], review)
  end
  return groups, order
end

---@param verdict "accept"|"reject"
---@param group agent_ide.Review[]
local function settle_group(verdict, group)
  local lines = vim.tbl_map(function(review)
    return "  " .. M.describe(review)
  end, group)
  local count = #group == 1 and "this diff" or ("these %d diffs"):format(#group)
  local prompt = ("%s %s of %s?\n%s"):format(
    verdict == "accept" and "Accept" or "Reject",
    count,
    group[1].title,
    table.concat(lines, "\n")
  )
  vim.ui.select({ "No", "Yes" }, { prompt = prompt, kind = "agent_ide.confirm" }, function(choice)
    if choice ~= "Yes" then
      return
    end
    local now = by_agent(waiting())[group[1].agent] or {}
    for _, review in ipairs(group) do
      -- only what was listed, and what still waits
      if vim.iter(now):any(function(other)
        return other.id == review.id
      end) then
        M.decide(review, verdict)
      end
    end
  end)
end

--- Settle all that wait for one agent, after a confirmation that lists them.
---@param verdict "accept"|"reject"
---@param agent? string
function M.settle_all(verdict, agent)
  local groups, order = by_agent(waiting())
  local review = meant(waiting())
  local chosen = agent or (#order == 1 and order[1]) or (review and review.agent)
  if chosen and groups[chosen] then
    return settle_group(verdict, groups[chosen])
  elseif chosen or #order == 0 then
    return refuse(chosen and "no diff waits for " .. chosen or "no diff awaits a verdict")
  end
  vim.ui.select(order, {
    prompt = "All diffs of:",
    kind = "agent_ide.agent",
    format_item = function(name)
      return ("%s (%d)"):format(groups[name][1].title, #groups[name])
    end,
  }, function(name)
    if name then
      settle_group(verdict, groups[name])
    end
  end)
end

--- Show open reviews in another layout; without a name the next one.
---@param name? string
function M.layout(name)
  local view = require("agent_ide.diff.view")
  local at = 0
  for index, layout in ipairs(view.LAYOUTS) do
    if layout == (name or view.layout()) then
      at = index
    end
  end
  if at == 0 then
    return refuse(("expected one of %s"):format(table.concat(view.LAYOUTS, ", ")))
  end
  local layout = name or view.LAYOUTS[at % #view.LAYOUTS + 1]
  require("agent_ide.diff").set_layout(layout)
  notify.show("diffs are shown " .. layout)
end

--- Bring the last accepted review's file back to what it was before.
function M.undo()
  tell_host("undo")
end

return M
