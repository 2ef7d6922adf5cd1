--- Reviews as the user sees them: show one, close it, tell the host what the user decided.
---
--- Owns:     the reviews that have a proposal's buffer, by id; the one that the user has asked for.
--- Not here: their lifecycle (the host's), windows (`view.lua`), the buffer (`proposal.lua`).
--- Length:   what opens, closes and decides a review shares the one table of them.
local M = {}

local facts = require("agent_ide.diff.facts")
local kept = require("agent_ide.diff.kept")
local notify = require("agent_ide.notify")
local rpc = require("agent_ide.rpc")
local text = require("agent_ide.text")
local typed_write = require("agent_ide.diff.typed_write")
local views = require("agent_ide.diff.view")
local windows = require("agent_ide.windows")

---@alias agent_ide.ReviewId integer

--- What the host asks to be shown.
---@class agent_ide.diff.Request
---@field id agent_ide.ReviewId
---@field agent string the agent's name for people
---@field path string
---@field tab_name string
---@field is_new boolean
---@field writes "accepted"|"proposed" which text the agent writes after an accept
---@field closing "rejects"|"hides" what it means when the user closes a window

---@alias agent_ide.diff.Reason "accepted"|"rejected"|"withdrawn"|"hidden"

---@class agent_ide.diff.Shown
---@field request agent_ide.diff.Request
---@field proposal agent_ide.diff.Proposal
---@field view? agent_ide.diff.View nil while it loads, or is hidden
---@field told? "accept"|"reject" what the host was told; the host closes the view
---@field leaving? agent_ide.diff.Reason why it is to close, while the user still types in it
---@field waiting? fun(reason: string?) it is to open once the user is free; call it to end that wait,
---                                     with a reason the host is told why it does not open
---@field old_buf? integer the file on disk, while there is a view
---@field group? integer of autocommands, while there is a view
---@field hunks? agent_ide.diff.Hunk[] as they were last
---@field compared? string version of the texts that `hunks` are of
---@field stale? string as the host said last

---@type table<agent_ide.ReviewId, agent_ide.diff.Shown>
local reviews = {}

--- It opens with the cursor as soon as the host shows it.
---@type agent_ide.ReviewId?
local wanted

---@param shown agent_ide.diff.Shown
---@param event "accept"|"reject"
---@param packed table
local function tell(shown, event, packed)
  local id = shown.request.id
  if not rpc.notify("review", vim.tbl_extend("error", { id = id, event = event }, packed)) then
    return notify.show("the host is not running, nobody waits for this review", "warn")
  end
  shown.told = event
  shown.proposal:freeze()
  views.label(shown)
end

---@param shown agent_ide.diff.Shown
local function accept(shown)
  if shown.told or shown.leaving then
    return notify.show(facts.state(shown))
  end
  -- what nobody has touched the host has
  local untouched = shown.proposal:is_untouched()
  tell(shown, "accept", untouched and { as_proposed = true } or shown.proposal:packed())
end

---@param shown agent_ide.diff.Shown
local function reject(shown)
  if not shown.told and not shown.leaving then
    tell(shown, "reject", {})
  end
end

--- Forget a review whose windows are gone.
---@param shown agent_ide.diff.Shown
local function drop(shown)
  reviews[shown.request.id] = nil
  shown.proposal:wipe()
  require("agent_ide.reload").guard_ends_soon(shown.request.path)
  if next(reviews) == nil then
    typed_write.stop()
  end
end

---@param request agent_ide.diff.Request
---@param typed string
local function keep_text(request, typed)
  kept.add(request, typed)
  local name = vim.fs.basename(request.path)
  notify.show(("what you changed in the proposal for %s is kept: :AgentIde recover"):format(name))
end

--- What the user typed outlives the review, unless a verdict has used it.
---@param shown agent_ide.diff.Shown
local function keep(shown)
  if shown.proposal:is_changed() then
    keep_text(shown.request, shown.proposal:text())
  end
end

---@param shown agent_ide.diff.Shown
---@param reason agent_ide.diff.Reason
local function close(shown, reason)
  shown.leaving = nil
  if reason == "hidden" then
    return views.close(shown)
  end
  if reason == "withdrawn" then
    keep(shown)
  elseif reason == "accepted" and shown.proposal:is_changed() then
    require("agent_ide.diff.let_go").add(shown.request, shown.proposal:text())
  end
  views.close(shown)
  drop(shown)
end

--- The user has closed one of its windows.
---@param shown agent_ide.diff.Shown
local function closed_by_user(shown)
  if shown.leaving then
    return close(shown, shown.leaving)
  end
  views.close(shown)
  local closed = { id = shown.request.id, event = "closed" }
  local waits = not shown.told and rpc.notify("review", closed)
  if waits and shown.request.closing == "hides" then
    local message = "%s still asks about %s in its terminal; :AgentIde diffs brings the diff back"
    return notify.show(message:format(shown.request.agent, vim.fs.basename(shown.request.path)))
  end
  drop(shown)
end

--- Somebody writes the proposal's buffer.
---@param shown agent_ide.diff.Shown
---@param typed boolean
local function written(shown, typed)
  if typed then
    accept(shown)
  elseif not shown.told then
    local name = vim.fs.basename(shown.request.path)
    notify.show(("the proposal for %s was not accepted: only :w typed there does"):format(name))
  end
end

---@param shown agent_ide.diff.Shown
---@return boolean
local function may_edit(shown)
  local state = facts.state(shown)
  if state then
    notify.show(state)
  end
  return state == nil
end

---@param shown agent_ide.diff.Shown
---@param take_cursor? boolean
---@param on_compared? fun() the differences are known
---@return string? problem
local function open_view(shown, take_cursor, on_compared)
  local opened = views.open(shown, take_cursor, function()
    closed_by_user(shown)
  end, on_compared or function() end)
  if not opened then
    drop(shown)
    return "there is no room for a diff"
  end
  require("agent_ide.diff.keys").map(shown, function(verdict)
    M.decide(shown.request.id, verdict)
  end, function()
    return may_edit(shown)
  end)
end

---@param shown agent_ide.diff.Shown
local function tell_waiting(shown)
  local message = "%s proposes a change of %s: it opens when you are back in Normal mode"
  local name = vim.fs.basename(shown.request.path)
  require("agent_ide.diff.attention").call(message:format(shown.request.agent, name))
end

--- Open the view without interrupting anybody: a busy user is told, and sees it later.
---@param shown agent_ide.diff.Shown
---@param reply agent_ide.Reply
local function open_when_calm(shown, reply)
  local id = shown.request.id
  local function open(take_cursor)
    if reviews[id] ~= shown or not shown.proposal:is_alive() then
      return reply("closed before it was shown")
    end
    local problem = open_view(shown, take_cursor, function()
      reply(nil, views.changes(shown))
    end)
    if problem then
      reply(problem)
    end
  end
  if wanted == id then
    wanted = nil
    return windows.when_free(function()
      open(true)
    end)
  end
  local cancel = windows.when_calm(function()
    shown.waiting = nil
    open()
  end)
  if cancel then
    tell_waiting(shown)
    shown.waiting = function(reason)
      shown.waiting = nil
      cancel()
      if reason then
        return reply(reason)
      end
      open(true)
    end
  end
end

--- Open the view in another turn of the loop, unless it is closed or asked for before.
---@param shown agent_ide.diff.Shown
---@param reply agent_ide.Reply
local function open_soon(shown, reply)
  local function mine(reason)
    shown.waiting = nil
    if reason then
      return reply(reason)
    end
    wanted = shown.request.id
    open_when_calm(shown, reply)
  end
  shown.waiting = mine
  vim.schedule(function()
    if shown.waiting == mine then
      shown.waiting = nil
      open_when_calm(shown, reply)
    end
  end)
end

---@param request agent_ide.diff.Request
---@param proposed agent_ide.diff.Original
---@param reply agent_ide.Reply
local function show_new(request, proposed, reply)
  typed_write.start()
  local shown = { request = request } ---@type agent_ide.diff.Shown
  reviews[request.id] = shown
  require("agent_ide.reload").guard(request.path)
  shown.proposal = require("agent_ide.diff.proposal").new(request, proposed, function(typed)
    written(shown, typed)
  end)
  if not shown.proposal:load() then
    drop(shown)
    return reply("the proposed text did not reach Neovim: its file was deleted on the way")
  end
  if text.is_large(shown.proposal.buf) then
    -- its windows are another step: the user may type in between
    return open_soon(shown, reply)
  end
  open_when_calm(shown, reply)
end

--- Show a review; `reply` once it is visible.
---@param args table as doc/channel.md has it
---@param reply agent_ide.Reply
function M.show(args, reply)
  local proposed = require("agent_ide.diff.original").new(args)
  local shown = reviews[args.id]
  if shown and (shown.view or shown.proposal:is_alive()) then
    proposed:drop()
    if shown.view then
      return reply(nil, views.changes(shown))
    end
    return open_when_calm(shown, reply)
  end
  show_new({
    id = args.id,
    agent = args.agent,
    path = args.path,
    tab_name = args.tab_name,
    is_new = args.is_new,
    closing = args.closing or "rejects",
    writes = args.writes or "accepted",
  }, proposed, reply)
end

--- Close a review's view. Somebody who is typing in it is not thrown out in the middle of a word:
--- the rest of the word would land in another buffer.
---@param args { id: agent_ide.ReviewId, reason: agent_ide.diff.Reason }
---@param reply agent_ide.Reply
function M.close(args, reply)
  local shown = reviews[args.id]
  if not shown then
    return reply()
  end
  if shown.waiting then
    shown.waiting("closed before it was shown")
  end
  shown.leaving = args.reason
  local typing_in_it = shown.view and shown.view.frame:has_cursor() and not windows.in_normal_mode()
  if typing_in_it then
    views.label(shown)
    windows.when_in_normal_mode(function()
      if reviews[args.id] == shown and shown.leaving then
        close(shown, shown.leaving)
      end
    end)
  else
    windows.when_free(function()
      if reviews[args.id] == shown then
        close(shown, args.reason)
      end
    end)
  end
  reply()
end

--- The proposal as it stands, with what the user has typed.
---@param args { id: agent_ide.ReviewId }
---@param reply agent_ide.Reply
function M.read(args, reply)
  local shown = reviews[args.id]
  local alive = shown and shown.proposal:is_alive()
  reply(nil, alive and shown.proposal:packed() or nil)
end

--- The host did not take the verdict: the user goes on.
---@param args { id: agent_ide.ReviewId }
---@param reply agent_ide.Reply
function M.resume(args, reply)
  local shown = reviews[args.id]
  if shown and shown.told and not shown.leaving then
    shown.told = nil
    shown.proposal:thaw()
    views.label(shown)
  end
  reply()
end

--- Decide a review with the text as it stands in its proposal.
---@param id agent_ide.ReviewId
---@param verdict "accept"|"reject"
---@return boolean found false: it has no proposal here, nothing was decided
function M.decide(id, verdict)
  local shown = reviews[id]
  if not shown or not shown.proposal:is_alive() then
    return false
  elseif verdict == "accept" then
    accept(shown)
  else
    reject(shown)
  end
  return true
end

--- Put the cursor into a review's proposal, opening its windows again where they were hidden.
---@param id agent_ide.ReviewId
---@return boolean found
function M.focus(id)
  local shown = reviews[id]
  if not shown or not shown.proposal:is_alive() then
    return false
  elseif shown.waiting then
    shown.waiting()
  elseif not shown.view then
    open_view(shown, true)
  end
  if shown.view then
    shown.view.frame:focus()
  end
  return shown.view ~= nil
end

--- The user wants to see a review, also one whose turn has not come.
---@param id agent_ide.ReviewId
function M.present(id)
  local shown = reviews[id]
  if shown and (shown.view or shown.waiting or shown.told) then
    M.focus(id)
  elseif rpc.notify("review", { id = id, event = "show" }) then
    wanted = id
  else
    notify.show("the host is not running: :AgentIde start", "warn")
  end
end

--- The windows of a review, while it is shown.
---@param id agent_ide.ReviewId
---@return agent_ide.diff.Frame?
function M.frame(id)
  local shown = reviews[id]
  return shown and shown.view and shown.view.frame
end

--- Show the open reviews in another layout, and later ones too.
---@param layout agent_ide.diff.Layout
function M.set_layout(layout)
  views.choose(layout)
  for _, shown in pairs(vim.tbl_extend("keep", {}, reviews)) do
    if shown.view then
      local win = shown.view.frame:win()
      local cursor = vim.api.nvim_win_get_cursor(win)
      local had_cursor = shown.view.frame:has_cursor()
      views.close(shown)
      if not open_view(shown, had_cursor) then
        vim.api.nvim_win_set_cursor(shown.view.frame:win(), cursor)
      end
    end
  end
end

--- The host has ended: nobody waits for a verdict any more.
function M.host_gone()
  wanted = nil
  for _, shown in pairs(vim.tbl_extend("keep", {}, reviews)) do
    M.close({ id = shown.request.id, reason = "withdrawn" }, function() end)
  end
  require("agent_ide.diff.let_go").host_gone(keep_text)
end

return M
