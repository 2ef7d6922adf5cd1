"""A tool's last result, while what it is made of is the same.

Owns:     that one result of each function.
Not here: what it says (protocols/*/messages.py).
Why:      an agent asks far more often than the user moves; made anew for each call it is a sixth
          of the host's work (doc/decisions/010).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import ParamSpec

from agent_ide.wire.mcp import ToolResult

__all__ = ["kept"]

P = ParamSpec("P")


def kept(make: Callable[P, ToolResult]) -> Callable[P, ToolResult]:
    """Call `make` only when an argument is another object than last time: values are frozen, and
    comparing a selection's text would cost more than it saves."""
    last: tuple[tuple[object, ...], ToolResult] | None = None

    def of(*args: P.args, **kwargs: P.kwargs) -> ToolResult:
        nonlocal last
        given = (*args, *kwargs, *kwargs.values())
        if last is None or len(last[0]) != len(given) or not all(map(is_, last[0], given)):
            last = given, make(*args, **kwargs)
        return last[1]

    return of
