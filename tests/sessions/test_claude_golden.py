"""What the real CLI sent, fed to our session and tools: every answer is the recorded one.

The recordings' IDE was another server: its tool list and its diagnostics are its own, so these are
compared by shape. Everything else must be equal to what the CLI was seen to accept.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_ide.editor.state import EditorState
from agent_ide.errors import RpcError
from agent_ide.model import ClientId
from agent_ide.notebook.kernel import Kernels
from agent_ide.protocols.claude_ide.session import ClaudeSession
from agent_ide.protocols.claude_ide.tools import TOOLS, ClaudeTools
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from agent_ide.wire.mcp import ToolResult
from tests.support.eventually import eventually
from tests.support.fake_editor import FakeEditor
from tests.support.golden import Json, Line, golden_names, read_golden

PROJECT = "/home/user/project"


class Desk:
    """Our side of all connections of one transcript."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.editor = FakeEditor()
        self.tasks = Tasks()
        self.reviews = Reviews(self.editor, self.tasks, lambda: None)
        self.tools = ClaudeTools(
            self.editor, EditorState(), self.reviews, Kernels(), track_selection=True
        )
        self.sessions: dict[int, ClaudeSession] = {}
        self.answers: dict[tuple[int, Any], Json] = {}
        self.sent: list[Json] = []

    def connect(self, conn: int) -> None:
        self.sessions[conn] = ClaudeSession(ClientId(f"claude-{conn}"), TOOLS, "0")

    def disconnect(self, conn: int) -> None:
        session = self.sessions.pop(conn, None)
        if session is not None:
            self.reviews.client_gone(session.client)

    def receive(self, line: Line) -> None:
        session = self.sessions[line.conn]
        received = session.receive(
            session.read(line.text.replace(PROJECT, str(self.folder)).encode())
        )
        self.sent += [json.loads(message) for message in received.requests]
        self._keep(line.conn, received.exchange.ready())
        for call in received.exchange.calls:
            self.tasks.spawn(self._run(line.conn, session, call), call.spec.name)

    async def _run(self, conn: int, session: ClaudeSession, call: Any) -> None:
        try:
            answer = self.tools.run(session.client, call)
            result = answer if isinstance(answer, ToolResult) else await answer
            self._keep(conn, call.exchange.answer(call, result))
        except RpcError as error:
            self._keep(conn, call.exchange.fail(call, error))

    def _keep(self, conn: int, reply: bytes | None) -> None:
        if reply is not None:
            message = json.loads(reply)
            self.answers[conn, message["id"]] = message

    async def decide(self, line: Line) -> None:
        """Do what the user of the recording did, as its answer to openDiff tells."""
        (review,) = self.reviews.open()
        match result_texts(line.msg):
            case ["FILE_SAVED", text]:
                await self.reviews.accept(review, text)
            case ["DIFF_REJECTED", *_]:
                self.reviews.reject(review)

    async def answer(self, line: Line) -> Json:
        assert line.msg is not None
        key = (line.conn, line.msg["id"])
        await eventually(lambda: key in self.answers)
        text = json.dumps(self.answers[key], ensure_ascii=False)
        answer: Json = json.loads(text.replace(str(self.folder), PROJECT))
        return answer


def result_texts(message: Json | None) -> list[str]:
    if message is None or "content" not in message.get("result", {}):
        return []
    return [block["text"] for block in message["result"]["content"]]


def requests_of(lines: list[Line]) -> dict[tuple[int, Any], Line]:
    return {
        (line.conn, line.msg["id"]): line
        for line in lines
        if line.from_cli and line.kind == "message" and line.msg and "method" in line.msg
        if "id" in line.msg
    }


