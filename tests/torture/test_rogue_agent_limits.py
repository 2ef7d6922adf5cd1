"""What an agent may not do however it asks: secrets, modelines, code in a kernel without a yes.

On a real Neovim with its host.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.editor import Editor
from tests.support.eventually import eventually
from tests.support.figures import Scale
from tests.torture.doors import doors
from tests.torture.rogue import FIELDS
from tests.torture.visits import Visitor, visit

SECRET = "hunter2"

DIAGNOSE = """
  vim.diagnostic.set(vim.api.nvim_create_namespace("t"), 0, {
    { lnum = 0, col = 0, message = "about " .. vim.api.nvim_get_current_line() },
  })
"""


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="rl-") as name:
        folder = Path(name).resolve()
        (folder / "project").mkdir()
        with Editor(folder, folder / "project") as it:
            yield it


@pytest.fixture
async def visitors(editor: Editor) -> AsyncIterator[dict[str, Visitor]]:
    async with contextlib.AsyncExitStack() as stack:
        yield {
            door.name: await stack.enter_async_context(visit(door, editor))
            for door in doors(editor)
        }


def opened(editor: Editor, path: Path) -> None:
    editor.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))


async def propose(visitor: Visitor, path: Path, text: str) -> asyncio.Future[Any]:
    return await visitor.begin(
        "openDiff",
        old_file_path=str(path),
        new_file_path=str(path),
        new_file_contents=text,
        tab_name="tab",
    )


async def test_do_not_share(editor: Editor, visitors: dict[str, Visitor]) -> None:
    """A secret that is open, selected, faulty and reviewed: no tool and no push tells of it."""
    project = editor.folder / "project"
    secret, link, plain = project / ".env", project / "notes.txt", project / "plain.txt"
    secret.write_text(f"TOKEN={SECRET}\n" * 77)
    link.symlink_to(secret)
    plain.write_text("marker\n")
    said: list[Any] = []
    for path in (secret, link):
        opened(editor, path)
        editor.command("set filetype=sh")
        editor.lua(DIAGNOSE)
        editor.feed("ggVG")
        for field in FIELDS:
            if field.is_path and "iff" not in field.tool:
                others = dict.fromkeys(field.others, "x")
                for text in (str(path), f"file://{path}"):
                    given = {field.name: text, **others}
                    if field.tool == "openFile":
                        given |= {"startText": "TOKEN", "endText": SECRET[0]}
                        said.append(
                            await visitors["claude"].call(
                                "openFile", **{**given, "makeFrontmost": False}
                            )
                        )
                    said.append(await visitors[field.agent].call(field.tool, **given))
        for tool in (
            "getCurrentSelection",
            "getLatestSelection",
            "getOpenEditors",
            "getDiagnostics",
        ):
            said.append(await visitors["claude"].call(tool))
        for tool in ("get_selection", "get_diagnostics"):
            said.append(await visitors["copilot"].call(tool))
        editor.feed("<Esc>")
    # the old side of its diff shows it to the user, who selects some of it
    answer = await propose(visitors["claude"], secret, "TOKEN=another\n")
    await eventually(lambda: len(editor.diff_windows()) == 2, 20)
    editor.lua("vim.api.nvim_set_current_win((...))", editor.diff_windows()[0])
    editor.feed("ggVG")
    assert SECRET in "\n".join(editor.lines())
    said.append(await visitors["claude"].call("getCurrentSelection"))
    said.append(await visitors["copilot"].call("get_selection"))
    editor.feed("<Esc>")
    await visitors["claude"].call("closeAllDiffTabs")
    said.append(await answer)
    # a selection that may be told is: whatever was to come before it has come
    opened(editor, plain)
    editor.feed("ggV")
    heard = [visitor.heard for visitor in visitors.values()]
    await eventually(lambda: all("marker" in json.dumps(pushes) for pushes in heard), 20)
    editor.feed("<Esc>")
    everything = json.dumps([said, heard])
    assert SECRET not in everything
    counts = re.findall(r"lineCount\W+(\d+)", everything)
    assert "0" in counts
    assert "77" not in counts, "how long it is is nobody's business either"


async def test_modelines(editor: Editor, visitors: dict[str, Visitor]) -> None:
    """Neither a proposal's nor that of the file beside it, whatever the user's options allow."""
    editor.lua("vim.o.modeline, vim.o.modelineexpr, vim.o.modelines = true, true, 5")
    path = editor.folder / "project" / "a.txt"
    line = "vim: set ts=13 fdm=expr fde=writefile([],'canary') :"
    path.write_text(f"{line}\nold\n{line}\n")
    answer = await propose(visitors["claude"], path, f"{line}\nnew\n{line}\n")
    await eventually(lambda: len(editor.diff_windows()) == 2, 20)
    for window in editor.diff_windows():
        assert line in editor.lua(
            "return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(...), 0, 1, true)[1]",
            window,
        )
        assert editor.lua("return vim.bo[vim.api.nvim_win_get_buf(...)].tabstop", window) == 8
        assert editor.lua("return vim.wo[...].foldexpr", window) == "0"
    # with `:edit!` too
    assert editor.lua("vim.cmd.redraw() return vim.bo.tabstop") == 8
    editor.to_proposal()
    editor.command("edit!")
    assert editor.lua("return vim.bo.tabstop") == 8
    assert not (editor.folder / "project" / "canary").exists()
    await visitors["claude"].call("closeAllDiffTabs")
    async with asyncio.timeout(20):
        await answer


async def test_code_is_asked_for_once_a_kernel(
    editor: Editor, visitors: dict[str, Visitor], scale: Scale
) -> None:
    if importlib.util.find_spec("ipykernel") is None:
        pytest.skip("no ipykernel: the extra `notebook` brings it")
    project = editor.folder / "project"
    call = visitors["claude"].call
    run = "open('ran', 'a').write('x')"

    def asked() -> int:
        return editor.terminal.text().count("1: No")

    for name in ("one.py", "two.py")[: scale(short=1, long=2)]:
        (project / name).write_text("# %%\n1\n")
        opened(editor, project / name)
        # several at once: one question
        calls = [asyncio.ensure_future(call("executeCode", bound_s=90, code=run)) for _ in range(3)]
        await eventually(asked, 20)
        assert not (project / "ran").exists(), "nothing before the yes"
        editor.nvim.send("nvim_input", "2<CR>")
        async with asyncio.timeout(90):
            results = await asyncio.gather(*calls)
        assert [result.get("isError", False) for result in results] == [False] * 3
        assert (await call("executeCode", bound_s=90, code=run)).get("isError", False) is False
        assert (project / "ran").read_text() == "x" * 4
        (project / "ran").unlink()
        assert editor.mode() == "n"
    # another notebook, another kernel: asked again
    (project / "three.py").write_text("# %%\n1\n")
    opened(editor, project / "three.py")
    refused = asyncio.ensure_future(call("executeCode", bound_s=90, code=run))
    await eventually(asked, 20)
    editor.nvim.send("nvim_input", "1<CR>")
    async with asyncio.timeout(20):
        assert (await refused)["isError"] is True
    assert not (project / "ran").exists()
