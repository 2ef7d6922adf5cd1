"""The benchmark's own arithmetic, its rule of the short form, and a server by port and token."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from bench import report
from bench.against import Place
from bench.desk import Desk
from bench.echo import Bare
from bench.growth import exponent
from bench.other import Unanswered, measure_server
from bench.parts import Measured, Part, measure
from bench.table import Row, percentile, print_table

ANSWER = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"content": []}})


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1), (0.5, 51), (0.99, 100), (1.0, 100), (0.25, 26)]
)
def test_percentile(share: float, value: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == value
    assert percentile([7], share) == 7


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_exponent(power: float) -> None:
    sizes = [4, 16, 64]
    assert exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)


def test_exponent_of_a_constant_and_a_linear_part_is_below_one() -> None:
    assert 0 < exponent([1, 4, 16], [10 + size for size in (1, 4, 16)]) < 1


@pytest.mark.parametrize(
    ("sizes", "costs"), [([1], [1]), ([2, 2], [1, 3]), ([1, 4], [0, 3]), ([1, 4], [1])]
)
def test_no_exponent(sizes: list[float], costs: list[float]) -> None:
    with pytest.raises(ValueError):
        exponent(sizes, costs)


@pytest.mark.parametrize(
    ("value", "at_least", "holds", "far"),
    [
        (0.9, False, True, False),
        (1.0, False, True, False),
        (1.1, False, False, False),
        (2.0, False, False, False),
        (2.1, False, False, True),
        (1.1, True, True, False),
        (0.9, True, False, False),
        (0.5, True, False, False),
        (0.4, True, False, True),
    ],
)
def test_a_ratio_against_its_budget(value: float, at_least: bool, holds: bool, far: bool) -> None:
    row = Row("a ratio", value, "x", 1.0, at_least=at_least)
    assert (row.holds, row.far_outside) == (holds, far)


def test_milliseconds_of_a_shared_machine_fail_nothing() -> None:
    row = Row("a stall", 1000.0, "ms", 10.0)
    assert not row.holds
    assert not row.far_outside


def test_a_quadratic_growth_is_far_outside() -> None:
    assert Row("growth", 2.0, "exp", 1.15).far_outside
    assert not Row("growth", 1.3, "exp", 1.15).far_outside


def test_what_is_only_told_holds() -> None:
    row = Row("memory", 99.0, "x", None)
    assert row.holds
    assert not row.far_outside


def test_a_row_fails_only_when_it_is_far_outside_twice() -> None:
    good, bad = Row("a", 1.0, "x", 1.0), Row("a", 9.0, "x", 1.0)
    other = Row("b", 1.0, "x", 1.0)
    assert Measured([bad, other]).failed
    assert not Measured([bad, other]).or_else(Measured([good, other])).failed
    assert Measured([bad, other]).or_else(Measured([bad, other])).failed
    # what held the first time is not spoiled by the second
    assert Measured([good, Row("b", 9.0, "x", 1.0)]).or_else(Measured([bad, other])).rows == [
        good,
        other,
    ]
    assert not Measured([], "it hung").or_else(Measured([good])).failed
    assert Measured([bad]).or_else(Measured([], "it hung")).error == "it hung"


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(
        [
            Row("calls", 3.0, "x", 1.35, "3 / 1 us"),
            Row("throughput", 0.4, "x", 0.5, at_least=True),
            Row("memory", 43.0, "MB", None),
        ]
    )
    _, calls, throughput, memory = capsys.readouterr().out.splitlines()
    assert calls.split()[1:] == ["3.00", "x", "<=", "1.35", "x", "FAR", "3", "/", "1", "us"]
    assert throughput.split()[1:] == ["0.40", "x", ">=", "0.5", "x", "OVER"]
    assert memory.split()[1:] == ["43.00", "MB"]


def test_json_keeps_rows(tmp_path: Path) -> None:
    rows = [Row("a", 1.0, "x", 2.0, "detail"), Row("b", 3.0, "x", 2.0, at_least=True)]
    report.write(tmp_path / "build" / "bench.json", rows, report.machine(), {"calls": "it hung"})
    content = json.loads((tmp_path / "build" / "bench.json").read_text())
    assert report.rows_of(content["rows"]) == rows
    assert content["rows"][0]["holds"] is True
    assert content["errors"] == {"calls": "it hung"}
    assert content["machine"]["cores"] >= 1
    assert content["machine"]["websockets"]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import time\ndef rows(short=False):\n    time.sleep(60)\n", "it hung"),
        ("def rows(short=False):\n    raise RuntimeError\n", "it failed with 1"),
    ],
)
def test_a_part_that_hangs_or_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, error: str
) -> None:
    (tmp_path / "bench_part_of_a_test.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    part = Part("some", module="bench_part_of_a_test", short_bound_s=2.0)
    measured = measure(part, short=True)
    assert measured.rows == []
    assert error in measured.error


async def test_the_bare_echo_by_its_port() -> None:
    with Bare(ANSWER) as server:
        rows, errors = await measure_server(Place(server.port), short=True)
    assert errors == {}
    names = [row.name for row in rows]
    assert names[0].startswith("getOpenEditors: p50")
    assert len(names) == 4, "one tool, calls in flight, many clients"


async def test_our_own_server_by_its_port_and_token() -> None:
    with Desk() as desk:
        rows, errors = await measure_server(desk.claude, short=True)
        assert errors == {}
        assert len(rows) == 2 * 5 + 2
        with pytest.raises(Unanswered, match="401"):
            await measure_server(Place(desk.claude_port, {}), short=True)


async def test_nobody_there() -> None:
    with Bare(ANSWER) as server:
        port = server.port
    with pytest.raises(Unanswered, match="no connection"):
        await measure_server(Place(port), short=True)


async def test_the_command_line_of_another_server() -> None:
    with Bare(ANSWER) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bench", "other", "--port", server.address, "--header", "x-token: 1"),
            "--short",
            cwd=report.REPO,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
    assert process.returncode == 0
    assert b"100 clients at once" in out
