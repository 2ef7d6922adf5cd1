"""The IDE companion protocol of Gemini CLI and Qwen Code: MCP Streamable HTTP on loopback."""
