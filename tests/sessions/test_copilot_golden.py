"""What the real CLI sent, fed to our sessions and tools: every answer is the recorded one.

The recordings' IDE was a mock: its tool list, its words for people and its server's title are its
own, so these are compared by shape. Every other field must be equal to what the CLI took.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_ide.editor.state import EditorState
from agent_ide.errors import RpcError
from agent_ide.model import ClientId, Diagnostic, Position, Range, Selection, Severity
from agent_ide.protocols.copilot_ide import messages
from agent_ide.protocols.copilot_ide.session import CopilotSession, read_opening
from agent_ide.protocols.copilot_ide.tools import TOOLS, CopilotTools, DiffPolicy
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from agent_ide.wire.mcp import ToolResult
from tests.support.eventually import eventually
from tests.support.fake_editor import FakeEditor
from tests.support.golden import Json, Line, golden_names, read_golden

PROJECT = "/home/user/project"
NAMES = [name for name in golden_names("copilot") if name not in ("acp_turn", "unauthorized")]


class Desk:
    """Our side of all sessions of one transcript."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.editor = FakeEditor()
        self.tasks = Tasks()
        self.state = EditorState()
        self.reviews = Reviews(self.editor, self.tasks, lambda: None)
        self.tools = CopilotTools(
            self.editor, self.state, self.reviews, DiffPolicy(None, "rejects"), {}, True
        )
        self.sessions: dict[str, CopilotSession] = {}
        self.answers: dict[int, Json] = {}
        self.calls: dict[int, asyncio.Task[None]] = {}
        self.begun = 0

    def receive(self, line: Line) -> None:
        assert line.req is not None
        assert line.msg is not None
        body = line.text.replace(PROJECT, str(self.folder)).encode()
        session = self.session_of(line, body)
        if isinstance(session, RpcError):
            self.answers[line.req] = {"id": line.msg["id"], "error": {"code": session.code}}
            return
        exchange = session.mcp.receive(session.mcp.read(body))
        self._keep(line.req, exchange.ready())
        for call in exchange.calls:
            task = self.tasks.spawn(self._run(line.req, session, call), call.spec.name)
            self.calls[line.req] = task
        for call in exchange.cancelled:
            assert call.spec.name == "get_selection", "the only one that was left unanswered"

    def session_of(self, line: Line, body: bytes) -> CopilotSession | RpcError:
        """As the server finds it: the recorded session ids are the CLI's own."""
        session_id = line.header("mcp-session-id")
        if session_id is not None:
            return self.sessions[session_id]
        opening = read_opening(dict(line.headers), body)
        if isinstance(opening, RpcError):
            return opening
        assert opening.cli_session is not None
        self.end(opening.cli_session)
        self.begun += 1
        session = CopilotSession(ClientId(f"copilot-{self.begun}"), opening, TOOLS)
        self.sessions[opening.cli_session] = session
        return session

    def end(self, session_id: str) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            self.reviews.client_gone(session.client)

    async def _run(self, req: int, session: CopilotSession, call: Any) -> None:
        answer = self.tools.run(session, call)
        result = answer if isinstance(answer, ToolResult) else await answer
        self._keep(req, call.exchange.answer(call, result))

    def _keep(self, req: int, reply: bytes | None) -> None:
        if reply is not None:
            self.answers[req] = json.loads(reply)

    async def decide(self, recorded: Json) -> None:
        """Do what the user of the recording did, as its answer to open_diff tells."""
        match content(recorded):
            case {"trigger": "accepted_via_button"}:
                (review,) = self.reviews.open()
                await self.reviews.accept(review, review.proposal.text)
            case {"trigger": "rejected_via_button"}:
                (review,) = self.reviews.open()
                self.reviews.reject(review)

    async def answer(self, req: int) -> Json:
        await eventually(lambda: req in self.answers)
        text = json.dumps(self.answers[req], ensure_ascii=False)
        answer: Json = json.loads(text.replace(str(self.folder), PROJECT))
        return answer


