--- The file under the cursor in a file tree.
---
--- Owns:     nothing.
--- Not here: sending it (send.lua). Each adapter uses the tree's own public functions only.
local M = {}

--- Adapters by 'filetype'. Each gives the path under the cursor, nil where there is none.
---@type table<string, fun(): string?>
local adapters = {}

function adapters.netrw()
  local word = vim.fn["netrw#Call"]("NetrwGetWord")
  if word == "" then
    return nil
  end
  -- NetrwFile gives a relative name where the tree's folder is Neovim's own
  local path = vim.fn["netrw#Call"]("NetrwFile", word)
  if vim.startswith(path, "/") or path:find("^%a:[/\\]") then
    return path
  end
  return vim.fs.joinpath(vim.b.netrw_curdir, path)
end

function adapters.oil()
  local oil = require("oil")
  local entry, folder = oil.get_cursor_entry(), oil.get_current_dir()
  return entry and folder and vim.fs.joinpath(folder, entry.name)
end

function adapters.NvimTree()
  local node = require("nvim-tree.api").tree.get_node_under_cursor()
  return node and node.absolute_path
end

adapters["neo-tree"] = function()
  local source = vim.b.neo_tree_source or "filesystem"
  local state = require("neo-tree.sources.manager").get_state_for_window()
    or require("neo-tree.sources.manager").get_state(source)
  local node = state.tree and state.tree:get_node()
  return node and node.path
end

function adapters.minifiles()
  local entry = require("mini.files").get_fs_entry()
  return entry and entry.path
end

---@param buf integer
---@return boolean
function M.is_tree(buf)
  return adapters[vim.bo[buf].filetype] ~= nil
end

--- The file or folder under the cursor of the current window.
---@return string? path absolute
---@return string? problem a sentence for the user
function M.path()
  local filetype = vim.bo.filetype
  local adapter = adapters[filetype]
  if not adapter then
    local known = vim.tbl_keys(adapters)
    table.sort(known)
    return nil, "this is no file tree that is known here (" .. table.concat(known, ", ") .. ")"
  end
  local ok, path = pcall(adapter)
  if not ok then
    require("agent_ide.log").error("tree %s: %s", filetype, path)
    return nil, filetype .. " did not say what is under the cursor; see :AgentIde log"
  elseif not path then
    return nil, "there is no file under the cursor"
  end
  local absolute = vim.fn.fnamemodify(path, ":p")
  return #absolute > 1 and (absolute:gsub("/$", "")) or absolute
end

return M
