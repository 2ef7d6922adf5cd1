--- Leading edge, then throttle: the first call after rest runs at once, later ones at most once an
--- interval, the last one always.
---
--- Owns:     one timer a throttle.
--- Not here: what is run.
local M = {}

--- ARCHITECTURE 6: often enough for the eye, seldom enough for a channel.
local INTERVAL_MS = 50

---@class agent_ide.Throttle
---@field call fun()
---@field now fun() run outside of the rhythm
---@field stop fun() nothing runs after it

---@param what string for the log
---@param run fun()
---@return agent_ide.Throttle
function M.new(what, run)
  local timer = assert(vim.uv.new_timer())
  local resting, pending, stopped = true, false, false
  local run_logged = require("agent_ide.guard").wrap(what, run)

  local on_time
  local function start()
    timer:start(INTERVAL_MS, 0, on_time)
    run_logged()
  end

  on_time = vim.schedule_wrap(function()
    if stopped then
      return
    elseif pending then
      pending = false
      start()
    else
      resting = true
    end
  end)

  return {
    call = function()
      if stopped then
        return
      elseif resting then
        resting = false
        start()
      else
        pending = true
      end
    end,
    now = function()
      if not stopped then
        run_logged()
      end
    end,
    stop = function()
      if not stopped then
        stopped = true
        timer:close()
      end
    end,
  }
end

return M
