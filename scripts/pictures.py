#!/usr/bin/env python3
"""Pictures of reviews for README and :help, made from the cells of a real Neovim's screen.

Owns:     doc/pictures/*.svg, and the text between two marker lines of doc/agent_ide.txt.
Not here: how a review looks (lua/agent_ide/diff).

    scripts/pictures.py            make them
    scripts/pictures.py --check    fail when they are not what Neovim shows
"""

from __future__ import annotations

import html
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.neovim import Neovim  # noqa: E402

PICTURES = ROOT / "doc/pictures"
HELP = ROOT / "doc/agent_ide.txt"
BEGIN = "<!-- pictures: made by scripts/pictures.py from a screen -->\n"
END = "<!-- pictures: end -->\n"

SIZES = {"vertical": (112, 14), "horizontal": (84, 26), "inline": (84, 18)}
HELP_SIZES = {"vertical": (74, 13), "horizontal": (74, 26), "inline": (74, 18)}

CELL_WIDTH, CELL_HEIGHT, FONT = 8.4, 18, 14

OLD = '''\
"""Words of a text."""


def count(text):
    words = {}
    for word in text.split():
        if word not in words:
            words[word] = 0
        words[word] += 1
    return words
'''

NEW = '''\
"""Words of a text."""

from collections import Counter


def count(text):
    words = Counter()
    for word in text.lower().split():
        words[word] += 1
    return words
'''


class Studio:
    """A Neovim in which a review is shown, one view after the other."""

    def __init__(self, home: Path) -> None:
        project = home / "project"
        project.mkdir(parents=True)
        self._file = project / "words.py"
        self._file.write_text(OLD)
        self.nvim = Neovim(home, size=(80, 24))
        self.nvim.play_host()
        self.nvim.lua("vim.cmd.cd(...)", str(project))
        self.nvim.command("set termguicolors noshowcmd noruler laststatus=0")
        self.nvim.command(f"edit {self._file.name}")
        self._number = 0

    def show(self, layout: str, size: tuple[int, int]) -> None:
        self.nvim.call("review.close", {"id": self._number, "reason": "rejected"})
        self._number += 1
        self.nvim.api.api.ui_try_resize(*size)
        self.nvim.lua("require('agent_ide.diff.view').choose(...)", layout)
        request = {"id": self._number, "agent": "Claude Code", "path": str(self._file)}
        request |= {"tab_name": "words.py", "is_new": False}
        self.nvim.call("review.show", {**request, "text": NEW})
        entry = {**request, "agent": "claude", "title": "Claude Code", "client": "claude-1"}
        entry |= {"client_gone": False, "state": "pending"}
        reviews = [entry, {**entry, "id": 100, "state": "queued"}]
        self.nvim.call("status", {"servers": [], "clients": [], "reviews": reviews})
        self.nvim.command("redraw!")
        self.nvim.wait_screen("words.py  1/2")

    def close(self) -> None:
        self.nvim.close()

    def text(self) -> str:
        return self.nvim.screen_text()

    def svg(self) -> str:
        assert self.nvim.screen
        rows = self.nvim.screen.cells[:-1]  # without the command line
        normal = self.nvim.lua("return vim.api.nvim_get_hl(0, { name = 'Normal' })")
        width, height = len(rows[0]) * CELL_WIDTH, len(rows) * CELL_HEIGHT
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            f'font-family="ui-monospace, monospace" font-size="{FONT}">',
            f'<rect width="100%" height="100%" fill="{colour(normal["bg"])}"/>',
        ]
        for number, row in enumerate(rows):
            parts += self._row(number, row, normal)
        return "\n".join([*parts, "</svg>", ""])

    def _row(self, number: int, row: list[tuple[str, int]], normal: Any) -> Iterator[str]:
        assert self.nvim.screen
        column = 0
        for highlight, cells in groupby(row, key=lambda cell: cell[1]):
            text = "".join(cell[0] or " " for cell in cells)
            look = self.nvim.screen.highlights.get(highlight, {})
            front = look.get("foreground", normal["fg"])
            back = look.get("background", normal["bg"])
            if look.get("reverse"):
                front, back = back, front
            x, y = column * CELL_WIDTH, number * CELL_HEIGHT
            run = len(text) * CELL_WIDTH
            if back != normal["bg"]:
                yield (
                    f'<rect x="{x:.1f}" y="{y}" width="{run:.1f}" height="{CELL_HEIGHT}" '
                    f'fill="{colour(back)}"/>'
                )
            if text.strip():
                weight = ' font-weight="bold"' if look.get("bold") else ""
                yield (
                    f'<text x="{x:.1f}" y="{y + FONT}" fill="{colour(front)}"{weight} '
                    f'xml:space="preserve" textLength="{run:.1f}">{html.escape(text)}</text>'
                )
            column += len(text)


def colour(number: int) -> str:
    return f"#{number:06x}"


def help_text(studio: Studio) -> str:
    """Each view as a block of :help."""
    blocks = []
    for layout, size in HELP_SIZES.items():
        studio.show(layout, size)
        lines = studio.text().rstrip().split("\n")
        block = "".join(f"    {line}".rstrip() + "\n" for line in lines)
        # a bar or star in it would be a tag of :help
        blocks.append(f"{layout}: >\n{block.replace('|', '¦').replace('*', '∗')}<\n")
    return BEGIN + "".join(blocks) + END


def files(studio: Studio) -> dict[Path, str]:
    """What each file is to hold."""
    made = {}
    for layout, size in SIZES.items():
        studio.show(layout, size)
        made[PICTURES / f"{layout}.svg"] = studio.svg()
    text = HELP.read_text(encoding="utf-8")
    first, last = text.index(BEGIN), text.index(END) + len(END)
    return {**made, HELP: text[:first] + help_text(studio) + text[last:]}


def draw() -> dict[Path, str]:
    with tempfile.TemporaryDirectory() as home:
        studio = Studio(Path(home) / "home")
        try:
            return files(studio)
        finally:
            studio.close()


def main() -> int:
    wrong = []
    for path, content in draw().items():
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        wrong.append(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    if wrong and "--check" in sys.argv:
        print(f"not what Neovim shows: {', '.join(map(str, wrong))}; run make pictures")
        return 1
    print("pictures: " + (", ".join(map(str, wrong)) if wrong else "nothing to do"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
