"""The cells of an attached UI, from Neovim's redraw events (ext_linegrid).

Owns:     one grid of cells, the cursor, the highlight of each cell.
Not here: the connection (neovim.py).
"""

from __future__ import annotations

from typing import Any

__all__ = ["Screen"]


class Screen:
    """What a terminal UI would show.

    cells:      rows of (text, highlight id).
    cursor:     (row, column), 0-based.
    highlights: highlight id -> its attributes as Neovim sent them.
    mode:       name of the mode as the UI is told it: normal, insert, terminal, ...
    """

    def __init__(self) -> None:
        self.cells: list[list[tuple[str, int]]] = []
        self.cursor = (0, 0)
        self.highlights: dict[int, dict[str, Any]] = {}
        self.mode = ""

    def redraw(self, batches: list[Any]) -> None:
        """Apply one redraw notification; kinds of events that show no cell are passed over."""
        for name, *calls in batches:
            apply = getattr(self, f"_on_{name}", None)
            if apply:
                for arguments in calls:
                    apply(*arguments)

    def lines(self) -> list[str]:
        """The rows as text, trailing blanks cut."""
        return ["".join(text for text, _ in row).rstrip() for row in self.cells]

    def text(self) -> str:
        return "\n".join(self.lines())

    def _on_grid_resize(self, grid: int, width: int, height: int) -> None:
        old = self.cells
        self.cells = [[(" ", 0)] * width for _ in range(height)]
        for row, cells in enumerate(old[:height]):
            self.cells[row][: len(cells[:width])] = cells[:width]

    def _on_grid_clear(self, grid: int) -> None:
        self.cells = [[(" ", 0)] * len(row) for row in self.cells]

    def _on_grid_line(self, grid: int, row: int, column: int, cells: list[Any], *_: Any) -> None:
        highlight = 0
        for text, *more in cells:
            # an absent highlight is the one of the cell before
            highlight = more[0] if more else highlight
            for _repeat in range(more[1] if len(more) > 1 else 1):
                self.cells[row][column] = (text, highlight)
                column += 1

    def _on_grid_scroll(
        self, grid: int, top: int, bottom: int, left: int, right: int, rows: int, columns: int
    ) -> None:
        order = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in order:
            self.cells[row][left:right] = self.cells[row + rows][left:right]

    def _on_grid_cursor_goto(self, grid: int, row: int, column: int) -> None:
        self.cursor = (row, column)

    def _on_hl_attr_define(self, number: int, rgb: dict[str, Any], *_: Any) -> None:
        self.highlights[number] = rgb

    def _on_mode_change(self, mode: str, index: int) -> None:
        self.mode = mode
