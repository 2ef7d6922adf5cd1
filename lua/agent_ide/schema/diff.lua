--- The options of reviews.
---
--- Owns:     nothing; it is data, a part of schema.lua.

---@param name string
---@param default string
---@param description string
---@return agent_ide.Option
local function key(name, default, description)
  return {
    name = name,
    types = { "string", "false" },
    default = default,
    description = description,
  }
end

---@type agent_ide.Option
return {
  name = "diff",
  description = "How an edit that an agent proposes is shown.",
  options = {
    {
      name = "enabled",
      types = { "boolean" },
      default = true,
      description = "Show the edits that agents propose. Otherwise they ask in their own terminal.",
    },
    {
      name = "disabled_agents",
      types = { "string[]" },
      default = {},
      description = "Agents whose edits are not shown here, such as `copilot`: they ask in their own "
        .. "terminal.",
    },
    {
      name = "layout",
      types = { "string" },
      choices = { "vertical", "horizontal", "inline" },
      default = "vertical",
      description = "Old text and proposal in two windows, side by side or one above the other; or in "
        .. "one, with the removed lines in between. |:AgentIde-layout| changes it.",
    },
    {
      name = "tab",
      types = { "boolean" },
      default = false,
      description = "Show it in a tab page of its own.",
    },
    {
      name = "focus",
      types = { "boolean" },
      default = true,
      description = "The proposal gets the cursor when it opens while you are in Normal mode in a "
        .. "file's window. From an agent's terminal it never does; from any other mode it waits "
        .. "until you are back in Normal mode.",
    },
    {
      name = "attention",
      types = { "string" },
      choices = { "none", "bell", "osc9" },
      default = "none",
      description = "What calls you, besides a message, when a diff waits for Normal mode or opens in "
        .. "another tab page: the terminal's bell, or a notification by its OSC 9 sequence.",
    },
    {
      name = "keys",
      or_false = true,
      description = "Keys of a diff's buffers while it awaits your verdict.",
      options = {
        key("accept", "<localleader>y", "Accept the proposal as it stands in the buffer."),
        key("reject", "<localleader>n", "Reject the proposal."),
        key(
          "accept_hunk",
          "<localleader>hy",
          "Mark the hunk under the cursor as seen and go to the next one."
        ),
        key(
          "reject_hunk",
          "<localleader>hn",
          "Put the old text of the hunk under the cursor back in; undo takes that back."
        ),
      },
    },
    {
      name = "terminal_keys",
      description = "Keys of an agent's terminal, in terminal mode, while a diff of that agent awaits "
        .. "your verdict.",
      options = {
        {
          name = "accept",
          types = { "string", "false" },
          default = false,
          description = "Accept the diff that is shown.",
        },
        {
          name = "reject",
          types = { "string", "false" },
          default = false,
          description = "Reject the diff that is shown.",
        },
      },
    },
  },
}
