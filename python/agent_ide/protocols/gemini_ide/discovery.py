"""The two CLIs of this protocol: where each looks for an IDE, and what stands there; pure.

Owns:     folder, names and fields of both discovery files; what tells the two CLIs apart.
Not here: writing them (transports/lockfile.py), when (serve.py).
Source:   doc/protocols/gemini-ide.md#discovery.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agent_ide.wire import jsonrpc

__all__ = ["CLIS", "GEMINI", "QWEN", "Cli", "port_of"]

IDE = {"name": "neovim", "displayName": "Neovim"}
"""Without it neither CLI takes the file for an IDE's."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a CLI has to know of this server.

    pid:     Neovim's, which lives as long as the server.
    folders: real paths; a CLI connects when it runs in one of them or below.
    """

    port: int
    token: str
    pid: int
    folders: Sequence[str]


class Cli(Protocol):
    """One of the CLIs.

    agent, title: its name in options and status, and for people.
    client_name:  its name in the status; both introduce themselves alike.
    tells_version: the version in its introduction is its own.
    port_variable: which of several servers it shall take.
    pattern:      names of its discovery files.
    """

    agent: str
    title: str
    client_name: str
    tells_version: bool
    port_variable: str
    pattern: str

    def folder(self, environ: Mapping[str, str]) -> Path: ...

    def file_name(self, pid: int, port: int) -> str: ...

    def content(self, server: Server) -> dict[str, Any]: ...


class Gemini:
    agent = "gemini"
    title = "Gemini CLI"
    client_name = "gemini-cli"
    tells_version = True
    port_variable = "GEMINI_CLI_IDE_SERVER_PORT"
    pattern = "gemini-ide-server-*-*.json"

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Below the temp folder as Node finds it."""
        names = ("TMPDIR", "TMP", "TEMP")
        found = next((environ[name] for name in names if environ.get(name)), "/tmp")
        return Path(found) / "gemini" / "ide"

    def file_name(self, pid: int, port: int) -> str:
        return f"gemini-ide-server-{pid}-{port}.json"

    def content(self, server: Server) -> dict[str, Any]:
        # the CLI splits at each separator: half a path could be a folder that is none of ours
        folders = [folder for folder in server.folders if os.pathsep not in folder]
        return {**_common(server), "workspacePath": os.pathsep.join(folders)}


class Qwen:
    agent = "qwen"
    title = "Qwen Code"
    client_name = "qwen-code"
    tells_version = False
    port_variable = "QWEN_CODE_IDE_SERVER_PORT"
    pattern = "*.lock"

    def folder(self, environ: Mapping[str, str]) -> Path:
        """`$QWEN_HOME/ide`, else `~/.qwen/ide`."""
        home = environ.get("QWEN_HOME")
        if home:
            return Path(home).expanduser() / "ide"
        return Path(environ.get("HOME") or Path.home()) / ".qwen" / "ide"

    def file_name(self, pid: int, port: int) -> str:
        return f"{port}.lock"

    def content(self, server: Server) -> dict[str, Any]:
        # a JSON list: paths may hold any separator
        folders = jsonrpc.encode(list(server.folders)).decode()
        return {**_common(server), "ppid": server.pid, "workspacePath": folders}


def _common(server: Server) -> dict[str, Any]:
    # neither CLI reads `pid`: the sweep of dead servers does
    return {"port": server.port, "authToken": server.token, "pid": server.pid, "ideInfo": IDE}


GEMINI: Cli = Gemini()
QWEN: Cli = Qwen()
CLIS = (GEMINI, QWEN)

_PORT = re.compile(r"(?:gemini-ide-server-\d+-)?(\d{1,5})\.(?:json|lock)")


def port_of(name: str) -> int | None:
    """The port in the name of a discovery file of either."""
    found = _PORT.fullmatch(name)
    return int(found[1]) if found else None
