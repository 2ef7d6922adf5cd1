"""Values that more than one floor speaks of.

Owns:     nothing; all values are frozen.
Not here: wire forms (protocols/*/messages.py), the review's lifecycle (review/machine.py).
Units:    line and character are 0-based, character is a UTF-8 byte offset, end is exclusive.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal, NewType

__all__ = [
    "Accepted",
    "Cancelled",
    "CancelledBy",
    "Changes",
    "ClientId",
    "Diagnostic",
    "Failed",
    "NotebookTarget",
    "OpenBuffer",
    "OpenFile",
    "OpenedFile",
    "Position",
    "Proposal",
    "Range",
    "Rejected",
    "RejectedBy",
    "ReviewId",
    "SavedFile",
    "Selection",
    "Severity",
    "Verdict",
]

ClientId = NewType("ClientId", str)
"""One connection of one agent's CLI, such as "claude-1"; never used again for another."""

ReviewId = NewType("ReviewId", int)


@dataclass(frozen=True, slots=True)
class Position:
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    start: Position
    end: Position

    @property
    def empty(self) -> bool:
        return self.start == self.end


@dataclass(frozen=True, slots=True)
class Selection:
    """Text the user has selected, or the cursor when the range is empty.

    path:      absolute, as Neovim spells it.
    text:      what lies between, "\\n" as line break whatever 'fileformat' says.
    truncated: the text was cut (at 64 KiB, at a line's end); the range is true all the same.
    """

    path: str
    range: Range
    text: str
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class OpenBuffer:
    """A listed buffer of a file; active: it is in the current window.

    last_used_s: when it was last in a window, seconds since the epoch; 0: never.
    """

    path: str
    active: bool
    dirty: bool
    untitled: bool
    language_id: str
    line_count: int
    last_used_s: int = 0


class Severity(enum.IntEnum):
    """As vim.diagnostic counts them."""

    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    HINT = 4


@dataclass(frozen=True, slots=True)
class Diagnostic:
    message: str
    severity: Severity
    range: Range
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A request to show a file; the texts are plain patterns that may span lines."""

    path: str
    preview: bool = False
    start_text: str | None = None
    end_text: str | None = None
    select_to_end_of_line: bool = False
    make_frontmost: bool = True


@dataclass(frozen=True, slots=True)
class OpenedFile:
    language_id: str
    line_count: int


@dataclass(frozen=True, slots=True)
class SavedFile:
    """found: the file is open in the editor; message says why it was not saved."""

    found: bool
    saved: bool
    message: str


@dataclass(frozen=True, slots=True)
class NotebookTarget:
    """The notebook that executeCode is about: an .ipynb file or a `# %%` script."""

    path: str
    kernel_name: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """How much an edit changes.

    added, removed: lines; hunks: places where something differs.
    """

    added: int = 0
    removed: int = 0
    hunks: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that an agent proposes: `path` shall hold `text` (LF line breaks).

    agent:    name of the protocol's agent, such as "claude".
    title:    the agent's name for people, such as "Claude Code".
    tab_name: the agent's name for the diff; unique while open within its agent.
    writes:   which text the agent writes after an accept: the accepted one, or its own proposal.
    closing:  what the user's closing of the view means.
    when_stale: a sentence for people: what an accept leads to when the file is not any more what
              it was when the edit was proposed.
    closings_after_reject: how often the agent closes the tab of a rejected edit before its prompt
              takes text; 0: it takes none.
    when_emptied: a sentence for people: why an accept after which nothing is left of the text is
              refused; None: it is not.
    """

    agent: str
    title: str
    client: ClientId
    path: str
    tab_name: str
    text: str
    writes: Literal["accepted", "proposed"] = "accepted"
    closing: Literal["rejects", "hides"] = "rejects"
    when_stale: str = "The agent may fail, or overwrite it."
    closings_after_reject: int = 0
    when_emptied: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The user agrees to `text`.

    unchanged_file: the text is what the file holds already (compared with LF line breaks).
    """

    text: str
    unchanged_file: bool


class RejectedBy(enum.Enum):
    COMMAND = "rejected by the user"
    VIEW_CLOSED = "the user closed the view"


@dataclass(frozen=True, slots=True)
class Rejected:
    by: RejectedBy


class CancelledBy(enum.Enum):
    CLIENT = "its client closed it"
    REPLACED = "another proposal of its name replaces it"
    REQUEST = "its request was cancelled"
    CLIENT_GONE = "its client is gone"
    TIMEOUT = "nobody decided in time"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nobody's verdict is wanted any more."""

    by: CancelledBy


@dataclass(frozen=True, slots=True)
class Failed:
    """The view could not be opened; reason is a sentence for the agent and the log.

    by_choice: the user does not want to see it.
    """

    reason: str
    by_choice: bool = False


Verdict = Accepted | Rejected | Cancelled | Failed
