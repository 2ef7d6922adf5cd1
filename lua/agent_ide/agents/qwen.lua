--- How to launch Qwen Code.
---
--- Owns:     nothing; it is data.
--- Not here: what it has in common with Gemini CLI (companion.lua).

return require("agent_ide.agents.companion").new({
  name = "qwen",
  title = "Qwen Code",
  prefix = "QwenCode",
  package = "@qwen-code/qwen-code",
  settings = function(env)
    local folder = env.QWEN_HOME or vim.fs.joinpath(env.HOME or "~", ".qwen")
    return vim.fs.joinpath(folder, "settings.json")
  end,
})
