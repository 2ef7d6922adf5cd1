--- The colours of a file for a buffer that holds a version of it, without its FileType event, which
--- would bring language servers and formatters along.
---
--- Owns:     nothing.
--- Not here: the buffers (`diff/proposal.lua`, `diff/disk.lua`, `diff/kept.lua`, `merge.lua`).
local M = {}

local api = vim.api

--- Above this, colours cost more than they give.
local MOST_BYTES = 1024 * 1024

--- The file type of a file: as it is edited, else by its name, else by what it begins with.
---@param path string
---@param buf integer holds a version of it
---@return string filetype "": none
function M.filetype(path, buf)
  local file = require("agent_ide.files").find(path)
  local edited = file and vim.bo[file].filetype or ""
  if edited ~= "" then
    return edited
  end
  return vim.filetype.match({ filename = path })
    or vim.filetype.match({ buf = buf, filename = path })
    or ""
end

---@param buf integer
---@param filetype string
function M.give(buf, filetype)
  if filetype == "" or require("agent_ide.text").bytes(buf) > MOST_BYTES then
    return
  end
  local language = vim.treesitter.language.get_lang(filetype)
  if not (language and pcall(vim.treesitter.start, buf, language)) then
    api.nvim_set_option_value("syntax", filetype, { buf = buf })
  end
end

return M
