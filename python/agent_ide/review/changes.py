"""How much an edit changes; pure.

Owns:     nothing.
Not here: the same once it is shown, which the editor counts (lua/agent_ide/diff/hunks.lua): this is
          for those that wait for their turn.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from agent_ide.model import Changes

__all__ = ["count"]

MOST_WORK = 1_000_000
"""Lines times lines; above it the hunks are not told apart, which would take seconds."""


def count(before: str, after: str) -> Changes:
    """What leads from one text to the other, line by line."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = _common(old, new)
    end = _common(
        old[: start - 1 if start else None : -1], new[: start - 1 if start else None : -1]
    )
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) * len(new) > MOST_WORK:
        kept = (Counter(old) & Counter(new)).total()
        return Changes(len(new) - kept, len(old) - kept, 1)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return Changes(
        added=sum(j2 - j1 for _, _, _, j1, j2 in changed),
        removed=sum(i2 - i1 for _, i1, i2, _, _ in changed),
        hunks=len(changed),
    )


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines at the start are the same."""
    same = 0
    for mine, theirs in zip(old, new, strict=False):
        if mine != theirs:
            break
        same += 1
    return same
