"""A scripted Gemini API on loopback: model.py's script in its dialect.

Owns:     how turns look as streamed chunks, where requests name tools and hold results.
Not here: the server and the script (model.py), the CLI that asks (companion.py).
Source:   the requests of Gemini CLI 0.61.0; only streamGenerateContent matters to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.e2e.model import Block, Json, Model

__all__ = ["GeminiModel"]

_USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}


class GeminiModel(Model):
    """The API server; its turns are made with `say` and `use` as everywhere."""

    main_tools = frozenset({"write_file", "replace", "run_shell_command"})

    def last_results(self) -> str:
        parts = (part for part in self._parts() if "functionResponse" in part)
        return "\n".join(json.dumps(part["functionResponse"]["response"]) for part in parts)

    def last_told(self) -> str:
        return "\n".join(part["text"] for part in self._parts() if "text" in part)

    def _parts(self) -> Iterator[Json]:
        for content in self.requests[-1]["contents"] if self.requests else []:
            yield from content["parts"]

    def _reply(self, path: str, body: Json) -> tuple[str, bytes] | None:
        if path.endswith(":streamGenerateContent"):
            return "text/event-stream", self._answer(body)
        if path.endswith(":countTokens"):
            return "application/json", b'{"totalTokens": 5}'
        return None

    def _offered(self, body: Json) -> set[object]:
        tools = body.get("tools", [])
        return {item["name"] for tool in tools for item in tool.get("functionDeclarations", [])}

    def _events(self, name: str, turn: list[Block]) -> Iterator[bytes]:
        parts = [
            {"text": block["text"]}
            if block["type"] == "text"
            else {"functionCall": {"name": block["name"], "args": block["input"]}}
            for block in turn
        ]
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        chunk = {"candidates": [candidate], "usageMetadata": _USAGE}
        yield b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n"
