--- Who shows the agents' terminals: the option terminal.provider.
---
--- Owns:     the contract.
--- Not here: the providers themselves (job.lua, external.lua, the user's own).
local M = {}

--- What a provider is asked to start.
---@class agent_ide.StartRequest
---@field agent string
---@field title string of the agent, for people
---@field name string of the session; "" unless the user gave one
---@field argv string[]
---@field env table<string, string> over Neovim's own
---@field unset string[] variables that the program must not see
---@field cwd string
---@field focus boolean the user wants to go there
---@field on_exit fun(code: integer, last_words?: string) to be called once, when the program has ended
---@field on_focus fun() to be called when the user goes there

--- How to show: leave the cursor alone, go there, or what it was when it was hidden.
---@alias agent_ide.Cursor "keep"|"take"|"as_before"

--- One that cannot do something leaves the function out. `handle` is what `start` returned.
---@class agent_ide.Provider
---@field start fun(request: agent_ide.StartRequest): handle: any, err: string? nil: it did not start
---@field show? fun(handle: any, cursor: agent_ide.Cursor)
---@field hide? fun(handle: any) the program goes on
---@field visible? fun(handle: any): boolean in the current tab page
---@field stop? fun(handle: any) end the program
---@field write? fun(handle: any, bytes: string): boolean as if they were typed
---@field pid? fun(handle: any): integer?

--- The functions that a provider may have.
M.FUNCTIONS = { "start", "show", "hide", "visible", "stop", "write", "pid" }

---@return agent_ide.Provider? nil: the user starts agents elsewhere
function M.get()
  local wanted = require("agent_ide.config").get().terminal.provider
  if wanted == "none" then
    return nil
  elseif type(wanted) == "table" then
    return wanted
  end
  return require("agent_ide.terminal." .. (wanted == "external" and "external" or "job"))
end

return M
