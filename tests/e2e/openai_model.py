"""A scripted Chat Completions API on loopback: model.py's script in the other dialect.

Owns:     how turns look as streamed chunks, where requests name tools and hold results.
Not here: the server and the script (model.py), the CLI that asks (copilot.py).
Source:   the requests of Copilot CLI 1.0.102; only POST /v1/chat/completions matters to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.e2e.model import Block, Json, Model, texts

__all__ = ["OpenAiModel"]

_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


class OpenAiModel(Model):
    """The API server; its turns are made with `say` and `use` as everywhere."""

    path = "/v1/chat/completions"
    main_tools = frozenset({"edit", "create", "bash"})

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def last_results(self) -> str:
        results = (message for message in self._messages() if message["role"] == "tool")
        return "\n".join(texts(results))

    def tools(self) -> set[object]:
        """Names of the tools that the newest request offers."""
        return {self._tool_name(tool) for tool in self.requests[-1]["tools"]}

    def _tool_name(self, tool: Json) -> object:
        return tool.get("function", tool).get("name")

    def _events(self, name: str, turn: list[Block]) -> Iterator[bytes]:
        chunk: Json = {
            "id": f"chatcmpl-{next(self._ids):06d}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": name,
        }
        said = "\n".join(block["text"] for block in turn if block["type"] == "text")
        uses = [block for block in turn if block["type"] == "tool_use"]
        calls = [self._call(index, block) for index, block in enumerate(uses)]
        delta: Json = {"role": "assistant", "content": said}
        yield _event(chunk, delta | ({"tool_calls": calls} if calls else {}), None)
        yield _event(chunk, {}, "tool_calls" if calls else "stop")
        yield _data({**chunk, "choices": [], "usage": _USAGE})
        yield b"data: [DONE]\n\n"

    def _call(self, index: int, block: Block) -> Json:
        function = {"name": block["name"], "arguments": json.dumps(block["input"])}
        number = f"call_{next(self._ids):06d}"
        return {"index": index, "id": number, "type": "function", "function": function}


def _event(chunk: Json, delta: Json, reason: str | None) -> bytes:
    return _data({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def _data(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
