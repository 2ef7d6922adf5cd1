--- How to launch Claude Code.
---
--- Owns:     nothing; it is data.
--- Not here: anything of the wire (python/agent_ide/protocols/claude_ide).
--- Source:   `claude --help` of 2.1.332 (mode `manual`) and 2.1.197 (mode `default`).

--- The modes in which Claude Code asks before an edit, newest name first. In the other modes it
--- writes without openDiff, so no diff would ever be seen.
local ASKING = { "manual", "default" }

---@type agent_ide.Agent
return {
  name = "claude",
  title = "Claude Code",
  prefix = "ClaudeCode",
  install_hint = "install it with `npm install -g @anthropic-ai/claude-code`",
  ask_again = "press Shift-Tab in its terminal until it asks again",
  mode_flags = { "--permission-mode", "--dangerously-skip-permissions" },

  asking_mode = function(help_text)
    local _, from = help_text:find("%-%-permission%-mode <mode>")
    if not from then
      return {}
    end
    -- the option's own text ends where the next option begins on a line of its own
    local text = help_text:sub(from, (help_text:find("\n%s+%-", from)))
    for _, mode in ipairs(ASKING) do
      if text:find('"' .. mode .. '"', 1, true) then
        return { "--permission-mode", mode }
      end
    end
    return {}
  end,

  -- seen with 2.1.332: "✳ Claude Code" while it waits for the user, "◐ Claude Code" while it works
  is_working = function(title)
    return title:find("^[\194-\244][\128-\191]* ") ~= nil and not vim.startswith(title, "✳")
  end,

  model_args = function(value)
    return { "--model", value }
  end,

  model_prompt = function(value)
    return "/model " .. value
  end,

  findings = function()
    return require("agent_ide.health.claude").findings()
  end,

  lock_folders = function()
    return require("agent_ide.health.claude").lock_folders()
  end,
}
