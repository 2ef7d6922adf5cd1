---@meta
--- Classes of the options, for the language server. tests/lua/test_config.py holds them against schema.lua.

---@class (exact) agent_ide.Config
---@field python? string interpreter for the host instead of the plugin's venv
---@field install "auto"|"ask"|"never" what happens when the venv is missing or outdated
---@field install_wheels? string folder of wheels
---@field install_index? string URL of a package index
---@field auto_start boolean start the host after Neovim
---@field log_level "debug"|"info"|"warn"|"error"
---@field track_selection boolean push the selection to connected agents
---@field track_changes boolean remember what a repository holds at each prompt
---@field keymaps boolean|string default key maps, and what they begin with
---@field do_not_share string[] glob patterns of files that are never sent
---@field focus_after_send boolean go to the agent's terminal after sending
---@field terminal agent_ide.TerminalConfig
---@field diff agent_ide.DiffConfig
---@field claude agent_ide.ClaudeConfig
---@field copilot agent_ide.CopilotConfig
---@field gemini agent_ide.CompanionConfig
---@field qwen agent_ide.CompanionConfig

---@class (exact) agent_ide.TerminalConfig
---@field provider "native"|"snacks"|"auto"|"external"|"none"|agent_ide.Provider
---@field external? string|string[]|fun(argv:string[],request:agent_ide.StartRequest):(string|string[])
---@field side "right"|"left"|"top"|"bottom"|"float"
---@field size number share of the editor, 0.05 to 0.95
---@field float_width number
---@field float_height number
---@field border string|string[]
---@field snacks table for snacks.nvim's window
---@field cwd "nvim"|"git"|fun(agent:string,name:string):string
---@field per_tab boolean
---@field auto_insert boolean terminal mode whenever a command goes there
---@field keys false|agent_ide.TerminalKeys

---@class (exact) agent_ide.TerminalKeys
---@field newline string|false
---@field left string|false
---@field down string|false
---@field up string|false
---@field right string|false

---@class (exact) agent_ide.DiffConfig
---@field enabled boolean
---@field disabled_agents string[]
---@field layout agent_ide.diff.Layout
---@field tab boolean in a tab page of its own
---@field focus boolean the proposal may take the cursor
---@field attention "none"|"bell"|"osc9"
---@field keys false|agent_ide.DiffKeys
---@field terminal_keys agent_ide.DiffTerminalKeys

---@class (exact) agent_ide.DiffKeys
---@field accept string|false
---@field reject string|false
---@field accept_hunk string|false
---@field reject_hunk string|false

---@class (exact) agent_ide.DiffTerminalKeys
---@field accept string|false
---@field reject string|false

---@class (exact) agent_ide.ClaudeConfig
---@field enabled boolean
---@field command string|string[]
---@field args string[]
---@field ask_permission boolean
---@field env table<string, string>
---@field port_min integer
---@field port_max integer
---@field models agent_ide.Model[]

---@class (exact) agent_ide.CopilotConfig
---@field enabled boolean
---@field command string|string[]
---@field args string[]
---@field env table<string, string>
---@field trust string[]|fun(folders: string[]): boolean
---@field on_close "reject"|"terminal"
---@field diff_timeout_s? number
---@field max_body_bytes integer

--- Of Gemini CLI, and of Qwen Code.
---@class (exact) agent_ide.CompanionConfig
---@field enabled boolean
---@field command string|string[]
---@field args string[]
---@field ask_permission boolean
---@field env table<string, string>
---@field trust string[]|fun(folders: string[]): boolean
---@field on_close "reject"|"terminal"

---@class (exact) agent_ide.Model
---@field name string shown in the menu
---@field value string argument for --model

--- What a user may give: any part of it.
---@class (exact) agent_ide.SetupOpts
---@field python? string interpreter for the host instead of the plugin's venv
---@field install? "auto"|"ask"|"never" what happens when the venv is missing or outdated
---@field install_wheels? string folder of wheels
---@field install_index? string URL of a package index
---@field auto_start? boolean start the host after Neovim
---@field log_level? "debug"|"info"|"warn"|"error"
---@field track_selection? boolean push the selection to connected agents
---@field track_changes? boolean remember what a repository holds at each prompt
---@field keymaps? boolean|string default key maps, and what they begin with
---@field do_not_share? string[] glob patterns of files that are never sent
---@field focus_after_send? boolean go to the agent's terminal after sending
---@field terminal? agent_ide.TerminalOpts
---@field diff? agent_ide.DiffOpts
---@field claude? agent_ide.ClaudeOpts
---@field copilot? agent_ide.CopilotOpts
---@field gemini? agent_ide.CompanionOpts
---@field qwen? agent_ide.CompanionOpts

---@class (exact) agent_ide.TerminalOpts
---@field provider? "native"|"snacks"|"auto"|"external"|"none"|agent_ide.Provider
---@field external? string|string[]|fun(argv:string[],request:agent_ide.StartRequest):(string|string[])
---@field side? "right"|"left"|"top"|"bottom"|"float"
---@field size? number share of the editor, 0.05 to 0.95
---@field float_width? number
---@field float_height? number
---@field border? string|string[]
---@field snacks? table for snacks.nvim's window
---@field cwd? "nvim"|"git"|fun(agent:string,name:string):string
---@field per_tab? boolean
---@field auto_insert? boolean terminal mode whenever a command goes there
---@field keys? false|agent_ide.TerminalKeysOpts

---@class (exact) agent_ide.TerminalKeysOpts
---@field newline? string|false
---@field left? string|false
---@field down? string|false
---@field up? string|false
---@field right? string|false

---@class (exact) agent_ide.DiffOpts
---@field enabled? boolean
---@field disabled_agents? string[]
---@field layout? agent_ide.diff.Layout
---@field tab? boolean in a tab page of its own
---@field focus? boolean the proposal may take the cursor
---@field attention? "none"|"bell"|"osc9"
---@field keys? false|agent_ide.DiffKeysOpts
---@field terminal_keys? agent_ide.DiffTerminalKeysOpts

---@class (exact) agent_ide.DiffKeysOpts
---@field accept? string|false
---@field reject? string|false
---@field accept_hunk? string|false
---@field reject_hunk? string|false

---@class (exact) agent_ide.DiffTerminalKeysOpts
---@field accept? string|false
---@field reject? string|false

---@class (exact) agent_ide.ClaudeOpts
---@field enabled? boolean
---@field command? string|string[]
---@field args? string[]
---@field ask_permission? boolean
---@field env? table<string, string>
---@field port_min? integer
---@field port_max? integer
---@field models? agent_ide.Model[]

---@class (exact) agent_ide.CopilotOpts
---@field enabled? boolean
---@field command? string|string[]
---@field args? string[]
---@field env? table<string, string>
---@field trust? string[]|fun(folders: string[]): boolean
---@field on_close? "reject"|"terminal"
---@field diff_timeout_s? number
---@field max_body_bytes? integer

---@class (exact) agent_ide.CompanionOpts
---@field enabled? boolean
---@field command? string|string[]
---@field args? string[]
---@field ask_permission? boolean
---@field env? table<string, string>
---@field trust? string[]|fun(folders: string[]): boolean
---@field on_close? "reject"|"terminal"
