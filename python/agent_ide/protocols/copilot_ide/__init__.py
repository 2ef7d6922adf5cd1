"""GitHub Copilot CLI's /ide protocol: MCP Streamable HTTP on a unix socket or named pipe."""
