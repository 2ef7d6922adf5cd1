"""Who may import whom, held against every import in python/.

A module must match a row of ROWS. Naming a type counts as knowing it, except a third party's:
`if TYPE_CHECKING: import pynvim` does not use pynvim.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[1] / "python"
RPLUGIN = PYTHON.parent / "rplugin" / "python3" / "agent_ide_host.py"


@dataclass(frozen=True)
class Row:
    """What some modules may import.

    X stands for one protocol, the same in the whole row: protocols never import each other.
    """

    modules: str
    may_import: str = ""
    third_parties: str = ""
    asyncio: bool = False


GROUPS = {
    "values": "model errors config trust",
    "port": "editor.port editor.state editor.selected",
    "jupyter": "jupyter_client jupyter_core zmq",
}

# The first row that matches is the module's.
ROWS = (
    Row("model errors version log trust"),
    Row("config", "errors", "msgspec"),
    Row("tasks", asyncio=True),
    Row("wire.*", "values wire.*", "msgspec"),
    Row("review.machine review.merge", "values review.machine review.merge"),
    Row("review.changes", "values"),
    Row("review.review", "values review.machine review.changes", asyncio=True),
    Row("review.watch", "review.review", asyncio=True),
    Row("review.reviews review.writing review.reasons", "values tasks port review.*", asyncio=True),
    Row("notebook.jupyter", "values notebook.*", "jupyter", asyncio=True),
    Row("notebook.*", "values tasks port notebook.*", asyncio=True),
    Row("editor.port editor.state editor.selected", "values port"),
    Row("editor.diagnosed", "values", "msgspec"),
    Row("editor.nvim", "values tasks port editor.*", "pynvim msgspec", asyncio=True),
    Row("transports.lockfile", "values", "msgspec"),
    Row("transports.*", "values tasks wire.* transports.*", "websockets aiohttp", asyncio=True),
    Row("protocols.base", "values tasks port review.* notebook.*"),
    Row("protocols.calls", "values wire.*"),
    Row("protocols.peer", "values wire.* transports.pushes protocols.calls", asyncio=True),
    Row("protocols.peers", "protocols.peer"),
    Row("protocols.X.discovery", "values wire.*", "msgspec"),
    Row("protocols.X.messages", "values wire.* protocols.X.discovery", "msgspec"),
    Row(
        "protocols.X.session",
        "values wire.* protocols.X.messages protocols.X.discovery",
        "msgspec",
    ),
    Row(
        "protocols.X.tools",
        "values tasks port review.* notebook.* wire.* protocols.X.messages protocols.X.session",
        "msgspec",
    ),
    Row(
        "protocols.X.serve protocols.X.peer protocols.X.places",
        "values version tasks port review.* notebook.* wire.* transports.* protocols.base"
        " protocols.calls protocols.peer protocols.peers protocols.X.*",
        "msgspec",
        asyncio=True,
    ),
    # parts of the composition root
    Row("servers", "values protocols.base", asyncio=True),
    Row(
        "host",
        "values version log servers tasks editor.* review.* notebook.* protocols.base",
        "msgspec",
        asyncio=True,
    ),
)


@dataclass(frozen=True)
class Import:
    """name: a module, dotted; for_types: it is not imported when the product runs."""

    name: str
    for_types: bool = False


def modules_of(package: str) -> dict[str, Path]:
    """Every module of a package by its name below it; the package itself is ""."""
    root = PYTHON / package
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules_of("agent_ide")


def imports_of(tree: ast.AST, for_types: bool = False) -> Iterator[Import]:
    """Every import of a syntax tree, in functions as well, and by `import_module("...")`."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, for_types) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    below = f"{module}.{alias.name}"
                    is_module = below.removeprefix("agent_ide.") in MODULES
                    yield Import(below if is_module else module, for_types)
            case ast.ImportFrom():
                raise AssertionError(f"line {node.lineno}: relative imports hide who is meant")
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from imports_of(ast.Module(node.body, []), for_types=True)
                yield from imports_of(ast.Module(node.orelse, []), for_types)
            case _:
                if isinstance(node, ast.Constant) and is_own(node.value):
                    # how an import at run time names its module, whoever is called for it
                    yield Import(str(node.value), for_types)
                yield from imports_of(node, for_types)


def is_own(value: object) -> bool:
    return isinstance(value, str) and value.removeprefix("agent_ide.") in MODULES.keys() - {value}


def faults(module: str, found: Iterable[Import]) -> list[str]:
    """What a module of agent_ide imports and may not."""
    for row in ROWS:
        protocol = matches(module, row.modules)
        if protocol is not None:
            return [wrong for one in found for wrong in faults_of_one(row, protocol, one)]
    return [f"{module} matches no row: say there what it may import"]


