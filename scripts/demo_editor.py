"""What the demo's agent knows of an editor, whatever the protocol between them.

Owns:     the contract between the conversation and a connection.
Not here: the conversation (demo_agent.py), the protocols (demo_claude.py, demo_copilot.py).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

CLIENT = {"name": "demo-agent", "version": "1"}
REVISION = "2025-11-25"


class NoEditorError(Exception):
    """One line that says why there is no editor to connect to."""


@dataclass(frozen=True, slots=True)
class Selection:
    path: Path
    text: str
    first_lnum: int
    last_lnum: int

    def __str__(self) -> str:
        if not self.text:
            return f"the cursor in {self.path.name}, line {self.first_lnum}"
        return f"lines {self.first_lnum} to {self.last_lnum} of {self.path.name}:\n{self.text}"


class Editor(ABC):
    """A connection to an editor.

    name:     what it calls itself.
    selected: what it tells of the selection, oldest first.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.selected: asyncio.Queue[Selection] = asyncio.Queue()

    @abstractmethod
    async def greet(self) -> None:
        """Say who we are; afterwards tools can be called."""

    @abstractmethod
    async def receive(self) -> None:
        """Take messages until the editor goes."""

    @abstractmethod
    async def propose(self, path: Path, text: str, tab: str) -> str | None:
        """Show a diff and wait for the user; the text to write, None when it is rejected."""

    @abstractmethod
    async def finish(self, tab: str) -> None:
        """A proposal has been dealt with, written or not."""

    def tell_selection(self, params: Json) -> None:
        """A `selection_changed` has come; both protocols have the same."""
        if params.get("filePath"):
            start, end = params["selection"]["start"], params["selection"]["end"]
            last = end["line"] + 1 - (end["character"] == 0 and end != start)
            path = Path(params["filePath"])
            self.selected.put_nowait(Selection(path, params["text"], start["line"] + 1, last))