def assert_same_answer(request: Line, recorded: Json, ours: Json) -> None:
    assert request.msg is not None
    match request.msg["method"], request.tool:
        case "initialize", _:
            assert ours["result"]["protocolVersion"] == recorded["result"]["protocolVersion"]
            assert ours["result"]["capabilities"] == recorded["result"]["capabilities"]
            assert set(ours["result"]["serverInfo"]) >= {"name", "version"}
        case "tools/list", _:
            names = [tool["name"] for tool in ours["result"]["tools"]]
            assert names == [tool["name"] for tool in recorded["result"]["tools"]]
        case _, "getDiagnostics":
            (text,) = result_texts(ours)
            assert isinstance(json.loads(text), list)
        case _:
            assert ours == recorded, request.where


@pytest.mark.parametrize("name", golden_names("claude"))
async def test_transcript(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    lines = read_golden("claude", name)
    requests = requests_of(lines)
    desk = Desk(tmp_path)
    compared = 0
    for line in lines:
        if line.kind == "upgrade" and line.from_cli:
            desk.connect(line.conn)
        elif line.kind in ("close", "drop"):
            desk.disconnect(line.conn)
        elif line.kind == "message" and line.from_cli:
            desk.receive(line)
            if line.tool == "openDiff":
                await eventually(lambda: desk.editor.views)
        elif line.kind == "message" and line.msg and (line.conn, line.msg.get("id")) in requests:
            request = requests[line.conn, line.msg["id"]]
            late_or_refused = "error" in line.msg or name == "terminal_yes"
            if request.tool == "openDiff" and late_or_refused:
                continue  # what another IDE did there is not what ours would do
            if request.tool == "openDiff":
                await desk.decide(line)
            assert_same_answer(request, line.msg, await desk.answer(line))
            compared += 1
    assert compared >= 2
    # whoever was in flight when its client went has been settled, and no view is left
    pending = [review for review in desk.reviews.open() if review.undecided]
    await eventually(lambda: not desk.editor.views)
    assert pending == []
    await desk.tasks.close()


async def test_closing_in_the_terminal_answers_open_diff(tmp_path: Path) -> None:
    """close_tab while openDiff is pending: the question is answered, and never with a yes."""
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    desk = Desk(tmp_path)
    desk.connect(1)
    lines = [line for line in read_golden("claude", "terminal_esc") if line.from_cli]
    for line in lines:
        if line.kind == "message":
            desk.receive(line)
            if line.tool == "openDiff":
                await eventually(lambda: desk.editor.views)
    await eventually(lambda: (1, 3) in desk.answers)
    assert result_texts(desk.answers[1, 3])[0] == "DIFF_REJECTED"
    await desk.tasks.close()


async def test_roots_are_asked_for_and_kept(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.connect(1)
    for line in read_golden("claude", "handshake"):
        if line.from_cli and line.kind == "message":
            desk.receive(line)
    (request,) = desk.sent
    assert request["method"] == "roots/list"
    session = desk.sessions[1]
    assert (session.identity.name, session.identity.pid) == ("claude-code", 20001)
    assert session.identity.cwd is None
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [{"uri": "file:///p q"}]}}
    session.receive(session.read(json.dumps(answer).encode()))
    assert session.identity.cwd == "/p q"


@pytest.mark.parametrize(
    "message",
    [
        {"method": "ide_connected", "params": {"pid": "x"}},
        {"method": "ide_connected"},
        {"id": "agent_ide-roots", "result": {"roots": 1}},
        {"id": "agent_ide-roots", "result": {"roots": []}},
        {"id": "agent_ide-roots", "error": {"code": 1, "message": "no"}},
        {"id": "unknown", "result": {}},
        {"method": "whatever"},
    ],
)
def test_odd_messages_are_ignored(message: Json) -> None:
    session = ClaudeSession(ClientId("claude-1"), TOOLS, "0")
    received = session.receive(session.read(json.dumps({"jsonrpc": "2.0", **message}).encode()))
    assert received.exchange.ready() is None
    assert (session.identity.pid, session.identity.cwd) == (None, None)


def test_asyncio_is_not_needed_by_sessions() -> None:
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    session = ClaudeSession(ClientId("claude-1"), TOOLS, "0")
    assert session.receive(
        session.read(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    ).exchange.ready()
