"""An agent with a valid token that means harm: nothing that it writes into a field is run.

On a real Neovim with its host, through all three protocols.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.editor import Editor
from tests.support.eventually import eventually
from tests.support.figures import Figure, Scale
from tests.torture.doors import doors
from tests.torture.rogue import FIELDS, PAYLOADS, SCHEMES, Field, rotated
from tests.torture.visits import Visitor, visit

DIFF_TOOLS = {"openDiff", "open_diff"}

# Everything that may show a name; some plugins put our text into 'statusline' itself.
SHOWS = """
  vim.o.laststatus, vim.o.showtabline, vim.o.title = 2, 2, true
  vim.o.statusline = "%!v:lua.require'agent_ide.statusline'.text()"
  vim.o.modeline, vim.o.modelineexpr = true, true
"""


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with tempfile.TemporaryDirectory(prefix="ra-") as name:
        folder = Path(name).resolve()
        project = folder / "project"
        project.mkdir()
        (project / "plain.txt").write_text("one\ntwo\n")
        with Editor(folder, project) as it:
            it.lua(SHOWS)
            yield it


@pytest.fixture
async def visitors(editor: Editor) -> AsyncIterator[dict[str, Visitor]]:
    async with AsyncExitStack() as stack:
        yield {
            door.name: await stack.enter_async_context(visit(door, editor))
            for door in doors(editor)
        }


def project(editor: Editor) -> Path:
    return editor.folder / "project"


def is_run(editor: Editor) -> bool:
    """Whether somebody's text was run."""
    if editor.lua("return vim.g.canary ~= nil"):
        return True
    return any(path.name == "canary" for path in editor.folder.rglob("*canary"))


def spellings(field: Field, payload: str, editor: Editor) -> list[str]:
    """A payload as it may stand in this field."""
    if not field.is_path:
        return [payload]
    path = f"{project(editor)}/{payload}"
    return [path, f"file://{path}", payload]


def a_file(path: str) -> None:
    """Such a file, where there can be one: else it would be refused for a dull reason."""
    if "\0" not in path and len(path.rpartition("/")[2]) < 200 and not path.endswith("/.."):
        Path(path).write_text("its text\n")


def arguments(field: Field, text: str, editor: Editor, tab: str) -> dict[str, str]:
    plain = str(project(editor) / "plain.txt")
    others = {
        other: plain if "path" in other.lower() else tab if other == "tab_name" else "new text\n"
        for other in field.others
    }
    return {**others, field.name: text}


@contextlib.contextmanager
def telling(editor: Editor, what: str) -> Iterator[None]:
    """A Neovim that does not answer any more shows why."""
    try:
        yield
    except (AssertionError, TimeoutError) as error:
        raise AssertionError(f"{what}: {error}\n{editor.terminal.text()}") from error


def is_shown(editor: Editor) -> bool:
    return bool(editor.diff_windows()) and any(
        review["state"] == "pending" for review in editor.reviews()
    )


async def seen(editor: Editor, answer: asyncio.Future[object], bound_s: float) -> bool:
    """Whether a diff is shown; False: it was answered without, or nothing came of it."""
    end = asyncio.get_running_loop().time() + bound_s
    while not is_shown(editor):
        if answer.done() or asyncio.get_running_loop().time() > end:
            return False
        await asyncio.sleep(0.01)
    return True


async def close_all(visitor: Visitor, field: Field, given: dict[str, str], editor: Editor) -> None:
    if field.agent == "claude":
        await visitor.call("closeAllDiffTabs")
    elif field.agent == "copilot":
        await visitor.call("close_diff", tab_name=given["tab_name"])
    else:
        await visitor.call("closeDiff", filePath=given["filePath"])
    await eventually(lambda: not editor.reviews() and not editor.diff_windows(), 20)


async def try_field(
    visitor: Visitor, field: Field, text: str, editor: Editor, tab: str
) -> int | None:
    """Call the tool; how many diffs were shown, None: it shows none."""
    with telling(editor, f"{field}: {text!r}"):
        return await _try_field(visitor, field, text, editor, tab)


