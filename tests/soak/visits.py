"""What happens in a long life, one piece at a time.

Owns:     the pieces: a selection, a diff that is opened and closed, an agent that comes and goes.
Not here: how often (test_soak.py), what is left (inventory.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.servers import claude, copilot
from tests.support.live import Live
from tests.support.neovim import LIMIT_S, wait_until

__all__ = ["LINES", "Visits"]

LINES = 2000

LIMIT = 6 * LIMIT_S

_STATE = """
  local reviews = require("agent_ide").reviews()
  return reviews[1] and reviews[1].state or ""
"""


class Visits:
    """One Neovim, a file that it shows and one that it does not, and agents that do all they can
    with them."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._number = 0
        self.file = live.project / "a.txt"
        self._closed = live.project / "closed.txt"
        for file in (self.file, self._closed):
            self._write(file, "".join(f"line {number}\n" for number in range(LINES)))
        # each edit that is taken up is one undo away, up to 'undolevels': that is no leak
        live.editor.command("set undolevels=10")
        live.editor.lua("vim.cmd.edit(...)", str(self.file))

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")

    def select(self, count: int) -> None:
        """The user selects a little in another line, so many times."""
        for _ in range(count):
            self._number += 1
            line = self._number % LINES + 1
            self._live.editor.nvim.call("nvim_input", f"{line}Gvl<Esc>")
        wait_until(lambda: self._live.editor.call("getchar", 1) == 0, "typing")

    def visit_of_claude(self, selections: int, diffs: int) -> None:
        live = self._live
        client = live.claude()
        self._wait_client()
        self.select(selections)
        for _ in range(diffs):
            self._diff_of_claude(client)
        live.run(client.close())
        self._alone()

    def visit_of_copilot(self, selections: int, diffs: int) -> None:
        live = self._live
        client = live.copilot()
        self._wait_client()
        self.select(selections)
        for _ in range(diffs):
            self._diff_of_copilot(client)
        live.run(client.delete())
        live.run(client.kill())
        self._alone()

    def _wait_client(self) -> None:
        wait_until(lambda: len(self._live.editor.clients()) == 1, "that it is known", LIMIT)

    def _alone(self) -> None:
        wait_until(lambda: not self._live.editor.clients(), "that it has gone", LIMIT)

    def _text(self) -> str:
        self._number += 1
        return "".join(f"line {number}\n" for number in range(self._number % 50, LINES))

    def _file(self) -> Path:
        return self.file if self._number % 2 else self._closed

    def _diff_of_claude(self, client: claude.Client) -> None:
        live, text, file = self._live, self._text(), self._file()
        tab = f"diff {self._number}"
        request = live.run(client.open_diff(file, text, tab))
        self._wait_state("pending")
        ends: list[Callable[[], object]] = [
            lambda: live.editor.command("AgentIde accept"),
            lambda: live.editor.command("AgentIde reject"),
            lambda: live.run(client.begin("close_tab", tab_name=tab)),
            lambda: live.run(client.begin("closeAllDiffTabs")),
            self._close_window,
        ]
        ends[self._number % len(ends)]()
        answer = live.run(client.answer(request, LIMIT), LIMIT)
        blocks = answer["result"]["content"]
        if blocks[0]["text"] == "FILE_SAVED":
            self._write(file, blocks[1]["text"])
        live.run(client.call("close_tab", tab_name=tab), LIMIT)
        self._wait_state("")

    def _diff_of_copilot(self, client: copilot.Client) -> None:
        live, text, file = self._live, self._text(), self._file()
        wire = live.run(client.open_diff(file, text, f"diff {self._number}"))
        self._wait_state("pending")
        ends: list[Callable[[], object]] = [
            lambda: live.editor.command("AgentIde accept"),
            lambda: live.editor.command("AgentIde reject"),
            lambda: live.run(client.call("close_diff", tab_name=f"diff {self._number}")),
            self._close_window,
        ]
        ends[self._number % len(ends)]()
        if live.run(client.verdict(wire), LIMIT)["result"] == "SAVED":
            self._write(file, text)
            live.run(client.call("close_diff", tab_name=f"diff {self._number}"), LIMIT)
        self._wait_state("")

    def _close_window(self) -> None:
        self._live.editor.to_proposal()
        self._live.editor.command("close")

    def _wait_state(self, state: str) -> None:
        """Of the only review; "": there is none, and its windows are gone."""
        editor = self._live.editor
        wait_until(lambda: editor.lua(_STATE) == state, f"review: {state or 'none'}", LIMIT)
        if not state:
            wait_until(lambda: not editor.diff_windows(), "the end of its windows", LIMIT)
