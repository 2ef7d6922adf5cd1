"""The parts of the benchmark; each runs in a process of its own, bounded in time.

Owns:     which parts there are, how long each may take, what becomes of one that hangs or fails.
Not here: what a part measures (its module: `rows(short)`, a list of rows).

python -m bench.parts MODULE OUT BOUND [--short]     what the process of one part is
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.report import REPO, rows_of, rows_to_json
from bench.table import Row

__all__ = ["PARTS", "Measured", "Part", "measure"]

END_S = 10.0
"""How long a part that was told to end may take for it: it has Neovims to end."""


@dataclass(frozen=True, slots=True)
class Part:
    """One module with a function `rows`.

    module:        bench.NAME unless said.
    bound_s:       what it may take at most; several times what it does take.
    short_bound_s: the same for its short form; None: it has none.
    """

    name: str
    bound_s: float = 300.0
    short_bound_s: float | None = None
    module: str = ""


PARTS = {
    part.name: part
    for part in (
        Part("start", short_bound_s=120.0),
        Part("calls", short_bound_s=120.0),
        Part("clients", short_bound_s=120.0),
        Part("meanwhile", short_bound_s=120.0),
        Part("growth", short_bound_s=120.0),
        Part("diffs", bound_s=600.0, short_bound_s=180.0),
        Part("moves", short_bound_s=120.0),
        Part("selections", short_bound_s=120.0),
        Part("diagnostics", short_bound_s=120.0),
        Part("memory", short_bound_s=120.0),
    )
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of a part; `error` is empty when it went to its end."""

    rows: list[Row]
    error: str = ""

    @property
    def failed(self) -> bool:
        """Something of it is no noise."""
        return bool(self.error) or any(row.far_outside for row in self.rows)

    def or_else(self, again: Measured) -> Measured:
        """What holds after a second run: a row counts as far outside when it was so both times."""
        if self.error or again.error:
            return again
        second = {row.name: row for row in again.rows}
        rows = [second.get(row.name, row) if row.far_outside else row for row in self.rows]
        return Measured(rows)


def measure(part: Part, short: bool) -> Measured:
    """Run one part; whatever happens in it, the others go on."""
    bound_s = part.bound_s if not short else part.short_bound_s
    assert bound_s is not None, f"{part.name} has no short form"
    with tempfile.TemporaryDirectory(prefix="aib") as folder:
        out = Path(folder) / "rows.json"
        module = part.module or f"bench.{part.name}"
        command = [sys.executable, "-m", "bench.parts", module, str(out), str(bound_s)]
        # a session of its own: what it has started can be ended with it
        process = subprocess.Popen(
            [*command, *(["--short"] if short else [])], cwd=REPO, start_new_session=True
        )
        try:
            code = process.wait(bound_s)
        except subprocess.TimeoutExpired:
            return Measured([], f"it hung: no end within {bound_s:g} s")
        finally:
            _end(process)
        if code != 0:
            return Measured([], f"it failed with {code}: see above")
        return Measured(rows_of(json.loads(out.read_text(encoding="utf-8"))))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End all that is left of a part; nothing is in the usual case."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            continue


def _main(arguments: Iterable[str]) -> None:
    name, out, bound_s, *short = arguments
    # says where it hangs, just before it is ended
    faulthandler.dump_traceback_later(0.95 * float(bound_s))
    module = importlib.import_module(name)
    rows = module.rows(short=True) if short else module.rows()
    Path(out).write_text(json.dumps(rows_to_json(rows)), encoding="utf-8")


if __name__ == "__main__":
    _main(sys.argv[1:])
