"""Neovim with the plugin as a user has it: `scripts/nvim` in a terminal, servers started by itself.

Owns:     its folders, the process, a second client to drive and read it, what it leaves on disk.
Not here: agents (claude.py), the pty (terminal.py), embedded Neovims of unit tests (tests/support).
"""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.e2e.client import Client
from tests.e2e.process import editor_environment, running
from tests.e2e.terminal import Terminal
from tests.support.neovim import LIMIT_S, REPO, wait_until

__all__ = ["START_S", "Editor", "Lock", "read_lock"]

START_S = 6 * LIMIT_S
"""Neovim and its host start within this; on an idle machine they take less than a second."""

# a failed test shows the log
_OPTIONS = "lua vim.g.agent_ide = { log_level = 'debug', %s }"

_numbers = itertools.count(1)

_STATUS = "return require('agent_ide.status').get()"

_DIFF_WINDOWS = """
  return vim.tbl_filter(function(window)
    return vim.wo[window].diff
  end, vim.api.nvim_list_wins())
"""

_BUFFER_NAMES = """
  return vim.tbl_map(function(window)
    return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
  end, vim.api.nvim_tabpage_list_wins(0))
"""

# The proposal is the one buffer of a review that can be written.
_TO_PROPOSAL = """
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.wo[window].diff and vim.bo[vim.api.nvim_win_get_buf(window)].buftype == "acwrite" then
      vim.api.nvim_set_current_win(window)
      return true
    end
  end
  return false
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file of the Claude server, and what it says."""

    path: Path
    port: int
    token: str
    pid: int
    content: dict[str, Any]


