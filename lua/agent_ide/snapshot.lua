--- What a folder under git holds at one moment, new files included, as a git tree.
---
--- The repository is not written to: objects and the index lie in the runtime folder.
---
--- Owns:     those folders, one for each repository.
--- Not here: when a snapshot is taken and what is done with two of them (changes.lua).
local M = {}

local uv = vim.uv

--- A new file that is larger is most likely data: it is not read.
local LARGE_BYTES = 2 * 1024 * 1024

--- A repository in which git takes longer has no snapshots.
local DEADLINE_MS = 30000

---@type table<string, { index: string, objects: string }>
local stores = {}

---@param root string
---@return table<string, string>
local function environment(root)
  local store = stores[root]
  if not store then
    local folder = vim.fn.tempname()
    store = { index = folder .. "/index", objects = folder .. "/objects" }
    vim.fn.mkdir(store.objects, "p", tonumber("700", 8))
    stores[root] = store
  end
  return { GIT_INDEX_FILE = store.index, GIT_OBJECT_DIRECTORY = store.objects }
end

--- Run git with the snapshots of a repository. Never blocks.
---@param root string
---@param args string[]
---@param on_done fun(output: string?) nil: it failed
---@param input? string
function M.git(root, args, on_done, input)
  local argv = vim.list_extend({ "git", "-C", root, "-c", "core.quotePath=false" }, args)
  local env = environment(root)
  local own = vim.env.GIT_ALTERNATE_OBJECT_DIRECTORIES
  env.GIT_ALTERNATE_OBJECT_DIRECTORIES = vim.trim(stores[root].alternate or own or "")
  env.GIT_OPTIONAL_LOCKS = "0"
  local opts = { env = env, stdin = input, timeout = DEADLINE_MS }
  local started, err = pcall(
    vim.system,
    argv,
    opts,
    vim.schedule_wrap(function(result)
      if result.code ~= 0 then
        local words = vim.trim(result.stderr or "")
        require("agent_ide.log").info("git %s ended with %d: %s", args[1], result.code, words)
      end
      on_done(result.code == 0 and result.stdout or nil)
    end)
  )
  if not started then
    require("agent_ide.log").info("git cannot be run: %s", err)
    on_done(nil)
  end
end

--- Where the repository keeps its own objects and index.
---@param root string
---@param on_done fun(found: boolean)
local function prepare(root, on_done)
  environment(root)
  if stores[root].alternate then
    return on_done(true)
  end
  local argv = { "git", "-C", root, "rev-parse", "--git-path", "objects", "--git-path", "index" }
  local started = pcall(
    vim.system,
    argv,
    { timeout = DEADLINE_MS },
    vim.schedule_wrap(function(result)
      local objects, index = (result.stdout or ""):match("^(.-)\n(.-)\n")
      if result.code ~= 0 or not objects then
        return on_done(false)
      end
      local function absolute(path)
        return vim.startswith(path, "/") and path or vim.fs.joinpath(root, path)
      end
      stores[root].alternate = absolute(objects)
      -- with the times of the files that git knows already, only changed ones are read
      uv.fs_copyfile(absolute(index), stores[root].index)
      on_done(true)
    end)
  )
  if not started then
    on_done(false)
  end
end

---@param root string
---@param listing string names with NUL after each
---@return string the same without what is large
local function without_large(root, listing)
  local names = vim.split(listing, "\0", { plain = true, trimempty = true })
  return vim
    .iter(names)
    :filter(function(name)
      local stat = uv.fs_lstat(vim.fs.joinpath(root, name))
      return stat ~= nil and stat.type ~= "directory" and stat.size <= LARGE_BYTES
    end)
    :map(function(name)
      return name .. "\0"
    end)
    :join("")
end

--- Take a snapshot.
---@param root string top folder of a repository
---@param on_done fun(tree: string?) nil: there is no git, or it failed
function M.take(root, on_done)
  local function git(args, go_on, input)
    M.git(root, args, function(output)
      if not output then
        return on_done(nil)
      end
      go_on(output)
    end, input)
  end
  prepare(root, function(found)
    if not found then
      return on_done(nil)
    end
    git({ "add", "--update", "." }, function()
      git({ "ls-files", "-z", "--others", "--exclude-standard" }, function(listing)
        local names = without_large(root, listing)
        git({ "update-index", "-z", "--add", "--stdin" }, function()
          git({ "write-tree" }, function(output)
            on_done(vim.trim(output))
          end)
        end, names)
      end)
    end)
  end)
end

return M
