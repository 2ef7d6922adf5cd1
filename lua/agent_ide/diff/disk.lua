--- The old side of a review: the file as it is on disk, read-only.
---
--- Owns:     nothing; the caller wipes the buffer.
--- Not here: the user's own buffer of the file, which may hold unsaved changes and is not touched.
local M = {}

local api = vim.api
local uv = vim.uv

--- Whether some lines end with CR, while others do not.
---@param buf integer
---@return boolean
local function has_cr(buf)
  return api.nvim_buf_call(buf, function()
    return vim.fn.search("\\r$", "nw") > 0
  end)
end

--- Line breaks of a file that has both kinds: the agents' CLIs show all of them as LF.
---@param buf integer
local function strip_cr(buf)
  local lines = vim.tbl_map(function(line)
    return (line:gsub("\r$", ""))
  end, api.nvim_buf_get_lines(buf, 0, -1, true))
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
end

--- Fill the buffer with the file as it is now.
---@param buf integer
---@param review agent_ide.diff.Request
---@param proposal agent_ide.diff.Proposal
function M.load(buf, review, proposal)
  local options = vim.bo[buf]
  options.modifiable = true
  options.readonly = false
  api.nvim_buf_set_lines(buf, 0, -1, true, {})
  local stat = uv.fs_stat(review.path)
  if stat and stat.type == "file" then
    local problem = require("agent_ide.text").read_file(buf, review.path)
    if problem then
      require("agent_ide.log").warn("the old side of review %d: %s", review.id, problem)
    elseif options.fileformat == "unix" and has_cr(buf) then
      if vim.bo[proposal.buf].fileformat == "unix" and not has_cr(proposal.buf) then
        strip_cr(buf)
      end
    end
  end
  options.modified = false
  options.modifiable = false
  options.readonly = true
end

--- Make the buffer.
---@param review agent_ide.diff.Request
---@param proposal agent_ide.diff.Proposal
---@return integer
function M.new(review, proposal)
  local buf = api.nvim_create_buf(false, true)
  local basename = require("agent_ide.diff.proposal").basename(review.path)
  api.nvim_buf_set_name(buf, ("agent-ide://disk/%d/%s"):format(review.id, basename))
  local options = vim.bo[buf]
  options.buftype = "nofile"
  options.bufhidden = "hide"
  options.swapfile = false
  options.modeline = false
  options.undolevels = -1
  M.load(buf, review, proposal)
  vim.b[buf].agent_ide_review = review.id
  return buf
end

return M