def message_of(line: Line) -> Json | None:
    """The JSON-RPC message in a recorded answer, as event or bare."""
    if not line.body or "{" not in line.body:
        return None
    message: Json = json.loads(line.body.removeprefix("event: message\ndata: "))
    return message


def content(message: Json) -> Any:
    (block,) = message["result"]["content"]
    return json.loads(block["text"])


def assert_same_answer(request: Line, recorded: Json, ours: Json) -> None:
    assert request.msg is not None
    assert ours["id"] == recorded["id"], request.where
    match request.msg["method"], request.tool:
        case "server/discover", _:
            assert ours["error"]["code"] == recorded["error"]["code"]
        case "initialize", _:
            assert {**recorded["result"], "serverInfo": ours["result"]["serverInfo"]} == ours[
                "result"
            ]
            assert ours["result"]["serverInfo"] == {
                "name": "vscode-copilot-cli",
                "version": "0.0.1",
                "title": "VS Code Copilot CLI",
            }
        case "tools/list", _:
            names = [tool["name"] for tool in ours["result"]["tools"]]
            recorded_names = [tool["name"] for tool in recorded["result"]["tools"]]
            assert names == [name for name in recorded_names if name != "extra_tool"]
        case _, "open_diff" | "close_diff":
            words = (content(ours).pop("message"), content(recorded).pop("message"))
            assert all(isinstance(word, str) for word in words)
            wanted = {**content(recorded), "message": content(ours)["message"]}
            assert content(ours) == wanted, request.where
        case _, "get_selection" | "get_diagnostics":
            assert_has_fields(content(recorded), content(ours))
        case _:
            assert content(ours) == content(recorded), request.where


def assert_has_fields(recorded: Any, ours: Any) -> None:
    """The mock knew other values; ours has every field that the CLI was seen to take."""
    if isinstance(recorded, dict):
        for key, value in recorded.items():
            assert_has_fields(value, ours[key])
    elif isinstance(recorded, list):
        for value in recorded:
            assert_has_fields(value, ours[0])
    else:
        assert type(ours) is type(recorded)


@pytest.mark.parametrize("name", NAMES)
async def test_transcript(name: str, tmp_path: Path) -> None:
    lines = read_golden("copilot", name)
    requests = {
        line.req: line
        for line in lines
        if line.from_cli and line.kind == "http" and line.method == "POST"
    }
    desk = Desk(tmp_path)
    desk.state.select(Selection(f"{tmp_path}/a.py", Range(Position(1, 0), Position(1, 6)), "y"))
    span = Range(Position(0, 0), Position(0, 2))
    desk.state.diagnose(f"{tmp_path}/a.py", [Diagnostic("bad", Severity.ERROR, span, "lint", "E")])
    compared = 0
    for line in lines:
        if line.kind == "http" and line.from_cli and line.method == "DELETE":
            desk.end(line.header("mcp-session-id") or "")
        elif line.kind == "close" and line.req in desk.calls:
            desk.calls[line.req].cancel()
        elif line.kind == "http" and line.from_cli and line.method == "POST":
            desk.receive(line)
            if line.tool == "open_diff":
                tab_name = line.msg["params"]["arguments"]["tab_name"] if line.msg else ""
                await eventually(lambda name=tab_name: desk.reviews.find("copilot", name))
        elif line.kind == "http" and line.req in requests:
            recorded, request = message_of(line), requests[line.req]
            if recorded is None:
                assert line.status == 202
                assert line.req not in desk.answers
                continue
            if request.tool == "open_diff":
                await desk.decide(recorded)
            assert_same_answer(request, recorded, await desk.answer(line.req))
            compared += 1
    assert compared >= 3
    if name == "two_clis":
        # it ends with a diff of each
        clients = {review.proposal.client for review in desk.reviews.open()}
        assert len(clients) == 2
        for session_id in list(desk.sessions):
            desk.end(session_id)
    # whoever was in flight when its CLI went has been settled, and no view is left
    await eventually(lambda: not any(item.undecided for item in desk.reviews.open()))
    await desk.tasks.close()


