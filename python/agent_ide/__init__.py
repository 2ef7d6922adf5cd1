"""agent_ide: every coding agent's command line sees Neovim as its IDE."""
