--- Options of claudecode.nvim, under the names that they have here.
---
--- Owns:     the table of names.
--- Not here: the options themselves (schema.lua), its Lua functions (lua/claudecode).
--- Source:   claudecode.nvim's README of 2026.
local M = {}

--- One of its options: where it goes, and how its value is put there.
---@class agent_ide.ForeignOption
---@field to? string dotted name here; nil: not needed here
---@field value? fun(value: any): any

---@param value any
---@return any
local function same(value)
  return value
end

---@param command string
---@return string|string[]
local function words(command)
  local list = vim.split(command, "%s+", { trimempty = true })
  return #list > 1 and list or command
end

--- Its external command gets one string (and its function an environment).
---@param command string|function
---@return string|function
local function external(command)
  if type(command) == "string" then
    return (command:gsub("%%s", "{command}"))
  end
  return function(argv, request)
    return command(vim.iter(argv):map(vim.fn.shellescape):join(" "), request.env)
  end
end

--- By its dotted name.
---@type table<string, agent_ide.ForeignOption>
local options = {
  ["terminal_cmd"] = { to = "claude.command", value = words },
  ["env"] = { to = "claude.env", value = same },
  ["models"] = { to = "claude.models", value = same },
  ["port_range.min"] = { to = "claude.port_min", value = same },
  ["port_range.max"] = { to = "claude.port_max", value = same },
  ["terminal.split_side"] = { to = "terminal.side", value = same },
  ["terminal.split_width_percentage"] = { to = "terminal.size", value = same },
  ["terminal.snacks_win_opts"] = { to = "terminal.snacks", value = same },
  ["terminal.provider_opts.external_terminal_cmd"] = { to = "terminal.external", value = external },
  ["terminal.git_repo_cwd"] = {
    to = "terminal.cwd",
    value = function(value)
      return value and "git" or "nvim"
    end,
  },
  ["terminal.cwd_provider"] = {
    to = "terminal.cwd",
    value = function(provider)
      return function()
        local file = vim.api.nvim_buf_get_name(0)
        local folder = vim.fn.fnamemodify(file, ":p:h")
        return provider({ file = file, file_dir = folder, cwd = vim.fn.getcwd() })
      end
    end,
  },
  ["diff_opts.layout"] = { to = "diff.layout", value = same },
  ["diff_opts.vertical_split"] = {
    to = "diff.layout",
    value = function(value)
      return value and "vertical" or "horizontal"
    end,
  },
  ["diff_opts.open_in_new_tab"] = { to = "diff.tab", value = same },
  ["diff_opts.keep_terminal_focus"] = {
    to = "diff.focus",
    value = function(value)
      return not value
    end,
  },
}

--- Groups of its options that are none here, and single options that are not needed.
local GROUPS = { port_range = true, diff_opts = true, ["terminal.provider_opts"] = true }
for _, name in ipairs({
  "visual_demotion_delay_ms",
  "connection_wait_delay",
  "connection_timeout",
  "queue_timeout",
  "show_terminal_on_at_mention",
  "disable_broadcast_debouncing",
  "terminal.auto_close",
  "terminal.show_native_term_exit_tip",
  "diff_opts.auto_close_on_accept",
  "diff_opts.show_diff_stats",
  "diff_opts.open_in_current_tab",
  "diff_opts.hide_terminal_in_new_tab",
  "diff_opts.on_new_file_reject",
}) do
  options[name] = {}
end

---@param tbl table
---@param name string dotted
---@param value any
local function put(tbl, name, value)
  local keys = vim.split(name, ".", { plain = true })
  for index = 1, #keys - 1 do
    tbl[keys[index]] = type(tbl[keys[index]]) == "table" and tbl[keys[index]] or {}
    tbl = tbl[keys[index]]
  end
  -- what is given under the name here goes over it
  if tbl[keys[#keys]] == nil then
    tbl[keys[#keys]] = value
  end
end

---@param name string dotted
---@param value any
---@param out table
---@param notes string[]
local function take(name, value, out, notes)
  local option = options[name]
  if not option.to then
    table.insert(notes, name .. " is not needed")
    return
  end
  put(out, option.to, option.value(value))
  table.insert(notes, ("%s is %s"):format(name, option.to))
end

---@param given table
---@param prefix string
---@param out table
---@param notes string[]
local function walk(given, prefix, out, notes)
  local names = vim.tbl_keys(given)
  table.sort(names, function(one, other)
    return tostring(one) < tostring(other)
  end)
  for _, key in ipairs(names) do
    local name, value = prefix .. tostring(key), given[key]
    if options[name] then
      take(name, value, out, notes)
    elseif GROUPS[name] and type(value) == "table" then
      walk(value, name .. ".", out, notes)
    elseif name == "terminal" and type(value) == "table" then
      walk(value, "terminal.", out, notes)
    elseif name == "log_level" and value == "trace" then
      put(out, "log_level", "debug")
      table.insert(notes, "log_level trace is debug")
    elseif name == "terminal.cwd" and type(value) == "string" and value:find("[/~]") then
      -- a folder there, a choice here
      put(out, "terminal.cwd", function()
        return vim.fn.expand(value)
      end)
    elseif prefix == "" or prefix == "terminal." then
      put(out, name, value)
    else
      table.insert(notes, name .. " is not known")
    end
  end
end

--- Options with the names they have here. Those that had them already stay as they are.
---@param given table
---@return table options
---@return string[] notes what was called differently; none: nothing
function M.translate(given)
  local out, notes = {}, {}
  walk(given, "", out, notes)
  return #notes > 0 and out or given, notes
end

return M
