"""Nothing that lasts is measured with a clock that can be set: a rule on the source.

The wall clock jumps (a laptop wakes, NTP, the user). Durations, deadlines and orders come from
the loop, time.monotonic() and vim.uv.now()/hrtime(), which do not. Who reads the wall clock all
the same is listed here, with what it is for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ALLOWED = {
    (
        "python/agent_ide/protocols/copilot_ide/serve.py",
        "time.time_ns",
    ),  # the protocol's timestamps
    ("lua/agent_ide/log.lua", "os.date"),  # the time of a line, for people
    ("lua/agent_ide/diff/kept.lua", "os.date"),  # the time of a text, for people
    ("lua/agent_ide/diff/kept.lua", "gettimeofday"),  # the same; its order is kept beside
    ("lua/agent_ide/changes.lua", "gettimeofday"),  # compared with the times of files
}

PYTHON = {
    "time": {"time", "time_ns", "localtime", "gmtime", "ctime", "strftime", "asctime"},
    "datetime": {"*"},
}

LUA = re.compile(r"\b(os\.time|os\.date|os\.clock|gettimeofday|clock_gettime|strftime|localtime)\b")


def in_python(source: str) -> Iterator[str]:
    """Uses of the wall clock, as `module.name`; a module under another name counts as well."""
    tree = ast.parse(source)
    names = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.asname or alias.name: alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases) if module in PYTHON:
                for alias in aliases:
                    if PYTHON[module] & {"*", alias.name}:
                        yield f"{module}.{alias.name}"
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                module = names.get(name, "")
                if PYTHON.get(module, set()) & {"*", attribute}:
                    yield f"{module}.{attribute}"


def in_lua(source: str) -> Iterator[str]:
    for line in source.splitlines():
        yield from LUA.findall(line.partition("--")[0])


def all_uses() -> set[tuple[str, str]]:
    found = set()
    for folder in ("python", "rplugin", "lua", "plugin"):
        for path in (ROOT / folder).rglob("*.*"):
            read = {".py": in_python, ".lua": in_lua}.get(path.suffix)
            if read:
                name = str(path.relative_to(ROOT))
                found |= {(name, use) for use in read(path.read_text(encoding="utf-8"))}
    return found


def test_the_wall_clock_is_read_where_it_must_be_and_nowhere_else() -> None:
    assert all_uses() == ALLOWED


@pytest.mark.parametrize(
    ("source", "use"),
    [
        ("import time\nend = time.time() + 5", "time.time"),
        ("import time as t\nt.time_ns()", "time.time_ns"),
        ("from time import time", "time.time"),
        ("import datetime\ndatetime.datetime.now()", "datetime.datetime"),
        ("from datetime import UTC", "datetime.UTC"),
    ],
)
def test_a_use_in_python_is_found(source: str, use: str) -> None:
    assert list(in_python(source)) == [use]


def test_a_monotonic_clock_is_none() -> None:
    assert list(in_python("import time\ntime.monotonic()\nloop.time()")) == []
    assert list(in_lua("local now = vim.uv.now() -- not os.time()")) == []


def test_a_use_in_lua_is_found() -> None:
    assert list(in_lua("local t = os.time()\nlocal s = vim.uv.gettimeofday()")) == [
        "os.time",
        "gettimeofday",
    ]