def faults_of_one(row: Row, protocol: str, one: Import) -> Iterator[str]:
    top, _, below = one.name.partition(".")
    if top == "asyncio":
        if not row.asyncio:
            yield "asyncio"
    elif top == "agent_ide":
        if matches(below, row.may_import.replace(".X.", f".{protocol}.")) is None:
            yield below
    elif not one.for_types and top not in {*sys.stdlib_module_names, *expand(row.third_parties)}:
        yield one.name


def matches(module: str, patterns: str) -> str | None:
    """The protocol that X stands for ("" when there is no X), None when no pattern matches."""
    for pattern in expand(patterns):
        parts = re.escape(pattern).replace(r"\.X\.", r"\.(?P<X>\w+)\.").replace(r"\*", r"[\w.]+")
        if found := re.fullmatch(parts, module):
            return found.groupdict().get("X", "")
    return None


def expand(names: str) -> list[str]:
    return " ".join(GROUPS.get(name, name) for name in names.split()).split()


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_what_its_floor_may(module: str) -> None:
    found = [one for one in imports_of(parse(MODULES[module])) if one.name != "__future__"]
    if MODULES[module].name == "__init__.py":
        assert found == [], "a package's own file would be run with every module in it"
    else:
        assert faults(module, found) == []


def test_what_builds_the_venv_needs_no_venv() -> None:
    for path in modules_of("agent_ide_venv").values():
        tops = {one.name.partition(".")[0] for one in imports_of(parse(path))}
        assert tops <= {*sys.stdlib_module_names, "agent_ide_venv"}, path.name


def test_the_remote_plugin_is_light_and_knows_the_host_only() -> None:
    tree = parse(RPLUGIN)
    at_once = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    third_parties = {
        one.name
        for one in imports_of(ast.Module(list(at_once), []))
        if one.name not in sys.stdlib_module_names
    }
    assert third_parties == {"pynvim"}
    assert {one.name for one in imports_of(tree) if one.name.partition(".")[0] == "agent_ide"} == {
        "agent_ide.host"
    }


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("wire.mcp", "import asyncio", "asyncio"),
        ("wire.mcp", "from asyncio import sleep", "asyncio"),
        ("wire.mcp", "from agent_ide.editor.port import Editor", "editor.port"),
        ("wire.mcp", "import agent_ide.host", "host"),
        ("wire.mcp", "from agent_ide import host", "host"),
        ("wire.mcp", "def f():\n    from agent_ide import host", "host"),
        ("wire.mcp", "if TYPE_CHECKING:\n    from agent_ide import host", "host"),
        ("wire.mcp", "import_module('agent_ide.host')", "host"),
        ("review.machine", "from agent_ide.review.reviews import Reviews", "review.reviews"),
        ("review.machine", "import msgspec", "msgspec"),
        ("transports.websocket", "from agent_ide.protocols import base", "protocols.base"),
        ("transports.lockfile", "import asyncio", "asyncio"),
        ("notebook.kernel", "import jupyter_client", "jupyter_client"),
        ("host", "import pynvim", "pynvim"),
        ("host", "import agent_ide.protocols.a.serve", "protocols.a.serve"),
        ("protocols.a.session", "import agent_ide.editor.port", "editor.port"),
        ("protocols.a.messages", "import agent_ide.protocols.b.messages", "protocols.b.messages"),
        ("protocols.a.serve", "import agent_ide.protocols.b.serve", "protocols.b.serve"),
        ("protocols.a.serve", "import agent_ide.editor.nvim", "editor.nvim"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str, fault: str) -> None:
    assert faults(module, imports_of(ast.parse(source))) == [fault]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("protocols.a.serve", "import asyncio, agent_ide.protocols.a.tools"),
        ("protocols.a.session", "import json, agent_ide.wire.mcp"),
        ("host", "if TYPE_CHECKING:\n    import pynvim"),
        ("notebook.kernel", "def f(): import_module('agent_ide.notebook.jupyter')"),
    ],
)
def test_an_allowed_import_is_not_found(module: str, source: str) -> None:
    assert faults(module, imports_of(ast.parse(source))) == []


@pytest.mark.parametrize("module", ["helpers", "protocols.a.helpers", "protocols.helpers"])
def test_a_module_without_a_row_is_a_fault(module: str) -> None:
    assert faults(module, []) == [f"{module} matches no row: say there what it may import"]


def test_relative_imports_are_refused() -> None:
    with pytest.raises(AssertionError, match="relative imports"):
        list(imports_of(ast.parse("from . import model")))
