"""A scripted Messages API on loopback, in the place of the model.

Owns:     the HTTP server, the turns still to give, the requests seen.
Not here: the CLI that asks (claude.py).
Source:   the requests of Claude Code 2.1.332; only POST /v1/messages matters to it.

    with Model() as model:
        model.plan([use("Edit", file_path=..., old_string="a", new_string="b")], [say("Done.")])
        ...
        assert "modified" in model.last_results()
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

from tests.support.neovim import LIMIT_S, wait_until

__all__ = ["Block", "Json", "Model", "say", "texts", "use"]

Json: TypeAlias = dict[str, Any]
Block: TypeAlias = Json
"""A content block of an answer: text, or the use of a tool (its id is given when it is sent)."""

_USAGE = {
    "input_tokens": 10,
    "output_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def use(tool: str, /, **arguments: Any) -> Block:
    return {"type": "tool_use", "name": tool, "input": arguments}


class Model:
    """The API server, in threads of its own.

    requests: bodies of the main loop's requests, oldest first.
    """

    path = "/v1/messages"

    main_tools = frozenset({"Edit", "Write", "Bash"})
    """The main loop's requests offer these; side requests (titles, probes) use up no turn."""

    def __init__(self) -> None:
        self.requests: list[Json] = []
        self._turns: list[list[Block]] = []
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        model = self

        class Handler(_Handler):
            def answer(self, path: str, body: Json) -> tuple[str, bytes] | None:
                return model._reply(path, body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # a CLI keeps its connection open: its thread must not hold up the end
        self._server.daemon_threads = True
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    # -- the script ------------------------------------------------------------------------

    def plan(self, *turns: list[Block]) -> None:
        """Replace what is left of the script: one list of blocks for each request."""
        with self._lock:
            self._turns = [list(turn) for turn in turns]

    # -- what it was told ------------------------------------------------------------------

    def wait_requests(self, count: int, limit_s: float = 4 * LIMIT_S) -> list[Json]:
        """Wait until the main loop has asked `count` times in all; all its requests."""
        wait_until(lambda: len(self.requests) >= count, f"request {count} to the model", limit_s)
        return self.requests

    def wait_spent(self, limit_s: float = 4 * LIMIT_S) -> None:
        """Wait until every turn of the script has been asked for."""
        wait_until(lambda: not self._turns, "the end of the script", limit_s)

    def last_results(self) -> str:
        """All tool results of the newest request, as text."""
        return "\n".join(texts(self._blocks("tool_result")))

    def last_told(self) -> str:
        """All that the newest request says to the model in messages, as text."""
        return "\n".join(texts(self._messages()))

    def _messages(self) -> list[Json]:
        return self.requests[-1]["messages"] if self.requests else []

    def _blocks(self, kind: str) -> Iterator[Json]:
        for message in self._messages():
            if isinstance(message["content"], list):
                yield from (block for block in message["content"] if block["type"] == kind)

    # -- answers ---------------------------------------------------------------------------

    def _reply(self, path: str, body: Json) -> tuple[str, bytes] | None:
        """Kind and text of the answer; None: there is nothing at that path."""
        # The whole stream in one piece: a CLI does not care how its events are cut.
        return ("text/event-stream", self._answer(body)) if path == self.path else None

    def _answer(self, body: Json) -> bytes:
        offered = self._offered(body)
        with self._lock:
            if not offered & self.main_tools:
                turn = [say("ok")]
            else:
                self.requests.append(body)
                turn = self._turns.pop(0) if self._turns else [say("The script has ended.")]
        return b"".join(self._events(str(body.get("model", "model")), turn))

    def _offered(self, body: Json) -> set[object]:
        """Names of the tools that a request offers."""
        return {self._tool_name(tool) for tool in body.get("tools", [])}

    def _tool_name(self, tool: Json) -> object:
        return tool.get("name")

    def _events(self, name: str, turn: list[Block]) -> Iterator[bytes]:
        blocks = [self._with_id(block) for block in turn]
        used = any(block["type"] == "tool_use" for block in blocks)
        message: Json = {
            "id": f"msg_{next(self._ids):06d}",
            "type": "message",
            "role": "assistant",
            "model": name,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _USAGE,
        }
        yield _event("message_start", message=message)
        for index, block in enumerate(blocks):
            empty, delta = _parts(block)
            yield _event("content_block_start", index=index, content_block=empty)
            yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        reason = "tool_use" if used else "end_turn"
        stop = {"stop_reason": reason, "stop_sequence": None}
        yield _event("message_delta", delta=stop, usage={"output_tokens": 10})
        yield _event("message_stop")

    def _with_id(self, block: Block) -> Block:
        if block["type"] != "tool_use":
            return block
        return {**block, "id": f"toolu_{next(self._ids):06d}"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, path: str, body: Json) -> tuple[str, bytes] | None:
        raise NotImplementedError

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        answer = self.answer(self.path.split("?")[0], json.loads(raw or b"{}"))
        if answer is None:
            self._send(404, "application/json", b"{}")
        else:
            self._send(200, *answer)

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", b"")

    do_GET = do_HEAD

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are kept, not printed."""


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _parts(block: Block) -> tuple[Json, Json]:
    """A block as its empty start and its one delta."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return {**block, "input": {}}, delta


def texts(value: object) -> Iterator[str]:
    """Every text in blocks and messages, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts(value.get("text", value.get("content")))
    elif value is not None:
        for item in value if isinstance(value, (list, Iterator)) else ():
            yield from texts(item)
