"""Claude Code's IDE protocol: MCP over a WebSocket, found by a lock file."""
