"""The six tools over a real socket, on an editor in memory."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_ide.model import Diagnostic, Position, Range, Selection, Severity
from agent_ide.protocols import peer
from agent_ide.review import writing as writing_module
from agent_ide.review.machine import State
from tests.servers.copilot import Client, Desk
from tests.support.eventually import eventually

SPAN = Range(Position(1, 2), Position(3, 4))
WIRE_SPAN = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}


@pytest.fixture
async def desk(short_folder: Path) -> AsyncIterator[Desk]:
    it = Desk(short_folder)
    await it.server.start()
    (short_folder / "a.py").write_text("one\ntwo\nthree\n")
    yield it
    await it.close()


@pytest.fixture
async def client(desk: Desk) -> Client:
    return await desk.connect()


async def test_list(client: Client) -> None:
    tools = (await client.request("tools/list"))["tools"]
    parameters = {
        "get_vscode_info": ([], []),
        "get_selection": ([], []),
        "get_diagnostics": (["uri"], []),
        "open_diff": (
            ["original_file_path", "new_file_contents", "tab_name"],
            ["original_file_path", "new_file_contents", "tab_name"],
        ),
        "close_diff": (["tab_name"], ["tab_name"]),
        "update_session_name": (["name"], ["name"]),
    }
    assert [tool["name"] for tool in tools] == list(parameters)
    for tool in tools:
        properties, required = parameters[tool["name"]]
        assert set(tool) == {"name", "description", "inputSchema", "execution"}
        assert tool["execution"] == {"taskSupport": "forbidden"}
        schema = tool["inputSchema"]
        assert schema.pop("type") == "object"
        assert schema.pop("additionalProperties") is False
        assert list(schema.pop("properties")) == properties
        assert schema.pop("required", []) == required
        draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
        assert schema == (draft if properties else {}), tool["name"]


async def test_parameters_are_strings(client: Client) -> None:
    tools = (await client.request("tools/list"))["tools"]
    kinds = {
        value["type"] for tool in tools for value in tool["inputSchema"]["properties"].values()
    }
    assert kinds == {"string"}


async def test_vscode_info(desk: Desk, client: Client) -> None:
    info = await client.json("get_vscode_info")
    machine, session = info.pop("machineId"), info.pop("sessionId")
    assert info == {
        "version": "0.11.4",
        "appName": "Neovim",
        "appRoot": "/usr/share/nvim/runtime",
        "language": "en_US.UTF-8",
        "uriScheme": "nvim",
        "shell": "/bin/sh",
    }
    assert str(uuid.UUID(machine)) == machine
    assert (desk.folder / "state" / "machine-id").read_text() == machine
    assert uuid.UUID(session[:36])
    assert session[36:].isdigit()


async def test_selection(desk: Desk, client: Client) -> None:
    result = await client.call("get_selection")
    assert result == {"content": [{"type": "text", "text": "null"}]}
    desk.state.select(Selection("/p/a é.py", SPAN, "é"))
    expected = {
        "current": True,
        "filePath": "/p/a é.py",
        "fileUrl": "file:///p/a%20%C3%A9.py",
        "text": "é",
        "selection": {**WIRE_SPAN, "isEmpty": False},
    }
    assert await client.json("get_selection") == expected
    desk.state.select(None)
    assert await client.json("get_selection") == {**expected, "current": False}
    cursor = Range(Position(7, 3), Position(7, 3))
    desk.state.select(Selection("/p/b.py", cursor, ""))
    place = {"line": 7, "character": 3}
    assert await client.json("get_selection") == {
        "current": True,
        "filePath": "/p/b.py",
        "fileUrl": "file:///p/b.py",
        "text": "",
        "selection": {"start": place, "end": place, "isEmpty": True},
    }


async def test_cut_selection_is_fetched_whole(desk: Desk, client: Client) -> None:
    desk.state.select(Selection("/p/a.py", SPAN, "cut", truncated=True))
    desk.editor.selection = Selection("/p/a.py", SPAN, "cut and whole")
    assert (await client.json("get_selection"))["text"] == "cut and whole"
    desk.editor.selection = Selection("/p/other.py", SPAN, "another")
    assert (await client.json("get_selection"))["text"] == "cut"


async def test_selection_is_read_when_it_is_not_tracked(short_folder: Path) -> None:
    desk = Desk(short_folder, track_selection=False)
    await desk.server.start()
    client = await desk.connect()
    desk.editor.selection = Selection("/p/a.py", SPAN, "now")
    assert (await client.json("get_selection"))["text"] == "now"
    desk.editor.refuse = "Neovim does not answer"
    result = await client.call("get_selection")
    assert result["isError"] is True
    assert "does not answer" in result["content"][0]["text"]
    await desk.close()


async def test_diagnostics(desk: Desk, client: Client) -> None:
    assert await client.json("get_diagnostics") == []
    severities = list(Severity)
    desk.state.diagnose("/p/a é.py", [Diagnostic("bad", it, SPAN) for it in severities])
    desk.state.diagnose("/p/b.py", [Diagnostic("b", Severity.ERROR, SPAN, "lint", "E1")])
    first, second = await client.json("get_diagnostics")
    assert (first["uri"], first["filePath"]) == ("file:///p/a%20%C3%A9.py", "/p/a é.py")
    names = ["error", "warning", "information", "hint"]
    assert [it["severity"] for it in first["diagnostics"]] == names
    assert first["diagnostics"][0] == {"message": "bad", "severity": "error", "range": WIRE_SPAN}
    assert second == {
        "uri": "file:///p/b.py",
        "filePath": "/p/b.py",
        "diagnostics": [
            {
                "message": "b",
                "severity": "error",
                "range": WIRE_SPAN,
                "source": "lint",
                "code": "E1",
            }
        ],
    }
    for uri in ("file:///p/a%20%C3%A9.py", "file:///p/a é.py", "/p/a é.py"):
        assert await client.json("get_diagnostics", uri=uri) == [first]
    assert await client.json("get_diagnostics", uri="file:///p/clean.py") == [
        {"uri": "file:///p/clean.py", "filePath": "/p/clean.py", "diagnostics": []}
    ]
    assert await client.json("get_diagnostics", uri="") == [first, second]
    for virtual in ("untitled:Untitled-1", "git:/p/a.py", "output:x"):
        assert await client.json("get_diagnostics", uri=virtual) == []


async def test_many_diagnostics_are_cut(desk: Desk, client: Client) -> None:
    for number in range(300):
        problem = Diagnostic("x" * 10_000, Severity.ERROR, SPAN)
        desk.state.diagnose(f"/p/{number:03}.py", [problem])
    desk.state.diagnose("/p/000.py", [Diagnostic("x" * 10_000, Severity.HINT, SPAN)])
    first, second = (await client.call("get_diagnostics"))["content"]
    entries = json.loads(first["text"])
    assert len(first["text"]) <= 1024 * 1024
    assert entries[0]["filePath"] == "/p/001.py"
    assert second["text"].startswith(f"{300 - len(entries)} more files have diagnostics")


async def test_session_name(desk: Desk, client: Client) -> None:
    assert await client.json("update_session_name", name="\x1b]0;x\x07 title\n") == {
        "success": True
    }
    assert desk.server.clients()[0].session_name == "title"
    await client.json("update_session_name", name="")
    assert desk.server.clients()[0].session_name is None


# -- verdicts --------------------------------------------------------------------------------------


def words(result: str, trigger: str, message: str) -> dict[str, Any]:
    return {
        "success": True,
        "result": result,
        "trigger": trigger,
        "tab_name": "tab",
        "message": message,
    }


async def test_accepted(desk: Desk, client: Client) -> None:
    path = desk.folder / "a.py"
    diff = await client.open_diff(path, "one\nTWO\n")
    await desk.accept()
    assert await client.verdict(diff) == words(
        "SAVED", "accepted_via_button", "User accepted changes for a.py"
    )
    assert path.read_text() == "one\ntwo\nthree\n", "the CLI writes"
    path.write_text("one\nTWO\n")
    await eventually(lambda: not desk.reviews.open())
    await eventually(lambda: desk.editor.reloaded)
    assert desk.editor.reloaded == [(str(path), b"one\ntwo\nthree\n")]
    assert str(path) not in desk.editor.dirty


async def test_rejected(desk: Desk, client: Client) -> None:
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    desk.reviews.reject(desk.reviews.open()[0])
    assert await client.verdict(diff) == words(
        "REJECTED", "rejected_via_button", "User rejected changes for a.py"
    )
    await desk.shown(0)


async def test_view_closed(desk: Desk, client: Client) -> None:
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    desk.reviews.view_closed(desk.reviews.open()[0])
    assert await client.verdict(diff) == words(
        "REJECTED", "closed_via_tab", "User rejected changes for a.py"
    )


async def test_closed_by_the_tool(desk: Desk, client: Client) -> None:
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    assert await client.json("close_diff", tab_name="tab") == {
        "success": True,
        "already_closed": False,
        "tab_name": "tab",
        "message": 'Diff "tab" closed and changes rejected',
    }
    verdict = await client.verdict(diff)
    assert (verdict["result"], verdict["trigger"]) == ("REJECTED", "closed_via_tool")
    assert await client.json("close_diff", tab_name="tab") == {
        "success": True,
        "already_closed": True,
        "tab_name": "tab",
        "message": 'Diff "tab" was closed already',
    }
    await desk.shown(0)


async def test_close_by_exact_name(desk: Desk, client: Client) -> None:
    name = "[Copilot CLI] - a.py (0b09c2)"
    diff = await client.open_diff(desk.folder / "a.py", "x", name)
    await desk.shown()
    for other in ("a.py", name + " ", "", str(desk.folder / "a.py")):
        assert (await client.json("close_diff", tab_name=other))["already_closed"] is True
    assert (await client.json("close_diff", tab_name=name))["already_closed"] is False
    assert (await client.verdict(diff))["tab_name"] == name


async def test_same_name_replaces(desk: Desk, client: Client) -> None:
    first = await client.open_diff(desk.folder / "a.py", "1")
    await desk.shown()
    second = await client.open_diff(desk.folder / "a.py", "2")
    verdict = await client.verdict(first)
    assert (verdict["result"], verdict["trigger"]) == ("REJECTED", "closed_via_tool")
    await eventually(lambda: [it.text for it in desk.editor.views.values()] == ["2"])
    await desk.accept()
    assert (await client.verdict(second))["result"] == "SAVED"


async def test_accepted_one_is_its_clients_own(desk: Desk, client: Client) -> None:
    other = await desk.connect()
    diff = await client.open_diff(desk.folder / "a.py", "1")
    await desk.accept()
    await client.verdict(diff)
    assert (await other.json("close_diff", tab_name="tab"))["already_closed"] is True
    refused = await other.answer(await other.open_diff(desk.folder / "a.py", "2"))
    assert refused["isError"] is True
    assert [it.state for it in desk.reviews.open()] == [State.ACCEPTED]
    assert (await client.json("close_diff", tab_name="tab"))["already_closed"] is False


async def test_timeout(short_folder: Path) -> None:
    desk = Desk(short_folder, diff_timeout_s=0.05)
    await desk.server.start()
    client = await desk.connect()
    diff = await client.open_diff(short_folder / "a", "x")
    verdict = await client.verdict(diff)
    assert (verdict["result"], verdict["trigger"]) == ("REJECTED", "timeout")
    await desk.shown(0)
    await desk.close()


async def test_closing_the_view_leaves_it_to_the_terminal(short_folder: Path) -> None:
    desk = Desk(short_folder, on_close="terminal")
    await desk.server.start()
    client = await desk.connect()
    diff = await client.open_diff(short_folder / "a", "x")
    await eventually(lambda: desk.reviews.open() and desk.reviews.open()[0].state is State.PENDING)
    desk.reviews.view_closed(desk.reviews.open()[0])
    await desk.shown(0)
    assert desk.reviews.open()[0].state is State.HIDDEN
    assert desk.editor.closed[-1][1] == "hidden"
    assert await client.request("ping") == {}
    assert (await client.json("close_diff", tab_name="tab"))["already_closed"] is False
    assert (await client.verdict(diff))["trigger"] == "closed_via_tool"
    assert desk.reviews.open() == []
    await desk.close()


async def test_lost_connection_closes_the_view(desk: Desk, client: Client) -> None:
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    await diff.close()
    await desk.shown(0)
    assert desk.reviews.open() == []
    assert await client.request("ping") == {}, "the session goes on"


async def test_deleted_session_closes_the_view(desk: Desk, client: Client) -> None:
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    assert (await client.delete()).status == 200
    verdict = await client.verdict(diff)
    assert (verdict["result"], verdict["trigger"]) == ("REJECTED", "client_disconnected")
    await desk.shown(0)


async def test_cancelled_diff_is_withdrawn_without_an_answer(desk: Desk, client: Client) -> None:
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    params = {"requestId": client._id, "reason": "request timeout"}
    await client.post({"method": "notifications/cancelled", "params": params})
    answer = await diff.answer()
    assert (answer.status, answer.body) == (200, b"")
    await desk.shown(0)


async def test_view_that_cannot_open_leaves_it_to_the_terminal(desk: Desk, client: Client) -> None:
    desk.editor.refuse = "no window"
    result = await client.answer(await client.open_diff(desk.folder / "a.py", "x"))
    assert result["isError"] is True
    assert "no window" in result["content"][0]["text"]


async def test_two_clis_at_once(desk: Desk, client: Client) -> None:
    other = await desk.connect()
    mine = await client.open_diff(desk.folder / "a.py", "1", "one")
    await desk.shown()
    theirs = await other.open_diff(desk.folder / "b.py", "2", "two")
    await eventually(lambda: len(desk.reviews.open()) == 2)
    await desk.accept()
    assert (await client.verdict(mine))["tab_name"] == "one"
    await desk.accept()
    assert (await other.verdict(theirs))["tab_name"] == "two"


# -- texts -----------------------------------------------------------------------------------------


async def test_what_the_user_changed_is_put_on_top_after_the_cli_wrote(
    desk: Desk, client: Client
) -> None:
    path = desk.folder / "a.py"
    desk.editor.buffers[str(path)] = "one\ntwo\nthree\n"
    diff = await client.open_diff(path, "one\nTWO\nthree\n")
    await desk.accept("one\nTWO by hand\nthree\n")
    assert (await client.verdict(diff))["result"] == "SAVED"
    await client.request("ping")
    assert desk.editor.buffers[str(path)] == "one\ntwo\nthree\n", "not before the CLI wrote"
    assert path.read_text() == "one\ntwo\nthree\n"
    path.write_text("one\nTWO\nthree\n")
    await eventually(lambda: str(path) in desk.editor.dirty)
    assert desk.editor.buffers[str(path)] == "one\nTWO by hand\nthree\n"
    assert path.read_text() == "one\nTWO\nthree\n", "unsaved: the disk is the CLI's"
    assert "your version of a.py is in its buffer, unsaved" in desk.editor.notes[-1]
    assert desk.reviews.open() == []


@pytest.mark.parametrize(
    ("before", "proposed"),
    [
        (b"one\r\ntwo\r\n", "one\r\nTWO\r\n"),
        (b"one\ntwo", "one\nTWO"),
        (b"\xef\xbb\xbfone\n", "\ufeffONE\n"),
        (b"", "new\n"),
        (None, "new file\n"),
        ("日本語 🎉\n".encode(), "日本 🎉🎉\n"),
    ],
    ids=["CRLF", "no final newline", "BOM", "empty", "new", "not ASCII"],
)
async def test_written_is_seen_whatever_the_text(
    desk: Desk, client: Client, before: bytes | None, proposed: str
) -> None:
    path = desk.folder / "file"
    if before is not None:
        path.write_bytes(before)
    diff = await client.open_diff(path, proposed)
    await desk.shown()
    assert next(iter(desk.editor.views.values())).text == proposed.replace("\r\n", "\n")
    assert desk.reviews.open()[0].is_new is (before is None)
    await desk.accept()
    assert (await client.verdict(diff))["result"] == "SAVED"
    path.write_bytes(proposed.encode())
    await eventually(lambda: not desk.reviews.open())


async def test_accepted_text_that_is_not_written_is_said(
    desk: Desk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_module, "WRITE_PATIENCE_S", 0.05)
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.accept("by hand")
    await client.verdict(diff)
    await eventually(lambda: desk.editor.notes)
    assert "has not written a.py yet" in desk.editor.notes[-1]
    await client.json("close_diff", tab_name="tab")
    await eventually(lambda: desk.editor.kept == ["by hand"])


# -- what goes wrong -------------------------------------------------------------------------------


async def test_deadline(desk: Desk, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "CALL_S", 0.05)
    desk.state.select(Selection("/p/a.py", SPAN, "cut", truncated=True))
    never = asyncio.Event()

    async def hang() -> None:
        await never.wait()

    desk.editor.read_selection = hang  # type: ignore[method-assign, assignment]
    result = await client.call("get_selection")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "get_selection: no answer within 0.05 s"
    diff = await client.open_diff(desk.folder / "a.py", "x")
    await desk.shown()
    assert await client.request("ping") == {}
    await desk.accept()
    assert (await client.verdict(diff))["result"] == "SAVED", "it has no deadline"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_selection", {"x": 1}),
        ("get_diagnostics", {"uri": 1}),
        ("get_diagnostics", {"uri": "relative"}),
        ("open_diff", {}),
        ("open_diff", {"original_file_path": "/a", "new_file_contents": "x"}),
        ("open_diff", {"original_file_path": "a", "new_file_contents": "", "tab_name": "t"}),
        ("open_diff", {"original_file_path": "/\0", "new_file_contents": "", "tab_name": "t"}),
        ("open_diff", [1]),
        ("close_diff", {}),
        ("close_diff", {"tab_name": "t", "more": 1}),
        ("update_session_name", {"name": None}),
        ("unknown", {}),
    ],
)
async def test_wrong_arguments(client: Client, tool: str, arguments: Any) -> None:
    error = await client.request("tools/call", name=tool, arguments=arguments)
    assert error["code"] == -32602
    assert "Traceback" not in error["message"]
    assert "/agent_ide/" not in error["message"]


async def test_fault_of_ours_is_an_internal_error(desk: Desk, client: Client) -> None:
    desk.state.diagnostics = None  # type: ignore[assignment]
    error = await client.call("get_diagnostics")
    assert error == {"code": -32603, "message": "Internal error"}
    assert await client.json("update_session_name", name="x") == {"success": True}
