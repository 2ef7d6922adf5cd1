--- The buffer of a proposal: what the agent wants the file to be, for the user to edit.
---
--- Owns:     its buffer and the text it started from.
--- Not here: windows (`split.lua`), what a verdict leads to (`init.lua`).
local M = {}

local api = vim.api
local text = require("agent_ide.text")

--- What a user sets up by file type, taken from the file's own buffer: the proposal has no
--- FileType event, which would bring language servers and formatters along.
local FILE_OPTIONS = {
  "commentstring",
  "comments",
  "expandtab",
  "formatoptions",
  "iskeyword",
  "shiftwidth",
  "softtabstop",
  "tabstop",
  "textwidth",
}

---@class agent_ide.diff.Proposal
---@field buf integer
---@field name string of the buffer
---@field path string of the file
---@field original agent_ide.diff.Original
---@field untouched string version of the buffer as it was filled
---@field on_write fun(typed: boolean)
local Proposal = {}
Proposal.__index = Proposal

--- The last part of a path as it may stand in a buffer's name, which the terminal's title shows.
---@param path string
---@return string
function M.basename(path)
  -- U+0080 to U+009F are control characters, too
  return (vim.fs.basename(path):gsub("%c", "?"):gsub("\194[\128-\159]", "?"))
end

---@param review agent_ide.diff.Request
---@return string
local function name_of(review)
  return ("agent-ide://review/%d/%s"):format(review.id, M.basename(review.path))
end

---@param review agent_ide.diff.Request
---@return integer
local function make_buffer(review)
  local buf = api.nvim_create_buf(false, false)
  api.nvim_buf_set_name(buf, name_of(review))
  local options = vim.bo[buf]
  -- not swapped, not a file: the text is the host's and the agent's to write
  options.buftype = "acwrite"
  options.bufhidden = "hide"
  options.swapfile = false
  options.undofile = false
  options.modeline = false
  vim.b[buf].agent_ide_review = review.id
  return buf
end

--- What changes whenever the text that a buffer stands for does.
---@param buf integer
---@return string
local function version(buf)
  local options = vim.bo[buf]
  local shape = { options.fileformat, tostring(options.endofline), tostring(options.bomb) }
  return api.nvim_buf_get_changedtick(buf) .. " " .. table.concat(shape, " ")
end

---@param buf integer
---@param path string
local function take_file_options(buf, path)
  local file = require("agent_ide.files").find(path)
  if file and api.nvim_buf_is_loaded(file) then
    for _, name in ipairs(FILE_OPTIONS) do
      vim.bo[buf][name] = vim.bo[file][name]
    end
  end
end

--- Make the buffer; `load` fills it.
---@param review agent_ide.diff.Request
---@param proposed agent_ide.diff.Original
---@param on_write fun(typed: boolean) somebody writes the buffer; `typed`: the user does, it alone
---@return agent_ide.diff.Proposal
function M.new(review, proposed, on_write)
  local self = setmetatable({
    buf = make_buffer(review),
    name = name_of(review),
    path = review.path,
    original = proposed,
    untouched = "",
    on_write = on_write,
  }, Proposal)
  take_file_options(self.buf, review.path)
  self:watch()
  return self
end

--- Fill the buffer with the text as proposed.
---@return boolean loaded false: somebody has deleted the file that brought it
function Proposal:load()
  local loaded = self.original:fill(self.buf)
  self.untouched = loaded and version(self.buf) or ""
  -- as long as it is modified, `:qa` refuses and `:x` writes
  vim.bo[self.buf].modified = true
  return loaded
end

--- Give it the colours of its file.
---@return string filetype for other versions of the file
function Proposal:colour()
  local colours = require("agent_ide.colours")
  local filetype = colours.filetype(self.path, self.buf)
  colours.give(self.buf, filetype)
  return filetype
end

function Proposal:take_name_back()
  if not self:is_alive() or api.nvim_buf_get_name(self.buf) == self.name then
    return
  end
  local leftover = require("agent_ide.files").find(self.name)
  if leftover then
    api.nvim_buf_delete(leftover, { force = true })
  end
  api.nvim_buf_set_name(self.buf, self.name)
end

function Proposal:watch()
  api.nvim_create_autocmd("BufWriteCmd", {
    buffer = self.buf,
    callback = function(event)
      self.on_write(require("agent_ide.diff.typed_write").is_typed(event, self.name))
    end,
  })
  api.nvim_create_autocmd("BufFilePost", {
    buffer = self.buf,
    desc = "`:saveas` and `:file` do not make it another file",
    callback = vim.schedule_wrap(function()
      self:take_name_back()
    end),
  })
  api.nvim_create_autocmd("BufReadCmd", {
    buffer = self.buf,
    desc = "`:edit!` brings the proposal back as it came",
    callback = function()
      if not self:load() then
        local message = "the text as proposed is not there any more: reject it and ask again"
        require("agent_ide.notify").show(message, "error")
      end
      self:colour()
    end,
  })
end

---@return boolean
function Proposal:is_alive()
  return api.nvim_buf_is_loaded(self.buf)
end

---@return string
function Proposal:text()
  return text.read(self.buf)
end

--- Nobody has done anything to it.
---@return boolean
function Proposal:is_untouched()
  return version(self.buf) == self.untouched
end

--- The text on its way to the host.
---@return agent_ide.PackedText
function Proposal:packed()
  local path = text.is_large(self.buf) and text.to_file(self.buf)
  return path and { text_file = path } or require("agent_ide.rpc").pack_text(self:text())
end

--- Whether the user has edited it.
---@return boolean
function Proposal:is_changed()
  return self:is_alive() and not self:is_untouched() and self:text() ~= self.original:text()
end

--- Nothing can be edited any more that would count.
function Proposal:freeze()
  vim.bo[self.buf].modifiable = false
end

function Proposal:thaw()
  if self:is_alive() then
    vim.bo[self.buf].modifiable = true
  end
end

function Proposal:wipe()
  self.original:drop()
  if api.nvim_buf_is_valid(self.buf) then
    api.nvim_buf_delete(self.buf, { force = true })
  end
end

return M