def test_refused_ones_are_let_alone() -> None:
    """401 on server/discover ends the attempt: there is nothing to answer."""
    lines = [line for line in read_golden("copilot", "unauthorized") if line.kind == "http"]
    assert {line.status for line in lines if not line.from_cli} == {401}
    methods = {line.msg["method"] for line in lines if line.from_cli and line.msg}
    assert methods == {"server/discover"}


def test_who_opens() -> None:
    line = read_golden("copilot", "startup")[2]
    assert line.msg is not None
    assert line.msg["method"] == "initialize"
    opening = read_opening(dict(line.headers), line.text.encode())
    assert not isinstance(opening, RpcError)
    assert (opening.cli_session, opening.pid) == ("00000001-0000-4000-8000-000000000001", 20001)


@pytest.mark.parametrize("pid", ["", "-1", "x", "1e3", "12345678901", "٣"])
def test_odd_pids_are_nobodys(pid: str) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    opening = read_opening({"X-Copilot-PID": pid}, body)
    assert not isinstance(opening, RpcError)
    assert (opening.cli_session, opening.pid) == (None, None)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600),
        (b'{"jsonrpc":"2.0","method":"initialize"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32601),
    ],
)
def test_what_opens_nothing(body: bytes, code: int) -> None:
    refused = read_opening({}, body)
    assert isinstance(refused, RpcError)
    assert refused.code == code


def events(method: str) -> list[Json]:
    lines = [line for name in NAMES for line in read_golden("copilot", name)]
    found = [line.msg for line in lines if line.kind == "sse" and line.msg]
    return [message for message in found if message["method"] == method]


def span_of(value: Json) -> Range:
    ends = [Position(value[end]["line"], value[end]["character"]) for end in ("start", "end")]
    return Range(*ends)


def test_pushed_selections() -> None:
    recorded = events("selection_changed")
    assert len(recorded) >= 4
    for message in recorded:
        params = message["params"]
        selection = Selection(params["filePath"], span_of(params["selection"]), params["text"])
        assert json.loads(messages.selection_changed(selection, "")) == message


def test_pushed_diagnostics() -> None:
    (message,) = events("diagnostics_changed")
    (uri,) = message["params"]["uris"]
    severities = {"error": Severity.ERROR}
    diagnostics = [
        Diagnostic(
            item["message"],
            severities[item["severity"]],
            span_of(item["range"]),
            item.get("source"),
            item.get("code"),
        )
        for item in uri["diagnostics"]
    ]
    ours = messages.diagnostics_changed([(f"{PROJECT}/a.py", diagnostics)])
    assert json.loads(ours) == message


def test_pushed_references() -> None:
    recorded = events("add_file_reference") + events("add_selection")
    assert len(recorded) == 3
    for message in recorded:
        params = message["params"]
        span = None if params["selection"] is None else span_of(params["selection"])
        ours = json.loads(messages.reference(params["filePath"], span, params["selectedText"]))
        assert ours["params"] == params
        assert set(ours["params"]) == {"filePath", "fileUrl", "selection", "selectedText"}
    whole, lines = messages.reference("/a", None, None), messages.reference("/a", span, "x")
    assert b"add_file_reference" in whole
    assert b"add_selection" in lines


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("fix the parser", "fix the parser"),
        ("\x1b]0;owned\x07 title", "title"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\nb\r\tc", "a b c"),
        ("\x9b31mc1\x1b]0;never ended", "c1"),
        ("evil\u202etxt.exe", "evil txt.exe"),
        ("x" * 200, "x" * 79 + "…"),
        ("   ", ""),
        ("日本語 🎉", "日本語 🎉"),
    ],
)
def test_session_names_are_harmless(name: str, shown: str) -> None:
    assert messages.harmless(name) == shown


def test_asyncio_is_not_needed_by_sessions() -> None:
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    opening = read_opening({}, b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}')
    assert not isinstance(opening, RpcError)
    session = CopilotSession(ClientId("copilot-1"), opening, TOOLS)
    assert session.mcp.receive(
        session.mcp.read(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    ).ready()
