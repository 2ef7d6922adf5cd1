"""`make bench`: measure everything, print the table, write build/bench.json.

python -m bench                 all rows
python -m bench start calls     some
"""

from __future__ import annotations

import sys

from bench import calls, diffs, start
from bench.editor import REPO
from bench.table import print_table, write_json

PARTS = {"start": start.rows, "calls": calls.rows, "diffs": diffs.rows}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    rows = [row for name in names or PARTS for row in PARTS[name]()]
    print_table(rows)
    write_json(rows, REPO / "build" / "bench.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
