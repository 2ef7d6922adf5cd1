--- The configuration of scripts/nvim: this checkout on 'runtimepath', its venv for the host, or the
--- interpreter that $AGENT_IDE_DEV_PYTHON names.
---
--- Neovim runs it after every --cmd and before plugins load, so options given by
--- `--cmd "lua vim.g.agent_ide = {...}"` are there already and win over ours.
local source = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")
local root = vim.fs.dirname(vim.fs.dirname(source))
local python = vim.env.AGENT_IDE_DEV_PYTHON or (root .. "/.venv/bin/python")

vim.opt.runtimepath:prepend(root)
if vim.uv.fs_stat(python) then
  -- else a fresh XDG_DATA_HOME would make the plugin install its own venv
  vim.g.agent_ide = vim.tbl_extend("keep", vim.g.agent_ide or {}, { python = python })
end

-- with --clean Neovim gives :UpdateRemotePlugins no file to write to; the user's own is not for us
vim.api.nvim_create_autocmd("VimEnter", {
  once = true,
  callback = function()
    vim.g.loaded_remote_plugins = vim.fn.tempname()
  end,
})
