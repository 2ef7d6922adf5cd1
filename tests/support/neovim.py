"""A real Neovim, embedded, that a test drives and reads.

Owns:     the child process, its private XDG folders, what it has notified, a copy of its screen.
Not here: fixtures (tests/conftest.py), the host (a test that wants one plays it, or starts it).

    with Neovim(tmp_path) as nvim:
        nvim.play_host()
        nvim.feed("iabc<Esc>")
        nvim.wait_event("selection", lambda payload: payload["path"] != "")
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import pynvim

from .screen import Screen

__all__ = ["LIMIT_S", "REPO", "Neovim", "find_nvim", "wait_until"]

REPO = Path(__file__).resolve().parents[2]

T = TypeVar("T")

LIMIT_S = 5.0 * float(os.environ.get("AGENT_IDE_TEST_SLOWNESS", "1"))
"""How long a test waits for what must happen; a slow machine raises the factor."""


def find_nvim() -> str:
    """The Neovim to test: $NVIM, else PATH, else the one beside the interpreter.

    $NVIM is a socket inside a :terminal of Neovim, so only a file that can be run counts.
    """
    beside = Path(sys.prefix) / "bin" / "nvim"
    for candidate in (os.environ.get("NVIM"), shutil.which("nvim"), str(beside)):
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise FileNotFoundError("no Neovim: set NVIM, or install one on PATH or in the venv")


def wait_until(look: Callable[[], T], what: str = "it", limit_s: float = LIMIT_S) -> T:
    """Poll `look` until it gives something true; its value.

    Raises:
        AssertionError: `limit_s` passed; says what was awaited and the last value seen.
    """
    end = time.monotonic() + limit_s
    while not (value := look()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen in {limit_s} s, last seen: {value!r}")
        time.sleep(0.005)
    return value


class Neovim:
    """An embedded Neovim with this repository on 'runtimepath'.

    api:    pynvim's object, for `api.api.*`, `api.funcs`, `api.command`, `api.exec_lua`.
    events: `agent_ide:event` notifications seen, as (name, payload), oldest first.
    screen: the cells, when a size was given; None without a UI.
    """

    def __init__(
        self,
        home: Path,
        *,
        size: tuple[int, int] | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        plugin: bool = False,
    ) -> None:
        """Start it.

        Args:
            home:   an empty folder of the test; HOME, XDG folders and TMPDIR lie in it.
            size:   (columns, lines) of a UI to attach.
            args:   more arguments of nvim, after ours.
            env:    more environment.
            plugin: source plugin/ at start-up as for a user, so that the host starts by itself.
        """
        argv = ["env", "-u", "NVIM", "-u", "NVIM_LISTEN_ADDRESS"]
        argv += [f"{name}={value}" for name, value in _environment(home, env or {}).items()]
        argv += [find_nvim(), "--clean", "-n", "--embed", "--headless"]
        if plugin:
            argv += ["--cmd", f"set rtp^={REPO}"]
        self.home = home
        self.api = pynvim.attach("child", argv=[*argv, *args])
        self.pid: int = self.api.funcs.getpid()
        self.channel: int = self.api.channel_id
        self.events: list[tuple[str, Any]] = []
        self.screen: Screen | None = None
        self._replies: dict[int, tuple[bool, Any]] = {}
        self._calls = 0
        if not plugin:
            self.api.command(f"set rtp^={REPO}")
        if size:
            self.screen = Screen()
            self.api.api.ui_attach(*size, {"rgb": True, "ext_linegrid": True})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, whatever it waits for."""
        self.api.command("qall!", async_=True)
        if not self._ended_within(2):
            os.kill(self.pid, signal.SIGKILL)
            self._ended_within(2)
        self.api.close()

    def _ended_within(self, limit_s: float) -> bool:
        """Let pynvim's loop see the end: a loop that is closed before leaves an unreaped child."""
        end = time.monotonic() + limit_s
        while (exists := _exists(self.pid)) and time.monotonic() < end:
            self._run_loop(0.002)
        # the process knows that the child was reaped; now the loop hears of it
        self._run_loop(0.002)
        return not exists

    def _run_loop(self, for_s: float) -> None:
        # not run_until_complete: pynvim stops the loop when the channel ends
        self.api.loop.call_later(for_s, self.api.loop.stop)
        self.api.loop.run_forever()

    # -- driving ---------------------------------------------------------------------------

    def lua(self, code: str, *args: object) -> Any:
        """Run Lua in Neovim and give its value; `...` are the args."""
        return self.api.exec_lua(code, *args)

    def eval(self, expression: str) -> Any:
        return self.api.eval(expression)

    def command(self, command: str) -> None:
        self.api.command(command)

    def feed(self, keys: str) -> None:
        """Type keys as a user does, in `<Esc>` notation. Returns once they are taken in.

        Keys that leave Neovim waiting for more (an operator, a prompt) are fine.
        """
        self.api.api.input(keys)
        wait_until(lambda: self.api.api.get_mode()["blocking"] or self._typed(), "typing")

    def _typed(self) -> bool:
        return bool(self.api.eval("getchar(1) == 0"))

    def mode(self) -> str:
        return str(self.api.api.get_mode()["mode"])

    # -- being the host --------------------------------------------------------------------

    def play_host(self) -> None:
        """Make this test the host: events come to it, `call` asks Neovim."""
        self.lua("require('agent_ide.rpc').attach(...)", self.channel)

    def begin_call(self, name: str, args: Mapping[str, Any] | None = None) -> int:
        """Send a call of doc/channel.md; the id to look for with `reply`."""
        self._calls += 1
        code = "require('agent_ide.rpc').dispatch(...)"
        self.lua(code, self.channel, self._calls, name, dict(args or {}))
        return self._calls

    def reply(self, call: int) -> tuple[bool, Any] | None:
        """(ok, value) of a call, None while it is not answered."""
        self.receive()
        return self._replies.get(call)

    def call(self, name: str, args: Mapping[str, Any] | None = None) -> Any:
        """Send a call and wait for its value.

        Raises:
            AssertionError: Neovim refused it; the message is Neovim's sentence.
        """
        number = self.begin_call(name, args)
        reply = wait_until(lambda: self.reply(number), f"the answer to {name}")
        assert reply is not None
        assert reply[0], reply[1]
        return reply[1]

    # -- reading ---------------------------------------------------------------------------

    def receive(self, wait_s: float = 0.01) -> None:
        """Take in what Neovim has notified; waits up to `wait_s` for the first."""
        while message := self._next_message(wait_s):
            _, name, args = message
            if name == "agent_ide:event":
                self.events.append((args[0], args[1]))
            elif name == "agent_ide:reply":
                self._replies[args[0]] = (args[1], args[2])
            elif name == "redraw" and self.screen:
                self.screen.redraw(args)
            wait_s = 0.001

    def _next_message(self, wait_s: float) -> Any:
        timer = self.api.loop.call_later(wait_s, self.api.stop_loop)
        try:
            return self.api.next_message()
        finally:
            timer.cancel()

    def named(self, event: str) -> list[Any]:
        """Payloads of one event seen so far, oldest first."""
        self.receive()
        return [payload for name, payload in self.events if name == event]

    def wait_event(self, event: str, suits: Callable[[Any], bool] = lambda payload: True) -> Any:
        """Wait for an event whose payload suits; the newest such payload."""

        def look() -> list[Any]:
            return [payload for payload in self.named(event) if suits(payload)]

        return wait_until(look, f"event {event}")[-1]

    def screen_text(self) -> str:
        """What the attached UI shows now, one line a row, trailing blanks cut."""
        self.receive()
        assert self.screen, "no UI: give a size"
        return self.screen.text()

    def wait_screen(self, text: str) -> str:
        """Wait until the text is on the screen; the whole screen."""

        def look() -> str:
            shown = self.screen_text()
            return shown if text in shown else ""

        try:
            return wait_until(look, f"{text!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.screen_text()}") from None


def _environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Folders of its own for everything that Neovim and the agents' CLIs write."""
    folders = {
        "HOME": "home",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_STATE_HOME": "state",
        "XDG_CACHE_HOME": "cache",
        "XDG_RUNTIME_DIR": "run",
        "CLAUDE_CONFIG_DIR": "home/.claude",
        "COPILOT_HOME": "home/.copilot",
    }
    env = {}
    for name, folder in folders.items():
        path = home / folder
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        env[name] = str(path)
    return {**env, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **more}


def _exists(pid: int) -> bool:
    """Whether there is such a process; a zombie that nobody has reaped counts."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
