"""Terminal escapes in whatever an agent names: the terminal gets none of them.

A real Neovim in a pty, whose every byte is kept.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import editor as editors
from tests.e2e.editor import Editor
from tests.e2e.terminal import Terminal
from tests.support.eventually import eventually
from tests.support.figures import Figure, Scale
from tests.torture.doors import doors
from tests.torture.rogue import ESCAPES
from tests.torture.visits import Visitor, visit

SHOWS = """
  vim.o.laststatus, vim.o.showtabline, vim.o.title = 2, 2, true
  vim.o.statusline = "%!v:lua.require'agent_ide.statusline'.text()"
"""

ACTED_ON = re.compile(
    rb"\x1b\]52;|\x1b\]8;;http://x"
    rb"|\x1b\][02];PWNED|\x1b\[31mPWNED|\x1b\[2J\x1b\[31m|\x1b\[\?1049lPWNED"
    rb"|\x1bP\+q544e|\x1b_PWNED|\x1bcPWNED|\x07PWNED"
    rb"|\xc2[\x80-\x9f]"
)
"""A sequence of ESCAPES that came through, or a control character of the C1 set."""


class Recorder(Terminal):
    """A terminal that keeps what was written to it."""

    written = b""

    def _next_bytes(self) -> bytes:
        data = super()._next_bytes()
        self.written += data
        return data


@pytest.fixture
def editor() -> Iterator[Editor]:
    with (
        tempfile.TemporaryDirectory(prefix="rs-") as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        folder = Path(name).resolve()
        (folder / "project").mkdir()
        patch.setattr(editors, "Terminal", Recorder)
        options = "diff = { attention = 'osc9' }"
        with Editor(folder, folder / "project", options=options) as it:
            it.lua(SHOWS)
            yield it


def written(editor: Editor) -> bytes:
    assert isinstance(editor.terminal, Recorder)
    return editor.terminal.written


async def settled(editor: Editor, marker: str) -> None:
    """All that was drawn before has come through the pty: what is drawn last has."""
    editor.lua("vim.cmd.redraw() vim.api.nvim_echo({ { ... } }, false, {})", marker)
    await eventually(lambda: marker in editor.terminal.text(), 20)


async def named_by_agent(
    claude: Visitor, copilot: Visitor, gemini: Visitor, editor: Editor, text: str
) -> None:
    """The text wherever an agent names something, each on the screen."""
    name = text.replace("/", "|")
    path = editor.folder / "project" / f"{name}.txt"
    path.write_text("before\n")
    await copilot.call("update_session_name", name=text)
    await claude.call("openFile", filePath=str(path))
    # refused, with a line that says of what
    await gemini.begin("openDiff", filePath=text, newContent=text)
    answer = await claude.begin(
        "openDiff",
        old_file_path=str(path),
        new_file_path=str(path),
        new_file_contents=f"{text}\n",
        tab_name=text,
    )
    await eventually(lambda: len(editor.diff_windows()) == 2, 20)
    editor.command("AgentIde status")
    await settled(editor, "status drawn")
    editor.feed("q")
    # a prompt: it waits for the user
    editor.nvim.send("nvim_command", "AgentIde diffs")
    await eventually(lambda: "Diffs:" in editor.terminal.text(), 20)
    editor.nvim.send("nvim_input", "<Esc>")
    await eventually(lambda: editor.mode() == "n", 20)
    # a busy user is called by their terminal
    editor.feed("i")
    await claude.call("closeAllDiffTabs")
    another = await claude.begin(
        "openDiff",
        old_file_path=str(path),
        new_file_path=str(path),
        new_file_contents="after\n",
        tab_name=f"{text} again",
    )
    await eventually(lambda: len(editor.reviews()) == 1, 20)
    editor.feed("<Esc>")
    await eventually(lambda: len(editor.diff_windows()) == 2, 20)
    await claude.call("closeAllDiffTabs")
    await eventually(lambda: not editor.reviews() and not editor.diff_windows(), 20)
    async with asyncio.timeout(20):
        await answer
        await another
    await settled(editor, "all is drawn")


async def test_escapes(editor: Editor, scale: Scale, figure: Figure) -> None:
    # in one name as many as there is room for, else one after the other
    many = scale(short=0, long=len(ESCAPES))
    texts = ESCAPES[:many] or ["".join(ESCAPES[at::3])[:70] for at in range(3)]
    found = {door.name: door for door in doors(editor)}
    # "PWNED" proves that a name is on the screen at all
    shown = 0
    async with (
        visit(found["claude"], editor) as claude,
        visit(found["copilot"], editor) as copilot,
        visit(found["gemini"], editor) as gemini,
    ):
        for text in texts:
            before = len(written(editor))
            await named_by_agent(claude, copilot, gemini, editor, text)
            came = written(editor)[before:]
            shown += b"PWNED" in came
            acted_on = ACTED_ON.search(came)
            assert acted_on is None, (
                f"{text!r}: {came[acted_on.start() - 40 : acted_on.end() + 40]!r}"
            )
    assert shown >= len(texts) / 2, "the names were drawn"
    figure("bytes to the terminal without an escape of an agent's", len(written(editor)), "B")
