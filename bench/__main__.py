"""`make bench`: measure everything, print the table, write build/bench.json.

python -m bench                   all parts
python -m bench start calls       some
python -m bench --short           fewer runs; fails when a ratio is far outside its budget
python -m bench other --port P --token T      another server of Claude Code's IDE protocol
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from bench import report
from bench.against import Place
from bench.editor import TOKEN_HEADER
from bench.other import Unanswered, measure_server
from bench.parts import PARTS, Measured, Part, measure
from bench.table import print_table


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["other"]:
        return other(arguments[1:])
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join([*PARTS, "other"]))
    parser.add_argument("--short", action="store_true", help="fewer runs; fails far outside")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    parts = [PARTS[name] for name in options.parts or PARTS]
    if options.short:
        parts = [part for part in parts if part.short_bound_s is not None]
    return run(parts, options.short)


def other(arguments: list[str]) -> int:
    """Measure a server that runs; 1 when there is none, or some row failed."""
    parser = argparse.ArgumentParser(prog="bench other")
    parser.add_argument("--port", type=int, required=True, help="on 127.0.0.1")
    parser.add_argument("--token", help="goes out in Claude Code's header")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="one more; repeatable"
    )
    parser.add_argument("--short", action="store_true", help="fewer calls")
    options = parser.parse_args(arguments)
    headers = {TOKEN_HEADER: options.token} if options.token else {}
    for header in options.header:
        name, colon, value = header.partition(":")
        if not colon:
            parser.error(f"{header!r} is no header: NAME:VALUE")
        headers[name.strip()] = value.strip()
    facts = report.machine()
    try:
        rows, errors = asyncio.run(measure_server(Place(options.port, headers), options.short))
    except Unanswered as error:
        _say(f"port {options.port}: {error}")
        return 1
    print_table(rows)
    report.write(report.REPO / "build" / "bench-other.json", rows, facts, errors)
    for name, error in errors.items():
        _say(f"{name}: {error}")
    return 1 if errors else 0


def run(parts: list[Part], short: bool) -> int:
    """Run the parts; 1 when one did not come to its end, or in the short form is far outside."""
    facts = {**report.machine(), "short": short}
    found: dict[str, Measured] = {}
    for part in parts:
        begin = time.monotonic()
        found[part.name] = measure(part, short)
        if short and found[part.name].failed:
            _say(f"{part.name}: {_trouble(found[part.name])}; measured once more")
            found[part.name] = found[part.name].or_else(measure(part, short))
        _say(f"{part.name}: {time.monotonic() - begin:.0f} s")
    rows = [row for measured in found.values() for row in measured.rows]
    errors = {name: measured.error for name, measured in found.items() if measured.error}
    print_table(rows)
    report.write(report.REPO / "build" / "bench.json", rows, facts, errors)
    failed = [name for name, measured in found.items() if measured.error or _far(measured, short)]
    for name in failed:
        _say(f"{name}: {_trouble(found[name])}")
    return 1 if failed else 0


def _far(measured: Measured, short: bool) -> bool:
    return short and measured.failed


def _trouble(measured: Measured) -> str:
    return measured.error or "far outside its budget: " + ", ".join(
        f"{row.name} ({row.value:.2f} {row.unit}, {row.budget_told})"
        for row in measured.rows
        if row.far_outside
    )


def _say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
