-- For luacheck (Debian's lua-check). StyLua keeps code within 100 columns; strings and comments are its
-- authors' own.
std = "luajit"
globals = { "vim" }
max_line_length = 120
exclude_files = { ".venv", ".testenv" }
ignore = {
  "212", -- unused arguments: callbacks have the shape their caller wants
  "542", -- an empty branch says with its comment why nothing happens
}
