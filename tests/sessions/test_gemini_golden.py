"""What the real CLIs sent, fed to our sessions and tools: we answer and say what was recorded.

The recordings' IDE was a mock: its server's name and its tools' descriptions are its own, so these
are compared by shape. Every other field must be equal to what the CLI took.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ide.model import ClientId, OpenBuffer, Position, Range, Selection
from agent_ide.protocols.gemini_ide import messages
from agent_ide.protocols.gemini_ide.discovery import GEMINI, QWEN
from agent_ide.protocols.gemini_ide.session import CompanionSession
from agent_ide.protocols.gemini_ide.tools import TOOLS, CompanionTools
from agent_ide.review.machine import State
from agent_ide.review.review import Review
from agent_ide.review.reviews import Reviews
from agent_ide.tasks import Tasks
from agent_ide.wire.mcp import refuse_opening
from tests.support.eventually import eventually
from tests.support.fake_editor import FakeEditor
from tests.support.golden import Json, Line, golden_names, read_golden

PROJECT = "/home/user/project"
VERDICTS = ("ide/diffAccepted", "ide/diffRejected")


class Desk:
    """Our side of a transcript's one session."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.editor = FakeEditor()
        self.tasks = Tasks()
        self.reviews = Reviews(self.editor, self.tasks, lambda: None)
        self.tools = CompanionTools(self.editor, self.reviews, self.tasks, {})
        cli = GEMINI if name.startswith("gemini") else QWEN
        self.session = CompanionSession(ClientId("c-1"), cli, TOOLS, "1", None)
        self.said: list[Json] = []
        self.session.say = lambda message: self.said.append(self.portable(message))

    def portable(self, message: bytes) -> Json:
        said: Json = json.loads(message.decode().replace(str(self.folder), PROJECT))
        return said

    async def receive(self, line: Line) -> Json | None:
        """Our answer to a message of the CLI."""
        body = line.text.replace(PROJECT, str(self.folder)).encode()
        assert (refuse_opening(body) is None) == (line.header("mcp-session-id") is None)
        exchange = self.session.mcp.receive(self.session.mcp.read(body))
        reply = exchange.ready()
        for call in exchange.calls:
            result = await self.tools.run(self.session, call)
            reply = exchange.answer(call, result)
        return None if reply is None else self.portable(reply)

    async def user(self, said: Json) -> None:
        """Do what the user of the recording did, as the mock's message tells."""
        review = await self.shown()
        assert review.path == said["params"]["filePath"].replace(PROJECT, str(self.folder))
        if said["method"] == "ide/diffAccepted":
            await self.reviews.accept(review, said["params"]["content"])
        else:
            self.reviews.reject(review)
        await eventually(lambda: self.said[-1:] == [said])

    async def shown(self) -> Review:
        """Wait for the review that awaits a verdict."""

        def pending() -> list[Review]:
            return [item for item in self.reviews.open() if item.state is State.PENDING]

        await eventually(lambda: len(pending()) == 1)
        return pending()[0]


def message_of(line: Line) -> Json:
    """The JSON-RPC message in a recorded answer."""
    assert line.body is not None
    message: Json = json.loads(line.body.removeprefix("event: message\ndata: "))
    return message


def assert_same_answer(request: Line, recorded: Json, ours: Json | None) -> None:
    assert request.msg is not None
    assert ours is not None, request.where
    if request.msg["method"] == "initialize":
        theirs, mine = recorded["result"], ours["result"]
        assert mine["protocolVersion"] == theirs["protocolVersion"]
        assert set(mine) == set(theirs)
    elif request.msg["method"] == "tools/list":
        names = [
            [tool["name"] for tool in message["result"]["tools"]] for message in (recorded, ours)
        ]
        assert names[0] == names[1]
    elif request.tool == "closeDiff":
        assert content(ours) == content(recorded), request.where
    else:
        assert ours == recorded, request.where


def content(message: Json) -> Any:
    (block,) = message["result"]["content"]
    return json.loads(block["text"])


@pytest.mark.parametrize("name", golden_names("gemini"))
async def test_transcript(name: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, name)
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    lines = read_golden("gemini", name)
    answers = {
        line.req: line for line in lines if line.kind == "http" and not line.from_cli and line.body
    }
    compared = 0
    for line in lines:
        if line.kind == "http" and line.from_cli and line.method == "POST":
            recorded = answers.get(line.req)
            if recorded is not None and line.tool == "closeDiff":
                review = await desk.shown()
                desk.editor.typed[review.id] = content(message_of(recorded))["content"]
            ours = await desk.receive(line)
            if recorded is None:
                assert ours is None, "a notification has no answer"
                continue
            assert_same_answer(line, message_of(recorded), ours)
            compared += 1
        elif line.kind == "sse" and line.msg and line.msg["method"] in VERDICTS:
            await desk.user(line.msg)
    assert compared >= 2
    desk.tools.abandon(desk.session)
    recorded_verdicts = [
        line.msg
        for line in lines
        if line.kind == "sse" and line.msg and line.msg["method"] in VERDICTS
    ]
    assert desk.said == recorded_verdicts
    await desk.tasks.close()


@pytest.mark.parametrize("name", ["gemini_startup", "qwen_startup"])
def test_the_context_has_the_form_that_was_taken(name: str) -> None:
    first, _ = [line.msg for line in read_golden("gemini", name) if line.kind == "sse"]
    files = [
        OpenBuffer(f"{PROJECT}/a.txt", True, False, False, "", 2, last_used_s=0),
        OpenBuffer(f"{PROJECT}/a.txt2", False, False, False, "", 2, last_used_s=0),
    ]
    selection = Selection(f"{PROJECT}/a.txt", Range(Position(1, 0), Position(1, 0)), "two")
    ours = json.loads(messages.context_update(files, selection, None))
    assert first is not None
    for message in (ours, first):
        for item in message["params"]["workspaceState"]["openFiles"]:
            assert isinstance(item.pop("timestamp"), int)
    assert ours == first


def test_the_two_introduce_themselves_alike() -> None:
    """So only the token, which each has from its own file, tells which one it is."""
    names = set()
    for name in ("gemini_startup", "qwen_startup"):
        opening = next(line for line in read_golden("gemini", name) if line.from_cli and line.msg)
        assert opening.msg is not None
        names.add(opening.msg["params"]["clientInfo"]["name"])
        assert opening.header("authorization") is not None
        assert opening.header("origin") is None
    assert names == {"streamable-http-client"}