async def _try_field(
    visitor: Visitor, field: Field, text: str, editor: Editor, tab: str
) -> int | None:
    given = arguments(field, text, editor, tab)
    if field.tool not in DIFF_TOOLS:
        await visitor.call(field.tool, **given)
        return None
    answer = await visitor.begin(field.tool, **given)
    # what names no file is refused; a companion is not even told
    is_file = not field.is_path or text.removeprefix("file://").startswith("/")
    shown = await seen(editor, answer, 10 if is_file and "\0" not in text else 0.1)
    await close_all(visitor, field, given, editor)
    if field.agent != "gemini":
        async with asyncio.timeout(20):
            await answer
    answer.cancel()
    return int(shown)


async def test_fields(
    editor: Editor, visitors: dict[str, Visitor], scale: Scale, figure: Figure
) -> None:
    """Each string field of each tool, with payloads."""
    each = scale(short=3, long=len(PAYLOADS))
    calls = shown = diffs = 0
    tabs = (f"tab {number}" for number in itertools.count())
    for turn, field in enumerate(FIELDS):
        for payload in rotated(each, turn):
            for text in spellings(field, payload, editor)[: 3 if each > 3 else 2]:
                if field.is_path and text.startswith("/"):
                    a_file(text)
                counted = await try_field(visitors[field.agent], field, text, editor, next(tabs))
                calls += 1
                diffs += counted is not None
                shown += counted or 0
                assert not is_run(editor), f"{field}: {text!r}"
    figure("calls with a payload in a field", calls, "", f"{len(FIELDS)} fields, nothing was run")
    figure("diffs shown with a payload", shown, "", f"of {diffs} asked for")
    assert shown > diffs / 2, "what is refused proves nothing"
    assert editor.mode() == "n"


async def test_accepted(
    editor: Editor, visitors: dict[str, Visitor], scale: Scale, figure: Figure
) -> None:
    """The whole way of an edit, of files with such names: accepted, written, taken up, undone."""
    names = rotated(scale(short=8, long=len(PAYLOADS)), 1)
    taken = 0
    for number, payload in enumerate(names):
        if "\0" in payload or payload == ".." or len(payload) > 200:
            continue
        path = project(editor) / payload
        path.write_text("before\n")
        await visitors["claude"].call("openFile", filePath=str(path))
        answer = await visitors["claude"].begin(
            "openDiff",
            old_file_path=str(path),
            new_file_path=str(path),
            new_file_contents="after\n",
            tab_name=f"accept {number}",
        )
        assert await seen(editor, answer, 20), payload
        editor.command("AgentIde accept")
        async with asyncio.timeout(20):
            await answer
        path.write_text("after\n")
        await eventually(lambda: not editor.reviews(), 20)
        editor.command("AgentIde undo")
        taken += 1
        assert not is_run(editor), payload
    figure("edits of files with a payload for a name", taken, "", "nothing was run")
    assert taken >= len(names) - 4


async def test_other_schemes(editor: Editor, visitors: dict[str, Visitor], scale: Scale) -> None:
    """What is no path of this machine opens nothing: no buffer, no terminal, no connection."""
    channels = editor.lua("return #vim.api.nvim_list_chans()")
    for field in FIELDS:
        if not field.is_path or field.name == "old_file_path":
            continue
        for scheme in SCHEMES[:: scale(short=3, long=1)]:
            await try_field(visitors[field.agent], field, scheme, editor, "scheme")
            assert not is_run(editor), f"{field}: {scheme}"
    names = editor.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert [name for name in names if "canary" in name and "://" in name] == []
    assert not [name for name in names if name.startswith(("term:", "zip", "tar", "man", "oil"))]
    assert editor.lua("return #vim.api.nvim_list_chans()") == channels


async def test_a_relative_path_that_is_a_scheme(
    editor: Editor, visitors: dict[str, Visitor]
) -> None:
    """`term://touch canary` may also be a file below the working directory: it is not taken up."""
    place = project(editor) / "term:"
    place.mkdir()
    (place / "touch canary").write_text("before\n")
    given = {"filePath": "term://touch canary", "newContent": "after\n"}
    answer = await visitors["gemini"].begin("openDiff", **given)
    if await seen(editor, answer, 1):
        editor.command("AgentIde accept")
        (place / "touch canary").write_text("after\n")
        await eventually(lambda: not editor.reviews(), 20)
        editor.command("AgentIde undo")
        with contextlib.suppress(TimeoutError):
            await eventually(lambda: is_run(editor), 1)
    answer.cancel()
    assert not is_run(editor)
