"""What lies on disk of the servers before this one.

Owns:     the sweep of dead ones, what a CLI may still know of this Neovim's own last host.
Not here: names and content (discovery.py), when (serve.py), how files are written (transports/).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ide.protocols.gemini_ide.discovery import Cli, port_of
from agent_ide.transports import lockfile

__all__ = ["Credentials", "take_over"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """port: 0, any; tokens: by agent."""

    port: int
    tokens: Mapping[str, str]


def take_over(folders: Mapping[Cli, Path], pid: int) -> Credentials:
    """Those of this Neovim's host before, whose files go; terminals know its port.

    Sweeps the files of dead servers as well.
    """
    port, tokens = 0, {cli.agent: secrets.token_hex(32) for cli in folders}
    for cli, folder in folders.items():
        lockfile.sweep(folder, cli.pattern, _refuses)
        for path in sorted(folder.glob(cli.pattern)):
            prior = lockfile.read_ours(path)
            if prior is None or prior.get("pid") != pid:
                continue
            lockfile.remove(path)
            token, its_port = prior.get("authToken"), port_of(path.name)
            if isinstance(token, str) and its_port and port in (0, its_port):
                port, tokens[cli.agent] = its_port, token
    return Credentials(port, tokens)


def _refuses(path: Path, _lock: lockfile.Lock) -> bool:
    port = port_of(path.name)
    return port is not None and lockfile.port_refuses(port)
