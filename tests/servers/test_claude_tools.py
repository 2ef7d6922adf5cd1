"""The twelve tools over a real socket, on an editor in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_ide.model import (
    Diagnostic,
    NotebookTarget,
    OpenBuffer,
    Position,
    Range,
    Selection,
    Severity,
)
from agent_ide.wire import diagnosed
from tests.servers.claude import Client, Desk
from tests.support.eventually import eventually

SPAN = Range(Position(1, 2), Position(3, 4))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    it = Desk(tmp_path)
    await it.server.start()
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    yield it
    await it.close()


@pytest.fixture
async def client(desk: Desk) -> Client:
    it = await desk.connect()
    await it.greet()
    return it


async def accept(desk: Desk, text: str) -> None:
    await eventually(lambda: any(item.undecided for item in desk.reviews.open()))
    (review,) = [item for item in desk.reviews.open() if item.undecided]
    await desk.reviews.accept(review, text)


async def test_list(client: Client) -> None:
    answer = await client.answer(await client.request("tools/list"))
    tools = {tool["name"]: tool["inputSchema"] for tool in answer["result"]["tools"]}
    assert list(tools) == [
        "openFile",
        "openDiff",
        "getCurrentSelection",
        "getLatestSelection",
        "getOpenEditors",
        "getWorkspaceFolders",
        "getDiagnostics",
        "checkDocumentDirty",
        "saveDocument",
        "close_tab",
        "closeAllDiffTabs",
        "executeCode",
    ]
    assert tools["openFile"]["required"] == ["filePath"]
    assert set(tools["openFile"]["properties"]) == {
        "filePath",
        "preview",
        "startText",
        "endText",
        "selectToEndOfLine",
        "makeFrontmost",
    }
    assert "required" not in tools["getDiagnostics"]
    assert tools["close_tab"]["required"] == ["tab_name"]


async def test_open_file(desk: Desk, client: Client) -> None:
    path = str(desk.folder / "a.py")
    assert await client.texts("openFile", filePath=path) == [f"Opened file: {path}"]
    assert await client.texts("openFile", filePath=f"file://{path}") == [f"Opened file: {path}"]
    assert await client.json("openFile", filePath=path, makeFrontmost=False) == {
        "success": True,
        "filePath": path,
        "languageId": "python",
        "lineCount": 3,
    }


@pytest.mark.parametrize("path", ["a.py", "http://x/a.py", "oil:///tmp", "", "/a\0b"])
async def test_open_file_takes_absolute_paths_only(client: Client, path: str) -> None:
    error = await client.call("openFile", filePath=path)
    assert error["code"] == -32602


async def test_editor_that_refuses_is_a_failed_result(desk: Desk, client: Client) -> None:
    result = await client.call("openFile", filePath=str(desk.folder / "gone.py"))
    assert result["isError"] is True
    assert "gone.py" in result["content"][0]["text"]


async def test_selection(desk: Desk, client: Client) -> None:
    assert await client.json("getCurrentSelection") == {
        "success": False,
        "message": "No active editor found",
    }
    assert await client.json("getLatestSelection") == {
        "success": False,
        "message": "No selection available",
    }
    desk.state.select(Selection("/p/a.py", SPAN, "é"))
    expected = {
        "success": True,
        "text": "é",
        "filePath": "/p/a.py",
        "fileUrl": "file:///p/a.py",
        "selection": {
            "start": {"line": 1, "character": 2},
            "end": {"line": 3, "character": 4},
            "isEmpty": False,
        },
    }
    assert await client.json("getCurrentSelection") == expected
    desk.state.select(None)
    assert (await client.json("getCurrentSelection"))["success"] is False
    assert await client.json("getLatestSelection") == expected


async def test_cut_selection_is_fetched_whole(desk: Desk, client: Client) -> None:
    desk.state.select(Selection("/p/a.py", SPAN, "cut", truncated=True))
    desk.editor.selection = Selection("/p/a.py", SPAN, "cut and whole")
    assert (await client.json("getCurrentSelection"))["text"] == "cut and whole"
    desk.editor.selection = Selection("/p/other.py", SPAN, "another")
    assert (await client.json("getLatestSelection"))["text"] == "cut"


async def test_selection_is_read_when_it_is_not_tracked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, track_selection=False)
    await desk.server.start()
    client = await desk.connect()
    desk.editor.selection = Selection("/p/a.py", SPAN, "now")
    assert (await client.json("getCurrentSelection"))["text"] == "now"
    await desk.close()


async def test_open_editors_and_dirty(desk: Desk, client: Client) -> None:
    desk.state.open_buffers([OpenBuffer("/p/a b.py", True, True, False, "python", 3)])
    assert await client.json("getOpenEditors") == {
        "tabs": [
            {
                "uri": "file:///p/a%20b.py",
                "isActive": True,
                "label": "a b.py",
                "languageId": "python",
                "isDirty": True,
            }
        ]
    }
    for path in ("/p/a b.py", "file:///p/a%20b.py", "file:///p/a b.py"):
        assert await client.json("checkDocumentDirty", filePath=path) == {
            "success": True,
            "filePath": "/p/a b.py",
            "isDirty": True,
            "isUntitled": False,
        }
    for path in ("/p/a", "/p/a b.py.bak", "/a b.py"):
        assert await client.json("checkDocumentDirty", filePath=path) == {
            "success": False,
            "message": f"Document not open: {path}",
        }


async def test_save(desk: Desk, client: Client) -> None:
    path = str(desk.folder / "a.py")
    assert await client.json("saveDocument", filePath=path) == {
        "success": False,
        "message": f"Document not open: {path}",
    }
    desk.editor.buffers[path] = "new\n"
    assert await client.json("saveDocument", filePath=path) == {
        "success": True,
        "filePath": path,
        "saved": True,
        "message": "Document saved successfully",
    }


async def test_workspace_folders(desk: Desk, client: Client, tmp_path: Path) -> None:
    assert await client.json("getWorkspaceFolders") == {
        "success": True,
        "folders": [],
        "rootPath": "",
    }
    desk.state.set_folders(["/p/my project", "/q"])
    assert await client.json("getWorkspaceFolders") == {
        "success": True,
        "folders": [
            {"name": "my project", "uri": "file:///p/my%20project", "path": "/p/my project"},
            {"name": "q", "uri": "file:///q", "path": "/q"},
        ],
        "rootPath": "/p/my project",
    }


def problem(message: str = "bad", **more: Any) -> Diagnostic:
    return Diagnostic(message, more.pop("severity", Severity.ERROR), SPAN, **more)


async def test_diagnostics(desk: Desk, client: Client) -> None:
    assert await client.json("getDiagnostics") == []
    path = "/p/a é#%.py"
    desk.state.diagnose(
        path,
        [
            problem(code="E1", source="lint"),
            *(problem(severity=severity) for severity in list(Severity)[1:]),
        ],
    )
    (entry,) = await client.json("getDiagnostics")
    assert entry["uri"] == "file:///p/a é#%.py", "raw: the CLI compares without decoding"
    assert [item["severity"] for item in entry["diagnostics"]] == [
        "Error",
        "Warning",
        "Info",
        "Hint",
    ]
    assert entry["diagnostics"][0] == {
        "message": "bad",
        "severity": "Error",
        "range": {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}},
        "source": "lint",
        "code": "E1",
    }
    for uri in (f"file://{path}", "file:///p/a%20%C3%A9%23%25.py", path):
        (entry,) = await client.json("getDiagnostics", uri=uri)
        assert entry["uri"] == uri
        assert len(entry["diagnostics"]) == 4
    (clean,) = await client.json("getDiagnostics", uri="file:///p/clean.py")
    assert clean == {"uri": "file:///p/clean.py", "diagnostics": []}


async def test_many_diagnostics_are_cut_edited_files_first(desk: Desk, client: Client) -> None:
    for number in range(300):
        mild = Diagnostic("x" * 10_000, Severity.HINT, SPAN)
        desk.state.diagnose(f"/p/{number:03}.py", [mild])
    desk.state.diagnose("/p/290.py", [Diagnostic("bad", Severity.ERROR, SPAN)])
    await client.json("getDiagnostics", uri="file:///p/250.py")
    texts = await client.texts("getDiagnostics")
    entries = json.loads(texts[0])
    assert len(texts[0].encode()) <= diagnosed.MAX_BYTES
    # what it has edited, then what has errors, then all others
    names = ["250", "290", "000", "001"]
    assert [it["uri"] for it in entries[:4]] == [f"file:///p/{name}.py" for name in names]
    assert texts[1] == (
        f"{300 - len(entries)} more files have diagnostics; ask for one by its uri."
    )


async def test_diff_accepted_changed_rejected(desk: Desk, client: Client) -> None:
    path = desk.folder / "a.py"
    request = await client.open_diff(path, "one\nTWO\n")
    await accept(desk, "one\nTWO by hand\n")
    answer = await client.answer(request)
    assert [item["text"] for item in answer["result"]["content"]] == [
        "FILE_SAVED",
        "one\nTWO by hand\n",
    ]
    assert await client.texts("close_tab", tab_name="tab") == ["TAB_CLOSED"]
    assert await client.texts("close_tab", tab_name="tab") == ["TAB_CLOSED"]
    assert desk.reviews.open() == []


async def test_diff_equal_to_the_file_is_a_rejection(desk: Desk, client: Client) -> None:
    request = await client.open_diff(desk.folder / "a.py", "one\n")
    await accept(desk, "one\ntwo\nthree\n")
    answer = await client.answer(request)
    assert answer["result"]["content"][0]["text"] == "DIFF_REJECTED"
    assert "rejection" in desk.editor.notes[-1]


async def test_diff_that_cannot_be_shown_is_an_error(desk: Desk, client: Client) -> None:
    desk.editor.refuse = "no window"
    result = await client.answer(await client.open_diff(desk.folder / "a.py", "x"))
    assert result["result"]["isError"] is True
    assert "no window" in result["result"]["content"][0]["text"]


async def test_diff_too_large_for_the_cli(desk: Desk, client: Client) -> None:
    request = await client.open_diff(desk.folder / "a.py", "x")
    await accept(desk, "x" * (16 * 1024 * 1024))
    assert (await client.answer(request))["error"]["code"] == -32000
    request = await client.open_diff(desk.folder / "a.py", "x", "quotes")
    # JSON doubles it
    await accept(desk, '"' * (9 * 1024 * 1024))
    assert (await client.answer(request))["error"]["code"] == -32000


async def test_same_tab_name_replaces(desk: Desk, client: Client) -> None:
    other = await desk.connect()
    first = await client.open_diff(desk.folder / "a.py", "1")
    await eventually(lambda: desk.editor.views)
    second = await other.open_diff(desk.folder / "a.py", "2")
    answer = await client.answer(first)
    assert answer["result"]["content"][0]["text"] == "DIFF_REJECTED"
    await eventually(lambda: [item.text for item in desk.editor.views.values()] == ["2"])
    await accept(desk, "2")
    await other.answer(second)
    refused = await client.answer(await client.open_diff(desk.folder / "a.py", "3"))
    assert refused["error"]["code"] == -32000, "it was accepted for another client"
    assert await client.texts("close_tab", tab_name="tab") == ["TAB_CLOSED"]
    assert len(desk.reviews.open()) == 1, "and stays"
    replaced = await other.open_diff(desk.folder / "a.py", "4")
    await accept(desk, "4")
    await other.answer(replaced)


async def test_close_tab_closes_by_exact_name(desk: Desk, client: Client) -> None:
    request = await client.open_diff(desk.folder / "a.py", "1", "✻ [Claude Code] a.py (0b09c2) ⧉")
    await eventually(lambda: desk.editor.views)
    assert await client.texts("close_tab", tab_name="a.py") == ["TAB_CLOSED"]
    assert len(desk.reviews.open()) == 1
    await client.call("close_tab", tab_name="✻ [Claude Code] a.py (0b09c2) ⧉")
    answer = await client.answer(request)
    assert answer["result"]["content"][0]["text"] == "DIFF_REJECTED"


async def test_close_all_counts_the_askers_own(desk: Desk, client: Client) -> None:
    other = await desk.connect()
    await other.open_diff(desk.folder / "b.py", "x", "others")
    accepted = await client.open_diff(desk.folder / "a.py", "1", "one")
    await eventually(lambda: len(desk.reviews.open()) == 2)
    mine = desk.reviews.find("claude", "one")
    assert mine is not None
    await desk.reviews.accept(mine, "1")
    await client.answer(accepted)
    await client.open_diff(desk.folder / "a.py", "2", "two")
    await eventually(lambda: len(desk.reviews.open()) == 3)
    assert await client.texts("closeAllDiffTabs") == ["CLOSED_2_DIFF_TABS"]
    assert [item.proposal.tab_name for item in desk.reviews.open()] == ["others"]
    assert await client.texts("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
    # the CLI sends it with each prompt of the user's
    assert [it.prompts for it in desk.server.clients()] == [2, 0]


async def test_cancelled_diff_is_withdrawn_without_an_answer(desk: Desk, client: Client) -> None:
    request = await client.open_diff(desk.folder / "a.py", "1")
    await eventually(lambda: desk.editor.views)
    await client.send(method="notifications/cancelled", params={"requestId": request})
    await eventually(lambda: not desk.reviews.open())
    await client.answer(await client.request("ping"))
    assert [item for item in client.heard if item.get("id") == request] == []


async def test_execute_code_without_a_notebook(client: Client) -> None:
    result = await client.call("executeCode", code="1")
    assert result["isError"] is True
    assert "No notebook is open" in result["content"][0]["text"]


async def test_execute_code_declined(desk: Desk, client: Client) -> None:
    desk.editor.notebook = NotebookTarget(str(desk.folder / "a.py"), None)
    desk.editor.agrees = False
    result = await client.call("executeCode", code="1")
    assert result["isError"] is True
    assert "declined" in result["content"][0]["text"]


SHOW_PIXEL = """
import base64
from IPython.display import Image, display
x = 41
print("text é")
display(Image(data=base64.b64decode("%s"), format="png"))
x + 1
"""

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_execute_code_in_a_real_kernel(desk: Desk, client: Client) -> None:
    desk.editor.notebook = NotebookTarget(str(desk.folder / "a.ipynb"), None)
    result = await client.call("executeCode", bound_s=60, code=SHOW_PIXEL % PIXEL)
    kinds = [(item["type"], item.get("mimeType")) for item in result["content"]]
    assert kinds == [("text", None), ("image", "image/png"), ("text", None)]
    assert result["content"][0]["text"] == "text é\n"
    assert result["content"][1]["data"].replace("\n", "") == PIXEL
    assert result["content"][2]["text"] == "42"
    assert await client.texts("executeCode", bound_s=60, code="x") == ["41"], "kept between calls"
    # a cancelled call is interrupted, and the kernel goes on
    endless = await client.begin("executeCode", code="while True: pass")
    await client.send(method="notifications/cancelled", params={"requestId": endless})
    assert await client.texts("executeCode", bound_s=60, code="x") == ["41"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("openFile", {}),
        ("openFile", {"filePath": 1}),
        ("openFile", {"filePath": "/a", "preview": "yes"}),
        ("openDiff", {"old_file_path": "/a", "new_file_path": "/a", "tab_name": "t"}),
        ("openDiff", [1]),
        ("getDiagnostics", {"uri": 1}),
        ("close_tab", {}),
        ("executeCode", {"code": None}),
        ("unknown", {}),
    ],
)
async def test_wrong_arguments(client: Client, tool: str, arguments: Any) -> None:
    answer = await client.answer(await client.request("tools/call", name=tool, arguments=arguments))
    assert answer["error"]["code"] == -32602
    assert "Traceback" not in answer["error"]["message"]
    assert "/agent_ide/" not in answer["error"]["message"]


async def test_fault_of_ours_is_an_internal_error(desk: Desk, client: Client) -> None:
    desk.state.buffers = None  # type: ignore[assignment]
    answer = await client.answer(await client.begin("getOpenEditors"))
    assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert await client.json("getDiagnostics") == [], "the others go on"
