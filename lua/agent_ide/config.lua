--- The options: defaults, vim.g.agent_ide and setup()'s argument made one table.
---
--- Owns:     the merged table, what was wrong with the user's.
--- Not here: the options themselves (schema.lua).
local M = {}

local schema = require("agent_ide.schema")

--- nil until somebody asks or setup() ran: the plugin works without setup().
---@type agent_ide.Config?
local merged

---@type string[]
local problems = {}

---@type table<agent_ide.OptionType, fun(value: any): boolean>
local fits = {
  ["string"] = function(value)
    return type(value) == "string" and value ~= ""
  end,
  ["boolean"] = function(value)
    return type(value) == "boolean"
  end,
  ["false"] = function(value)
    return value == false
  end,
  ["number"] = function(value)
    return type(value) == "number"
  end,
  ["integer"] = function(value)
    return type(value) == "number" and value % 1 == 0
  end,
  ["string[]"] = function(value)
    return type(value) == "table"
      and vim.islist(value)
      and vim.iter(value):all(function(item)
        return type(item) == "string"
      end)
  end,
  ["table<string, string>"] = function(value)
    return type(value) == "table"
      and vim.iter(pairs(value)):all(function(name, item)
        return type(name) == "string" and type(item) == "string"
      end)
  end,
  ["model[]"] = function(value)
    return type(value) == "table"
      and vim.islist(value)
      and vim.iter(value):all(function(item)
        return type(item) == "table"
          and type(item.name) == "string"
          and type(item.value) == "string"
      end)
  end,
  ["function"] = function(value)
    return type(value) == "function"
  end,
  ["table"] = function(value)
    return type(value) == "table"
  end,
  ["table of functions"] = function(value)
    return type(value) == "table"
      and type(value.start) == "function"
      and vim.iter(pairs(value)):all(function(name, item)
        local known = vim.tbl_contains(require("agent_ide.terminal.provider").FUNCTIONS, name)
        return known and type(item) == "function"
      end)
  end,
  ["nil"] = function(value)
    return value == nil
  end,
}

---@param option agent_ide.Option
---@return string for a person: what a value may be
function M.expected(option)
  if not option.types then
    return option.or_false and "a table or false" or "a table"
  end
  local others = vim.tbl_filter(function(kind)
    return kind ~= "string"
  end, option.types)
  if option.choices then
    local choices = vim.iter(option.choices):map(vim.inspect):join(", ")
    return "one of " .. choices .. (others[1] and " or " .. table.concat(others, " or ") or "")
  end
  local kinds = vim.iter(option.types):filter(function(kind)
    return kind ~= "nil"
  end)
  local text = kinds:join(" or ")
  if option.min then
    text = ("%s from %s to %s"):format(text, option.min, option.max)
  end
  return text
end

---@param option agent_ide.Option
---@param value any
---@return boolean
local function accepts(option, value)
  if not vim.iter(option.types):any(function(kind)
    return fits[kind](value)
  end) then
    return false
  end
  if option.choices and type(value) == "string" and not vim.tbl_contains(option.choices, value) then
    return false
  end
  return not option.min or (value >= option.min and value <= option.max)
end

---@param value any
---@return string
local function found(value)
  local text = vim.inspect(value, { newline = "", indent = "" })
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

---@param options agent_ide.Option[]
---@return table
local function defaults(options)
  local values = {}
  for _, option in ipairs(options) do
    if option.options then
      values[option.name] = defaults(option.options)
    else
      values[option.name] = vim.deepcopy(option.default)
    end
  end
  return values
end

---@param options agent_ide.Option[]
---@param user table
---@param prefix string
local function name_unknown(options, user, prefix)
  local known = vim.tbl_map(function(option)
    return option.name
  end, options)
  table.sort(known)
  local unknown = vim.iter(vim.tbl_keys(user)):map(tostring):filter(function(key)
    return not vim.tbl_contains(known, key)
  end)
  local keys = unknown:totable()
  table.sort(keys)
  for _, key in ipairs(keys) do
    local expected = table.concat(known, ", ")
    table.insert(
      problems,
      ("unknown option %s%s, expected one of %s"):format(prefix, key, expected)
    )
  end
end

---@param option agent_ide.Option
---@param value any
---@return any
local function copied(option, value)
  if vim.startswith(option.types[1], "table") and next(value) == nil then
    -- the host gets the options too: an empty table must not become a list on the way
    return vim.empty_dict()
  end
  return vim.deepcopy(value)
end

--- Put a user's table over the values; what does not fit is named and left as it was.
---@param options agent_ide.Option[]
---@param values table
---@param user table
---@param prefix string path to this group, "" or "terminal."
local function merge(options, values, user, prefix)
  for _, option in ipairs(options) do
    local name, value = option.name, user[option.name]
    if value == nil then
      -- not given: what was there stays
    elseif option.options and type(value) == "table" then
      -- an earlier table may have switched the group off
      values[name] = values[name] or defaults(option.options)
      merge(option.options, values[name], value, prefix .. name .. ".")
    elseif option.options and option.or_false and value == false then
      values[name] = false
    elseif option.options or not accepts(option, value) then
      local problem = "option %s%s is %s, expected %s"
      table.insert(problems, problem:format(prefix, name, found(value), M.expected(option)))
    else
      values[name] = copied(option, value)
    end
  end
  name_unknown(options, user, prefix)
end

---@param config agent_ide.Config
local function check_ports(config)
  local claude = config.claude
  if claude.port_min > claude.port_max then
    table.insert(
      problems,
      ("option claude.port_min is %d, expected at most claude.port_max (%d)"):format(
        claude.port_min,
        claude.port_max
      )
    )
    local default = M.defaults().claude
    claude.port_min, claude.port_max = default.port_min, default.port_max
  end
end

--- Take names of claudecode.nvim as well, and say what they are here.
---@param options table
---@return table
local function translated(options)
  local own, notes = require("agent_ide.claudecode").translate(options)
  if #notes > 0 then
    local text = "options of claudecode.nvim are taken: %s (see :help agent_ide-claudecode)"
    require("agent_ide.notify").show(text:format(table.concat(notes, ", ")))
  end
  return own
end

---@return agent_ide.Config a fresh copy
function M.defaults()
  return defaults(schema)
end

--- Merge the options; what is wrong is said once and replaced by its default. Never raises.
---@param opts? agent_ide.SetupOpts
---@return agent_ide.Config
function M.setup(opts)
  problems = {}
  local config = M.defaults()
  local given = { { "vim.g.agent_ide", vim.g.agent_ide }, { "setup()'s argument", opts } }
  for _, user in ipairs(given) do
    local name, options = user[1], user[2]
    if type(options) == "table" then
      merge(schema, config, translated(options), "")
    elseif options ~= nil then
      table.insert(problems, ("%s is %s, expected a table"):format(name, found(options)))
    end
  end
  check_ports(config)
  merged = config
  if #problems > 0 then
    require("agent_ide.notify").show(
      table.concat(problems, "; ") .. " (see :help agent_ide-config)",
      "warn"
    )
  end
  return config
end

---@return agent_ide.Config
function M.get()
  return merged or M.setup()
end

---@return string[] what was wrong with the user's options, one sentence each
function M.problems()
  return problems
end

return M
