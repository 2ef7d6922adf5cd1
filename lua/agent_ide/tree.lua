--- The files under the cursor, marked or in a range of a file tree.
---
--- Owns:     nothing.
--- Not here: sending them (send.lua). Each adapter uses the tree's own public functions only.
local M = {}

local api = vim.api

--- What one tree can tell of its current window.
---@class agent_ide.TreeAdapter
---@field at fun(lnum: integer): string? the path in a line; nil: there is none
---@field marked? fun(): string[]? the paths the user has marked
---@field moves? boolean `at` knows the cursor's line only

--- By 'filetype'.
---@type table<string, agent_ide.TreeAdapter>
local adapters = {}

adapters.netrw = {
  moves = true,
  at = function()
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
  end,
  marked = function()
    local list = vim.fn["netrw#Expose"]("netrwmarkfilelist")
    return type(list) == "table" and list or nil
  end,
}

adapters.oil = {
  at = function(lnum)
    local oil = require("oil")
    local entry, folder = oil.get_entry_on_line(0, lnum), oil.get_current_dir()
    return entry and entry.name ~= ".." and folder and vim.fs.joinpath(folder, entry.name) or nil
  end,
}

adapters.NvimTree = {
  moves = true,
  at = function()
    local node = require("nvim-tree.api").tree.get_node_under_cursor()
    return node and node.absolute_path
  end,
  marked = function()
    return vim.tbl_map(function(node)
      return node.absolute_path
    end, require("nvim-tree.api").marks.list())
  end,
}

adapters["neo-tree"] = {
  at = function(lnum)
    local state = require("neo-tree.sources.manager").get_state_for_window()
    local node = state and state.tree and state.tree:get_node(lnum)
    return node and node.path
  end,
}

adapters.minifiles = {
  at = function(lnum)
    local entry = require("mini.files").get_fs_entry(0, lnum)
    return entry and entry.path
  end,
}

--- The picker of snacks.nvim whose window this is: its explorer is one as well.
---@return table
local function snacks_picker()
  local pickers = require("snacks").picker.get({ source = nil })
  return assert(
    vim.iter(pickers):find(function(picker)
      return picker:current_win() ~= nil
    end),
    "no picker has this window"
  )
end

---@param item? table
---@return string?
local function snacks_path(item)
  return item and require("snacks").picker.util.path(item)
end

adapters.snacks_picker_list = {
  at = function(lnum)
    local picker = snacks_picker()
    if lnum == api.nvim_win_get_cursor(0)[1] then
      return snacks_path(picker:current())
    end
    return snacks_path(picker.list:get(picker.list:row2idx(lnum)))
  end,
  marked = function()
    return vim.iter(snacks_picker():selected()):map(snacks_path):totable()
  end,
}

adapters.snacks_picker_input = {
  at = function()
    return snacks_path(snacks_picker():current())
  end,
  marked = adapters.snacks_picker_list.marked,
}

---@param buf integer
---@return boolean
function M.is_tree(buf)
  return adapters[vim.bo[buf].filetype] ~= nil
end

---@param adapter agent_ide.TreeAdapter
---@param first integer
---@param last integer
---@return string[]
local function in_lines(adapter, first, last)
  local paths, cursor = {}, api.nvim_win_get_cursor(0)
  for lnum = first, last do
    if adapter.moves and lnum ~= api.nvim_win_get_cursor(0)[1] then
      api.nvim_win_set_cursor(0, { lnum, 0 })
    end
    local path = adapter.at(lnum)
    if path and path ~= "" then
      table.insert(paths, path)
    end
  end
  if adapter.moves then
    api.nvim_win_set_cursor(0, cursor)
  end
  return paths
end

---@param path string
---@return string absolute, without a slash at the end
local function clean(path)
  local absolute = vim.fn.fnamemodify(path, ":p")
  return #absolute > 1 and (absolute:gsub("/$", "")) or absolute
end

--- Files and folders of the tree in the current window: those in a range, else the marked ones, else
--- the one under the cursor.
---@param first? integer
---@param last? integer
---@return string[]? paths absolute
---@return string? problem a sentence for the user
function M.paths(first, last)
  local filetype = vim.bo.filetype
  local adapter = adapters[filetype]
  if not adapter then
    local known = vim.tbl_keys(adapters)
    table.sort(known)
    return nil, "this is no file tree that is known here (" .. table.concat(known, ", ") .. ")"
  end
  local lnum = api.nvim_win_get_cursor(0)[1]
  local ok, paths = pcall(function()
    local marked = not first and adapter.marked and adapter.marked() or {}
    return #marked > 0 and marked or in_lines(adapter, first or lnum, last or lnum)
  end)
  if not ok then
    require("agent_ide.log").error("tree %s: %s", filetype, paths)
    return nil,
      filetype .. " did not say what is there: its functions may have changed (:AgentIde log)"
  elseif #paths == 0 then
    return nil, "there is no file under the cursor"
  end
  return vim.tbl_map(clean, paths)
end

return M
