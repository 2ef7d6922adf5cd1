--- What the winbars of a review say, in the room they have.
---
--- Owns:     nothing.
--- Not here: which windows have them (`frame.lua`), where the facts are from (`facts.lua`).
local M = {}

--- Text for a winbar: nothing of it is an item or a line break.
---@param text string
---@return string
local function escape(text)
  return (vim.fn.strtrans(text):gsub("%%", "%%%%"))
end

--- A piece of a winbar: the first of its forms that leaves room for the others is taken.
---@class agent_ide.diff.Piece
---@field forms agent_ide.diff.Run[][] longest first; the last may be empty
---@field right? boolean at the right edge

---@class agent_ide.diff.Run
---@field [1] string text
---@field group? string highlight
---@field click? string function of `click.lua`

---@param runs agent_ide.diff.Run[]
---@return integer cells
local function width_of(runs)
  local width = 0
  for _, run in ipairs(runs) do
    width = width + vim.fn.strdisplaywidth(vim.fn.strtrans(run[1]))
  end
  return width
end

---@param runs agent_ide.diff.Run[]
---@param id integer of the review
---@return string
local function render(runs, id)
  local out = {}
  for _, run in ipairs(runs) do
    local text = escape(run[1])
    if run.group then
      text = ("%%#%s#%s%%#AgentIdeBar#"):format(run.group, text)
    end
    if run.click then
      text = ("%%%d@v:lua.require'agent_ide.diff.click'.%s@%s%%X"):format(id, run.click, text)
    end
    table.insert(out, text)
  end
  return table.concat(out)
end

