"""The licences of what is installed, as their authors name them: doc/licences.md.

    scripts/licences.py            write it; what is for other systems is fetched to be read
    scripts/licences.py --check    never fetch: code 1 when it is not about the pinned versions

Owns:     doc/licences.md.
Not here: which packages (the lock files).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "doc/licences.md"
UV = ROOT / ".venv/bin/uv"

HEAD = """\
# Licences of what is installed

agent_ide.nvim is under the MIT licence, and no other code is in its repository. Its venv holds
these packages, each with its own licence as its authors name it. The agents' CLIs have licences of
their own: you install them, the plugin neither holds nor fetches one.

`make licences` writes this file from the packages' metadata; `make doc-check` compares.
"""

PARTS = {
    "requirements.lock": "Always",
    "requirements-notebook.lock": "With `:AgentIde install notebook`",
}


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", text))


def by_part() -> dict[str, dict[str, str]]:
    """Heading -> the packages that are there and in no part before it, with their versions."""
    known: dict[str, str] = {}
    parts = {}
    for lock, title in PARTS.items():
        found = pins(lock)
        parts[title] = {name: version for name, version in found.items() if name not in known}
        known |= found
    return parts


def named_by(metadata: importlib.metadata.PackageMetadata) -> str:
    """The licence: SPDX where the authors use it, else a short name, else the classifier."""
    for expression in metadata.get_all("License-Expression") or []:
        return str(expression)
    text = str((metadata.get_all("License") or [""])[0])
    first = text.strip().split("\n")[0].strip()
    if first and first != "UNKNOWN" and len(first) <= 40:
        return first
    classifiers = metadata.get_all("Classifier") or []
    named = [item.rpartition(" :: ")[2] for item in classifiers if item.startswith("License ::")]
    return ", ".join(named) or "see the package"


def licences_in(paths: Sequence[str]) -> dict[tuple[str, str], str]:
    """(name, version) -> licence, of all packages in these folders."""
    return {
        (re.sub(r"[-_.]+", "-", found.name).lower(), found.version): named_by(found.metadata)
        for found in importlib.metadata.distributions(path=list(paths))
    }


def fetched(missing: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """The licences of packages that this system does not install."""
    if not missing:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(UV), "pip", "install", "--quiet", "--no-deps", "--target", folder]
        subprocess.run([*command, *(f"{n}=={v}" for n, v in missing.items())], check=True)
        return licences_in([folder])


def rendered(licences: Mapping[tuple[str, str], str]) -> str:
    text = HEAD
    for title, packages in by_part().items():
        text += f"\n## {title}\n\n| package | version | licence |\n|---|---|---|\n"
        for name, version in packages.items():
            text += f"| {name} | {version} | {licences[name, version]} |\n"
    return text


def written() -> dict[tuple[str, str], str]:
    """What the document says."""
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ([\w.-]+) \| ([\d][\w.]*) \| (.+) \|$", text)
    return {(name, version): licence for name, version, licence in rows}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="The licences of what is installed.")
    parser.add_argument("--check", action="store_true", help="is doc/licences.md up to date?")
    asked = parser.parse_args(argv)
    pinned = {pin for packages in by_part().values() for pin in packages.items()}
    found = licences_in(sys.path)
    if asked.check:
        # what is not installed here keeps what the document says of just that version
        known = {**written(), **{pin: found[pin] for pin in pinned & found.keys()}}
        if pinned <= known.keys() and DOCUMENT.read_text(encoding="utf-8") == rendered(known):
            return 0
        print("doc/licences.md is out of date: run 'make licences'", file=sys.stderr)
        return 1
    missing = dict(pin for pin in pinned if pin not in found)
    DOCUMENT.write_text(rendered({**found, **fetched(missing)}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
