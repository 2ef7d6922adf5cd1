"""Which protocol facts do the newest CLIs break?

    scripts/cli_drift.py                   the newest of all four from npm
    scripts/cli_drift.py qwen claude=2.2.0 these, the second in just this version

Each version lies in a folder of its own in the developers' cache, beside the pinned one. A fact
is the first line of a test's docstring in tests/e2e. What failed is tried once more: four programs
draw their screens in their own time. Code 1: a fact is broken, or could not be tried.

Owns:     the report.
Not here: fetching (fetch_cli.py), the facts (tests/e2e, doc/protocols).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import fetch_cli  # noqa: E402

AGENTS = ("claude", "copilot", "gemini", "qwen")
FAILED = 1
"""pytest's code for tests that failed; others say that the run itself went wrong."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a test said. reason: empty when the fact holds, else the first line of why not."""

    test: str
    fact: str
    agents: tuple[str, ...]
    reason: str
    tried: bool


def results(report: Path) -> Iterator[Result]:
    """The tests of a JUnit report of pytest that are about a CLI."""
    for case in ET.parse(report).getroot().iter("testcase"):
        properties = {item.get("name", ""): item.get("value", "") for item in case.iter("property")}
        agents = tuple(name for name in properties.get("agents", "").split() if name in AGENTS)
        if not agents:
            continue
        bad = next((found for kind in ("failure", "error") for found in case.iter(kind)), None)
        skipped = case.find("skipped")
        why = bad if bad is not None else skipped
        yield Result(
            test=f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}",
            fact=properties.get("fact", ""),
            agents=agents,
            reason="" if why is None else (why.get("message") or "it failed").splitlines()[0],
            tried=skipped is None,
        )


def told(found: Sequence[Result], versions: Mapping[str, tuple[str, str]]) -> tuple[str, bool]:
    """The report, and whether every fact holds.

    Args:
        versions: for each CLI the pinned version and the one that was run.
    """
    lines = []
    for agent, (pinned, run) in versions.items():
        ours = [result for result in found if agent in result.agents]
        broken = [result for result in ours if result.reason]
        lines.append(f"{agent} {pinned} -> {run}" + (" (the pinned one)" if pinned == run else ""))
        lines.append(f"  {len(ours) - len(broken)} of {len(ours)} tests hold their facts")
        for result in broken:
            word = "BROKEN" if result.tried else "NOT TRIED"
            lines += [f"  {word}: {result.fact}", f"    {result.test}", f"    {result.reason}"]
    complete = all(any(agent in result.agents for result in found) for agent in versions)
    return "\n".join(lines), complete and not any(result.reason for result in found)


def run_tests(versions: Mapping[str, str], report: Path, more: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pytest", "tests/e2e", "-n", "2", "--dist", "loadfile", "-q"]
    command += ["-m", "cli", "-k", " or ".join(versions), "-o", "junit_family=xunit2", *more]
    command += ["--junitxml", str(report), "-o", f"cache_dir={ROOT / 'build/drift'}"]
    return subprocess.run(command, cwd=ROOT).returncode


def chosen(asked: Sequence[str]) -> dict[str, str]:
    """The version to run of each CLI.

    Raises:
        FetchError: npm does not answer.
    """
    named = dict(item.partition("=")[::2] for item in asked or AGENTS)
    if unknown := named.keys() - set(AGENTS):
        raise fetch_cli.FetchError(f"unknown: {', '.join(sorted(unknown))}")
    return {name: version or fetch_cli.newest(name) for name, version in named.items()}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Which protocol facts do the newest CLIs break?")
    parser.add_argument("cli", nargs="*", help="a name, or name=version; default: all, the newest")
    asked = parser.parse_args(argv)
    try:
        versions = chosen(asked.cli)
        os.environ[fetch_cli.VERSIONS] = " ".join(f"{n}={v}" for n, v in versions.items())
        for name in versions:
            fetch_cli.fetch(name)
    except fetch_cli.FetchError as error:
        print(error, file=sys.stderr)
        return 1
    folder = ROOT / "build/drift"
    folder.mkdir(parents=True, exist_ok=True)
    first, second = folder / "first.xml", folder / "second.xml"
    code = run_tests(versions, first, [])
    found = {result.test: result for result in results(first)}
    if code == FAILED:
        print("--- once more, what failed", flush=True)
        run_tests(versions, second, ["--lf"])
        found |= {result.test: result for result in results(second)}
    pinned = {name: fetch_cli.pinned(name).rpartition("@")[2] for name in versions}
    mine = [result for result in found.values() if set(result.agents) & versions.keys()]
    text, good = told(mine, {name: (pinned[name], run) for name, run in versions.items()})
    print(f"\n{text}")
    return 0 if good and code in (0, FAILED) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
