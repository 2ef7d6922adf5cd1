"""Rows of the table that `make bench` prints, and their JSON.

Owns:     what a row says: a figure, its budget, whether it holds.
Not here: measuring (the row modules).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Row", "percentile", "print_table", "write_json"]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    value:  in `unit`; a ratio has unit "x".
    budget: the most it may be; None: only told.
    detail: the absolute figures behind it, on this machine in this run.
    """

    name: str
    value: float
    unit: str
    budget: float | None
    detail: str = ""

    @property
    def holds(self) -> bool:
        return self.budget is None or self.value <= self.budget


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_table(rows: Iterable[Row]) -> None:
    print(f"{'what':<58} {'figure':>12} {'budget':>9}  ")
    for row in rows:
        budget = "" if row.budget is None else f"{row.budget:g} {row.unit}"
        mark = "ok" if row.holds else "OVER"
        print(f"{row.name:<58} {row.value:>9.2f} {row.unit:<2} {budget:>9}  {mark:<4} {row.detail}")


def write_json(rows: Sequence[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows_json = [{**asdict(row), "holds": row.holds} for row in rows]
    path.write_text(json.dumps(rows_json, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