def read_lock(path: Path) -> Lock | None:
    """None when it has gone, or is half written."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return Lock(path, int(path.stem), content["authToken"], content["pid"], content)


class Editor:
    """A running Neovim.

    nvim:     a client on its socket.
    terminal: what the user sees.
    pid:      process id of the Neovim that has the buffers (not of its screen).
    """

    def __init__(
        self,
        folder: Path,
        project: Path,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        options: str = "",
        size: tuple[int, int] = (160, 45),
        root: Path = REPO,
    ) -> None:
        """Start it.

        Args:
            folder:  HOME and the XDG folders lie in it; short, since sockets have short paths.
            project: its working directory.
            args:    arguments of Neovim.
            env:     more environment, for agents that start in it.
            options: more options of the plugin, as fields of a Lua table.
            root:    the plugin, where it is a copy.
        """
        self.folder = folder
        self.home = folder / "home"
        self.runtime = folder / "run"
        socket = folder / f"{next(_numbers)}.sock"
        self.terminal = Terminal(
            [str(root / "scripts/nvim"), "-n", "--listen", str(socket), *_with(options), *args],
            env={**editor_environment(folder), **(env or {})},
            cwd=project,
            size=size,
        )
        self._address = socket
        try:
            self.nvim = _connect(socket)
        except BaseException:
            self.terminal.stop()
            raise
        self.pid: int = self.call("getpid")

    def reconnect(self) -> None:
        """Another Neovim has taken the place of this one, in the same terminal."""
        self.nvim.close()
        self.nvim = _connect(self._address)
        self.pid = self.call("getpid")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, whatever it waits for."""
        host = self._last_host
        with suppress(OSError, AssertionError):
            self.nvim.send("nvim_command", "qall!")
            wait_until(lambda: not running(self.pid), "Neovim's end", 2)
        self.nvim.close()
        for pid in (self.pid, host):
            if pid and running(pid):
                os.kill(pid, signal.SIGKILL)
        self.terminal.stop()

    # -- driving ---------------------------------------------------------------------------

    def paste(self, lines: Sequence[str]) -> None:
        """Paste as a terminal emulator does: a large text in parts."""
        text = "\n".join(lines)
        parts = [text[at : at + 30000] for at in range(0, len(text), 30000)]
        for number, part in enumerate(parts):
            phase = 1 if number == 0 else 3 if number == len(parts) - 1 else 2
            self.nvim.call("nvim_paste", part, True, phase)

    def feed(self, keys: str) -> None:
        """Type keys as a user does, in `<Esc>` notation, and wait until they are taken in."""
        self.nvim.call("nvim_input", keys)
        wait_until(lambda: self._blocked() or self.call("getchar", 1) == 0, "typing")

    def _blocked(self) -> bool:
        return bool(self.nvim.call("nvim_get_mode")["blocking"])

    def call(self, function: str, *args: object) -> Any:
        """Call a Vimscript function."""
        return self.nvim.call("nvim_call_function", function, args)

    def command(self, command: str) -> None:
        """Run an Ex command as a script does, not as if typed."""
        self.nvim.call("nvim_command", command)

    def lua(self, code: str, *args: object) -> Any:
        return self.nvim.call("nvim_exec_lua", code, args)

    # -- reading ---------------------------------------------------------------------------

    def mode(self) -> str:
        return str(self.nvim.call("nvim_get_mode")["mode"])

    def lines(self) -> list[str]:
        """Lines of the current buffer."""
        return list(self.nvim.call("nvim_buf_get_lines", 0, 0, -1, True))

    def diff_windows(self) -> list[int]:
        """Windows in diff mode, of every tabpage."""
        windows: list[int] = self.lua(_DIFF_WINDOWS)
        return windows

    def buffer_names(self) -> list[str]:
        """Name of the buffer in each window of the current tabpage."""
        names: list[str] = self.lua(_BUFFER_NAMES)
        return names

    def messages(self) -> str:
        return str(self.call("execute", "messages"))

    # -- the plugin ------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The host's status (doc/channel.md)."""
        status: dict[str, Any] = self.lua(_STATUS)
        return status

    def reviews(self) -> list[dict[str, Any]]:
        return list(self.status()["reviews"])

    def clients(self) -> list[dict[str, Any]]:
        return list(self.status()["clients"])

    def wait_clients(self, count: int, limit_s: float = 4 * LIMIT_S) -> list[dict[str, Any]]:
        """Wait until so many clients are connected and hear what Neovim tells them."""

        def heard() -> bool:
            clients = self.clients()
            return len(clients) == count and all(client.get("ready") for client in clients)

        wait_until(heard, f"{count} connected clients", limit_s)
        return self.clients()

    def wait_review(self, path: Path, limit_s: float = 4 * LIMIT_S) -> dict[str, Any]:
        """Wait until a review of a file is shown; it."""

        def shown() -> dict[str, Any] | None:
            found = (review for review in self.reviews() if review["state"] == "pending")
            review = next((review for review in found if review["path"] == str(path)), None)
            return review if len(self.diff_windows()) == 2 else None

        review = wait_until(shown, f"a review of {path.name}", limit_s)
        assert review is not None
        return review

    def wait_no_review(self) -> None:
        """Wait until no review is left and its windows are gone."""
        wait_until(lambda: not self.reviews() and not self.diff_windows(), "the review's end")

    def to_proposal(self) -> None:
        """Put the cursor into the proposal's window."""
        assert self.lua(_TO_PROPOSAL), f"no proposal among {self.buffer_names()}"

    def host_pid(self) -> int | None:
        """Process id of the host: the Python among Neovim's own children."""
        for child in self.nvim.call("nvim_get_proc_children", self.pid):
            # not nvim_get_proc: it needs the program ps, which a small Debian has not
            with suppress(OSError):  # it may end in this moment
                if Path(f"/proc/{child}/comm").read_text().startswith("python"):
                    self._last_host = int(child)
                    return self._last_host
        return None

    _last_host: int | None = None

    def wait_host(self) -> int:
        """Wait until the Claude server is up; the host's process id."""
        # it listens before it has read where the plugin is; a killed one's lock may still be there
        wait_until(lambda: self.call("eval", "v:vim_did_enter"), "the end of its start", START_S)
        wait_until(self.lock, "the lock file", START_S)
        wait_until(lambda: self.status()["servers"], "the host's status", START_S)
        pid = self.host_pid()
        assert pid is not None
        return pid

    def kill_host(self) -> None:
        """Kill the host and wait for the next one."""
        pid = self.wait_host()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.host_pid() not in (None, pid), "a new host", 2 * LIMIT_S)

    # -- what lies on disk -----------------------------------------------------------------

    @property
    def lock_folder(self) -> Path:
        return self.home / ".claude/ide"

    def lock(self) -> Lock | None:
        """The lock file, None when there is none (or one half written)."""
        paths = sorted(self.lock_folder.glob("*.lock"))
        return read_lock(paths[0]) if paths else None

    def copilot_lock(self) -> dict[str, Any] | None:
        """What the lock file for Copilot says, None when there is none (or one half written)."""
        for path in self.copilot_locks():
            try:
                content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            except (FileNotFoundError, ValueError):
                return None
            return content
        return None

    def copilot_locks(self) -> list[Path]:
        return sorted((self.home / ".copilot/ide").glob("*.lock"))

    def wait_copilot_lock(self) -> dict[str, Any]:
        """Wait until the Copilot server is up; what its lock file says."""
        lock = wait_until(self.copilot_lock, "the lock file for Copilot", START_S)
        assert lock is not None
        return lock

    def companion_files(self, name: str) -> list[Path]:
        """Discovery files for Gemini CLI or Qwen Code."""
        if name == "gemini":
            return sorted((self.folder / "tmp/gemini/ide").glob("*.json"))
        return sorted((self.home / ".qwen/ide").glob("*.lock"))

    def wait_companion_file(self, name: str) -> dict[str, Any]:
        """Wait until the server for Gemini CLI and Qwen Code is up; what the file says."""
        (path,) = wait_until(
            lambda: self.companion_files(name), f"the discovery file of {name}", START_S
        )
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def leftovers(self) -> list[str]:
        """Files of the plugin that a Neovim which has ended must not leave: locks and sockets."""
        folders = (self.runtime, self.folder / "tmp")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_socket()]
        # a killed Neovim leaves its own server's socket, which is none of the plugin's business
        files = [path for path in files if not path.name.startswith("nvim.")]
        locks = [*self.lock_folder.glob("*"), *self.copilot_locks()]
        locks += [path for name in ("gemini", "qwen") for path in self.companion_files(name)]
        return [str(path) for path in [*files, *locks]]


def _with(options: str) -> list[str]:
    return ["--cmd", _OPTIONS % options]


def _connect(path: Path) -> Client:
    """Wait until Neovim listens; a client."""

    def attempt() -> Client | None:
        try:
            return Client(path)
        except (FileNotFoundError, ConnectionRefusedError):
            # not there yet, or there but not listened on yet
            return None

    client = wait_until(attempt, "Neovim's socket", START_S)
    assert client is not None
    return client
