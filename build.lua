--- What a plugin manager runs after it has fetched the plugin; `nvim -l build.lua` does the same.
---
--- Owns:     waiting for the build. lazy.nvim runs this in a coroutine, with the plugin not loaded.
--- Not here: the build (lua/agent_ide/install.lua).
local root = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
vim.opt.runtimepath:prepend(root)

local install = require("agent_ide.install")
local named = require("agent_ide.config").get().python

--- In Neovim the manager shows what we yield; without a screen we print.
---@param text string
local function say(text)
  if #vim.api.nvim_list_uis() == 0 then
    io.stdout:write("agent_ide: ", text, "\n")
  end
end

--- Let the editor live on until the build has ended.
---@param ended fun(): boolean
local function wait(ended)
  local co, main = coroutine.running()
  local shown
  while not ended() do
    local step = install.step()
    local news = step ~= shown and step or nil
    shown = step
    if news then
      say(news)
    end
    if co and not main then
      -- the manager resumes us at once: spare the processor, but not the user's keys
      vim.uv.sleep(5)
      coroutine.yield(news)
    else
      vim.wait(50)
    end
  end
end

if named then
  return say("nothing to install, the option python names " .. named)
end

local result
install.build(function(python, err)
  result = { python = python, err = err }
end)
wait(function()
  return result ~= nil
end)
if result.err then
  error("agent_ide: " .. result.err, 0)
end
say("the Python packages are in " .. require("agent_ide.venv").dir())
