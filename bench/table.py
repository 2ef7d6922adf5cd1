"""Rows of the table that `make bench` prints, and what a budget means for them.

Owns:     what a row says: a figure, its budget, whether it holds, whether it is far outside.
Not here: measuring (the parts), running the parts and the JSON (parts.py, report.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Row", "percentile", "print_table"]

FAR = {"x": 2.0, "exp": 1.5}
"""How often over its budget a row is far outside, by unit. Only what was measured against something
in the same run has one: milliseconds of a machine that is shared fail nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    value:    in `unit`; a ratio has unit "x", an exponent of growth "exp".
    budget:   the most it may be; None: only told.
    detail:   the absolute figures behind it, on this machine in this run.
    at_least: the budget is the least it may be, as for a throughput.
    """

    name: str
    value: float
    unit: str
    budget: float | None
    detail: str = ""
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self._within(1.0)

    @property
    def far_outside(self) -> bool:
        """So far over its budget that noise is no excuse; what fails the short form."""
        return self.unit in FAR and not self._within(FAR[self.unit])

    def _within(self, factor: float) -> bool:
        if self.budget is None:
            return True
        if self.at_least:
            return self.value >= self.budget / factor
        return self.value <= self.budget * factor

    @property
    def budget_told(self) -> str:
        if self.budget is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {self.budget:g} {self.unit}".rstrip()

    @property
    def mark(self) -> str:
        if self.budget is None:
            return ""
        return "ok" if self.holds else "FAR" if self.far_outside else "OVER"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_table(rows: Iterable[Row]) -> None:
    print(f"{'what':<64} {'figure':>12} {'budget':>11}")
    for row in rows:
        figure = f"{row.value:>8.2f} {row.unit:<3}"
        print(f"{row.name:<64} {figure} {row.budget_told:>11} {row.mark:<4} {row.detail}".rstrip())