--- Make the pieces fit: each is shortened in turn, `order` says which first.
---@param pieces agent_ide.diff.Piece[]
---@param order integer[] indices of pieces, one for each step to a shorter form
---@param width integer
---@param id integer
---@return string
local function fit(pieces, order, width, id)
  local chosen = vim.tbl_map(function()
    return 1
  end, pieces)
  local function total()
    local cells = 1
    for index, piece in ipairs(pieces) do
      local own = width_of(piece.forms[chosen[index]])
      cells = cells + own + (own > 0 and 2 or 0)
    end
    return cells
  end
  for _, index in ipairs(order) do
    if total() <= width then
      break
    end
    chosen[index] = math.min(chosen[index] + 1, #pieces[index].forms)
  end
  local left, right = {}, {}
  for index, piece in ipairs(pieces) do
    local runs = piece.forms[chosen[index]]
    if #runs > 0 then
      table.insert(piece.right and right or left, render(runs, id))
    end
  end
  return " %<" .. table.concat(left, "  ") .. "%=" .. table.concat(right, "  ") .. " "
end

--- Keys as they are typed.
---@param name string
---@return string? nil: it has none
local function key(name)
  local keys = require("agent_ide.config").get().diff.keys
  local lhs = keys and keys[name]
  if not lhs then
    return nil
  end
  local leader, local_leader = vim.g.mapleader or "\\", vim.g.maplocalleader or "\\"
  lhs = lhs:gsub("<[Ll]eader>", (vim.fn.keytrans(leader):gsub("%%", "%%%%")))
  return (lhs:gsub("<[Ll]ocal[Ll]eader>", (vim.fn.keytrans(local_leader):gsub("%%", "%%%%"))))
end

--- What can be done, from long to short.
---@return agent_ide.diff.Run[][]
local function hints()
  local yes, no = key("accept"), key("reject")
  local hunk_yes, hunk_no = key("accept_hunk"), key("reject_hunk")
  local function verdict(lhs, command, verb)
    local text = lhs and command and lhs .. " or " .. command or lhs or command
    return { text .. " " .. verb, group = "AgentIdeKey", click = verb:gsub("s$", "") }
  end
  local long = {
    verdict(yes, ":w", "accepts"),
    { ", " },
    verdict(no, ":q", "rejects"),
  }
  local forms = { long }
  if hunk_yes or hunk_no then
    local keys = table.concat(
      vim.tbl_filter(function(lhs)
        return lhs ~= ""
      end, { hunk_yes or "", hunk_no or "" }),
      " "
    )
    local longer = vim.list_extend({}, long)
    table.insert(longer, { "; a hunk: " .. keys })
    table.insert(forms, 1, longer)
  end
  table.insert(forms, {
    verdict(yes or ":w", nil, "accepts"),
    { ", " },
    verdict(no or ":q", nil, "rejects"),
  })
  table.insert(forms, {
    { yes or ":w", group = "AgentIdeKey", click = "accept" },
    { " " },
    { no or ":q", group = "AgentIdeKey", click = "reject" },
  })
  table.insert(forms, {})
  return forms
end

--- What the user can do, or what is awaited.
---@param facts agent_ide.diff.Facts
---@return agent_ide.diff.Piece
local function state(facts)
  if facts.state then
    local short = facts.state:match("^[^:(]+")
    return { right = true, forms = { { { facts.state } }, { { short } }, {} } }
  end
  return { right = true, forms = hints() }
end

---@param facts agent_ide.diff.Facts
---@return agent_ide.diff.Piece
local function notes(facts)
  if #facts.notes == 0 then
    return { forms = { {} } }
  end
  local function run(form, count)
    local words = vim.tbl_map(function(note)
      return note[form]
    end, vim.list_slice(facts.notes, 1, count))
    return { { table.concat(words, ", "), group = "AgentIdeWarning" } }
  end
  return { forms = { run(1, #facts.notes), run(2, #facts.notes), run(2, 1), {} } }
end

---@param facts agent_ide.diff.Facts
---@return agent_ide.diff.Piece
local function counts(facts)
  local text = facts.added and ("+%d -%d"):format(facts.added, facts.removed)
  return { forms = text and { { { text } }, {} } or { {} } }
end

---@param facts agent_ide.diff.Facts
---@return agent_ide.diff.Piece
local function turn(facts)
  local text = facts.of > 1 and ("%d/%d"):format(facts.number, facts.of)
  local runs = { { text or "", click = "choose" } }
  return { forms = text and { runs, {} } or { {} } }
end

---@param facts agent_ide.diff.Facts
---@return agent_ide.diff.Piece
local function title(facts)
  local name = vim.fs.basename(facts.path)
  return { forms = { { { facts.agent .. ": " .. name } }, { { name } } } }
end

--- Of the file on disk.
---@param facts agent_ide.diff.Facts
---@param width integer
---@return string
function M.old(facts, width)
  local what = facts.is_new and "new file, not on disk yet" or "on disk"
  local path = vim.fn.fnamemodify(facts.path, ":~:.")
  local basename = vim.fs.basename(path)
  local name = {
    forms = { { { what .. ": " .. path } }, { { what .. ": " .. basename } }, { { basename } } },
  }
  return fit({ name, notes(facts) }, { 2, 1, 2, 1, 2 }, width, facts.id)
end

--- Of the proposal beside it.
---@param facts agent_ide.diff.Facts
---@param width integer
---@return string
function M.new(facts, width)
  local pieces = { title(facts), turn(facts), counts(facts), state(facts) }
  local order = facts.state and { 3, 2, 1, 4, 4 } or { 4, 4, 1, 4, 3, 2, 4 }
  return fit(pieces, order, width, facts.id)
end

--- Of the proposal with no other window.
---@param facts agent_ide.diff.Facts
---@param width integer
---@return string
function M.alone(facts, width)
  local all = vim.deepcopy(facts)
  if facts.is_new then
    table.insert(all.notes, { "new file", "new file" })
  end
  local pieces = { title(all), turn(all), counts(all), notes(all), state(all) }
  local order = facts.state and { 3, 2, 4, 4, 1, 5, 4, 5 } or { 5, 4, 5, 4, 1, 5, 3, 2, 4, 5 }
  return fit(pieces, order, width, facts.id)
end

return M
