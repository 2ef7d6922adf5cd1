"""A tool's last result is made once for what it is made of."""

from __future__ import annotations

from agent_ide.wire.kept import kept
from agent_ide.wire.mcp import ToolResult


def test_made_anew_only_for_another_object() -> None:
    made: list[tuple[object, bool]] = []

    @kept
    def result(value: list[int] | None, flag: bool = False) -> ToolResult:
        made.append((value, flag))
        return ToolResult.of_json([value, flag])

    one, equal = [1], [1]
    assert result(one) is result(one)
    assert made == [(one, False)]
    assert result(equal) == result(one)
    assert len(made) == 3, "an equal one may be another's"
    assert result(one, flag=True) != result(one, flag=False)
    assert result(one) == result(one, flag=False)
    assert result(None) == ToolResult.of_json([None, False])
