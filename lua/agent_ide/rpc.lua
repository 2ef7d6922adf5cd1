--- The channel to the host: the only file that knows its number.
---
--- Owns:     the channel, the table of calls, the hand-over of large texts through files.
--- Not here: the host's process (host.lua), what a call does (the module it is routed to).
--- Source:   doc/channel.md lists every call and event with its payload.
local M = {}

local private_file = require("agent_ide.private_file")

--- Above this a text travels through a file: one string of 10 MB stalls the editor when it is decoded.
local INLINE_BYTES = 256 * 1024

--- Every call of the host: name -> module and function. The function gets (args, reply).
---@type table<string, { [1]: string, [2]: string }>
local routes = {
  hello = { "agent_ide.host", "on_hello" },
  status = { "agent_ide.status", "receive" },
  track = { "agent_ide.tracking", "set" },
  notify = { "agent_ide.notify", "receive" },
  confirm = { "agent_ide.notify", "confirm" },
  ["files.open"] = { "agent_ide.files", "open" },
  ["files.save"] = { "agent_ide.files", "save" },
  ["files.reload"] = { "agent_ide.reload", "reload" },
  ["files.merge"] = { "agent_ide.merge", "merge" },
  ["selection.read"] = { "agent_ide.selection", "read" },
  ["notebook.read"] = { "agent_ide.notebook", "read" },
  ["review.show"] = { "agent_ide.diff", "show" },
  ["review.close"] = { "agent_ide.diff", "close" },
  ["review.event"] = { "agent_ide.diff.events", "receive" },
  ["review.read"] = { "agent_ide.diff", "read" },
  ["review.resume"] = { "agent_ide.diff", "resume" },
  ["review.keep"] = { "agent_ide.diff.kept", "receive" },
  ["terminal.paste"] = { "agent_ide.send", "receive" },
}

--- The host's channel; nil while there is none.
---@type integer?
local channel

---@alias agent_ide.Reply fun(err: string?, value: table?)

---@param chan integer
function M.attach(chan)
  channel = chan
end

function M.detach()
  channel = nil
end

---@return boolean
function M.attached()
  return channel ~= nil
end

--- Tell the host something. Never blocks, never raises.
---@param name string an event of doc/channel.md
---@param payload? table
---@return boolean sent false: no host, nothing was sent
function M.notify(name, payload)
  if not channel then
    return false
  end
  -- rpcnotify raises on a channel that has just died; on_exit of the job tells the rest
  return (pcall(vim.rpcnotify, channel, "agent_ide:event", name, payload or vim.empty_dict()))
end

--- Run a call of the host. Only the host's constant string calls this.
---@param chan integer
---@param id integer
---@param name string
---@param args table
function M.dispatch(chan, id, name, args)
  local answered = false
  ---@type agent_ide.Reply
  local function reply(err, value)
    if answered then
      return
    end
    answered = true
    local result = err or value or vim.empty_dict()
    pcall(vim.rpcnotify, chan, "agent_ide:reply", id, err == nil, result)
  end
  local route = routes[name]
  if not route then
    return reply("Neovim's side of agent_ide does not know the call " .. name)
  end
  local ok, err = xpcall(function()
    require(route[1])[route[2]](args, reply)
  end, debug.traceback)
  if not ok then
    require("agent_ide.log").error("%s: %s", name, err)
    reply("Neovim could not do it; the reason is in its log (:AgentIde log)")
  end
end

--- A folder that only this user can enter; the host was told the same one.
---@return string
function M.runtime_dir()
  return vim.fn.fnamemodify(vim.fn.tempname(), ":h")
end

---@class agent_ide.PackedText
---@field text? string
---@field text_file? string

--- Put a text into a payload, through a private file when it is large.
---@param text string
---@return agent_ide.PackedText
function M.pack_text(text)
  if #text <= INLINE_BYTES then
    return { text = text }
  end
  return { text_file = private_file.put(text) }
end

--- Take a text out of a payload; a file that carried it is deleted.
---@param packed agent_ide.PackedText
---@return string
function M.unpack_text(packed)
  if packed.text then
    return packed.text
  end
  return private_file.take(assert(packed.text_file, "neither text nor text_file"))
end

return M
