"""One review: a proposal and what became of it.

Owns:     what is known of it.
Not here: the lifecycle's rules (machine.py), the set of all reviews (reviews.py).
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import Any

from agent_ide.model import Accepted, Changes, Proposal, ReviewId, Verdict
from agent_ide.review.machine import UNDECIDED, State

__all__ = ["Disk", "Review", "as_lf"]

PIECE_CHARS = 64 * 1024


@dataclass(frozen=True, slots=True)
class Disk:
    """What there is at a path.

    data:       what the file holds; None: there is no file that can be read.
    read_only:  the file may not be written.
    has_folder: the folder that the path is in exists.
    """

    data: bytes | None = None
    is_folder: bool = False
    read_only: bool = False
    has_folder: bool = True

    @property
    def text(self) -> str | None:
        """With LF line breaks. A BOM stays; what is not UTF-8 becomes U+FFFD, as in the CLIs."""
        if self.data is None:
            return None
        return as_lf(self.data.decode("utf-8", "replace"))

    def holds(self, text: str) -> bool:
        """Whether `text` is what it decodes to; most often told without decoding it."""
        if self.data is None:
            return False
        if _is_encoded(self.data, text):
            return True
        is_plain = self.data.isascii() and b"\r" not in self.data
        return not is_plain and self.text == text

    def trouble(self, before: Disk) -> str | None:
        """For people: why an edit that was made for `before` does not fit any more."""
        if self.is_folder:
            return "a folder is there now"
        if self.read_only:
            return "read-only on disk"
        if self.data is None and before.data is not None:
            return "deleted on disk"
        if before.has_folder and not self.has_folder:
            return "its folder is gone"
        if before.data is None and self.data is not None:
            return "made on disk meanwhile"
        return None if self.reads_as(before) else "changed on disk"

    def reads_as(self, other: Disk) -> bool:
        """Whether it is the same text, whatever the line breaks."""
        return self.data == other.data or self.text == other.text


def as_lf(text: str) -> str:
    """With LF line breaks; most texts have no others, which is told at once."""
    return text.replace("\r\n", "\n") if "\r" in text else text


def _is_encoded(data: bytes, text: str) -> bool:
    """Piece by piece: a large text is not encoded whole, and most often differs early."""
    at = 0
    for start in range(0, len(text), PIECE_CHARS):
        piece = text[start : start + PIECE_CHARS].encode("utf-8", "replace")
        if not data.startswith(piece, at):
            return False
        at += len(piece)
    return at == len(data)


@dataclass(eq=False, slots=True)
class Review:
    """One proposal and what became of it.

    Attributes:
        is_new:      the file did not exist when the edit was proposed.
        before:      the file when the edit was proposed.
        disk:        the file when it was last looked at; after an accept: when that was given.
        stale:       for people, why the edit does not fit the file any more; None: it does.
        changes:     how much the proposal changes of what was there before; None: not counted yet.
        shows:       how often its view was asked for; an answer to an earlier one is late.
        opened:      its view has been visible.
        deciding:    an accept is on its way: the file is looked at, the user is asked.
        verdict:     set once, by the first decision.
        client_gone: its client is not connected any more.
    """

    id: ReviewId
    proposal: Proposal
    is_new: bool
    before: Disk = field(default_factory=Disk)
    disk: Disk = field(default_factory=Disk)
    stale: str | None = None
    changes: Changes | None = None
    shows: int = 0
    opened: bool = False
    deciding: bool = False
    state: State = State.QUEUED
    verdict: Verdict | None = None
    client_gone: bool = False
    waiter: asyncio.Future[Verdict] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @classmethod
    def of(cls, review_id: ReviewId, proposal: Proposal) -> Review:
        return cls(review_id, proposal, is_new=not os.path.exists(proposal.path))

    @property
    def path(self) -> str:
        return self.proposal.path

    @property
    def name(self) -> str:
        return os.path.basename(self.proposal.path)

    @property
    def expected(self) -> str | None:
        """What the agent writes after the accept; None before it."""
        match self.verdict:
            case Accepted(text):
                return text if self.proposal.writes == "accepted" else self.proposal.text
        return None

    @property
    def undecided(self) -> bool:
        return self.state in UNDECIDED

    @property
    def accepted(self) -> bool:
        return self.state is State.ACCEPTED

    def is_in(self, disk: Disk) -> bool:
        """Whether the agent has written what it was to write, whatever the line breaks."""
        return self.expected is not None and disk.holds(as_lf(self.expected))

    def same_file(self, other: Review) -> bool:
        return os.path.realpath(self.path) == os.path.realpath(other.path)

    def facts(self) -> dict[str, Any]:
        """What an event says of it (doc/channel.md)."""
        facts: dict[str, Any] = {
            "agent": self.proposal.agent,
            "path": self.path,
            "tab_name": self.proposal.tab_name,
            "hunks": (self.changes or Changes()).hunks,
            "is_new": self.is_new,
        }
        if self.verdict is not None:
            facts["verdict"] = type(self.verdict).__name__.lower()
        return facts

    def status(self) -> dict[str, Any]:
        """Its entry in the host's status (doc/channel.md)."""
        proposal, changes = self.proposal, self.changes or Changes()
        entry = {
            "id": self.id,
            "agent": proposal.agent,
            "title": proposal.title,
            "client": proposal.client,
            "client_gone": self.client_gone,
            "path": proposal.path,
            "tab_name": proposal.tab_name,
            "state": self.state.value,
            "is_new": self.is_new,
            "added": changes.added,
            "removed": changes.removed,
            "carries_reason": proposal.closings_after_reject > 0,
        }
        if self.stale is not None:
            entry["stale"] = self.stale
        return entry
