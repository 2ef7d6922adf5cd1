"""A terminal with a program in it: a pty, and a screen that pyte keeps.

Owns:     the pty, the program's process, the cells of its screen, the names of keys.
Not here: what the program is (claude.py, editor.py).

    with Terminal(["claude"], env=env, cwd=project) as terminal:
        terminal.wait_for(r"ready")
        terminal.type("hello")
        terminal.key("Enter")
"""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pyte

from tests.support.neovim import LIMIT_S

__all__ = ["KEYS", "Terminal"]

KEYS = {
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "BackTab": "\x1b[Z",
    "Backspace": "\x7f",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    **{f"C-{letter}": chr(ord(letter) - ord("a") + 1) for letter in "abcdefghijklmnopqrstuvwxyz"},
    "C-\\": "\x1c",
}
"""What a key sends; `C-c` is the control key with a letter."""

# Sequences that pyte does not know and would show as text, and those that only colour. Each is
# dropped whole: strings (OSC, DCS, APC, PM), CSI with a private mark other than "?", with
# intermediate bytes or with sub-parameters, and SGR.
_DROP = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b\[[<=>][0-?]*[ -/]*[@-~]"
    r"|\x1b\[\??[0-9;:]*[ -/]+[@-~]"
    r"|\x1b\[[0-9;:]*m"
    r"|\x1b\[\?[0-?]*[^hl0-?c]"
)
# The beginning of a sequence whose rest has not been read yet.
_OPEN = re.compile(r"\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|\[[0-?]*[ -/]*)?\Z")


class _Cells(pyte.Screen):
    """pyte's screen, whose answers to questions (cursor position, attributes) go to the program."""

    def __init__(self, columns: int, lines: int, terminal: Terminal) -> None:
        super().__init__(columns, lines)
        self._terminal = terminal

    def write_process_input(self, data: str) -> None:
        self._terminal.type(data)


class Terminal:
    """A running program and its screen.

    pid: the program's process id, also the id of its session.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        size: tuple[int, int] = (110, 40),
    ) -> None:
        """Start the program.

        Args:
            argv: program and arguments; the program is looked up in env's PATH.
            env:  its whole environment.
            cwd:  its directory.
            size: (columns, lines).
        """
        self._screen = _Cells(*size, terminal=self)
        self._stream = pyte.Stream(self._screen)
        self._changed = threading.Condition()
        self._ended = False
        self._master, slave = os.openpty()
        self._closed = False
        self._set_size(size)
        # The shell leads a new session, so the pty that it opens becomes its controlling terminal.
        # (A preexec_fn could do the same, but forks a process that has threads.)
        opening = 'tty=$1; shift; exec "$@" <>"$tty" >&0 2>&0'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", opening, "sh", os.ttyname(slave), *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"TERM": "xterm-256color", **env},
            cwd=cwd,
            start_new_session=True,
        )
        self.pid = self._process.pid
        # Our end of the slave stays open until the program has its own: else the master is at EOF.
        self._slave: int | None = slave
        self._wake_read, self._wake_write = os.pipe()
        self._pump = threading.Thread(target=self._read, name=f"terminal-{self.pid}", daemon=True)
        self._pump.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- life ------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the program a signal; nothing happens when it has ended."""
        if self.alive:
            os.kill(self.pid, number)

    def wait_ended(self, limit_s: float = LIMIT_S) -> int:
        """Wait until the program has ended; its exit status (negative: a signal).

        Raises:
            AssertionError: it still runs after `limit_s`.
        """
        try:
            return self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit_s} s:\n{self.text()}") from None

    def stop(self) -> None:
        """End the program and give the pty back; may be called twice."""
        self.kill(signal.SIGTERM)
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGKILL)
            self._process.wait(10)
        self.hang_up()

    def hang_up(self) -> None:
        """Take the terminal away from the program, as a closed window does."""
        if self._closed:
            return
        self._closed = True
        # The pty goes when nobody reads from it any more.
        os.write(self._wake_write, b"x")
        self._pump.join()
        self._give_slave_back()
        for end in (self._master, self._wake_read, self._wake_write):
            os.close(end)

    # -- the keyboard ----------------------------------------------------------------------

    def type(self, text: str) -> None:
        """Send text as it is."""
        data = b"" if self._closed else text.encode()
        try:
            while data:
                data = data[os.write(self._master, data) :]
        except OSError:
            # the program has ended: its screen tells the test
            return

    def key(self, *names: str) -> None:
        """Press keys of KEYS, or single characters."""
        self.type("".join(KEYS.get(name, name) for name in names))

    def press_until(self, pattern: str, *names: str, limit_s: float = LIMIT_S) -> str:
        """Press keys again and again until a pattern is on the screen; the screen.

        For a dialog that ignores keys in its first moments. The same keys must do no harm when they
        come once more.
        """
        return self._press(names, lambda: self.shows(pattern), f"{pattern!r} to appear", limit_s)

    def press_until_gone(self, pattern: str, *names: str, limit_s: float = LIMIT_S) -> str:
        """The same until a pattern has left the screen."""
        return self._press(names, lambda: not self.shows(pattern), f"{pattern!r} to go", limit_s)

    def _press(self, names: Sequence[str], done: Any, what: str, limit_s: float) -> str:
        end = time.monotonic() + limit_s
        while True:
            self.key(*names)
            if self._wait(done, min(0.4, max(0.0, end - time.monotonic()))):
                return self.text()
            if time.monotonic() >= end or self._ended:
                raise self._failure(f"pressed {names} and waited {limit_s} s for {what}")

    # -- the screen ------------------------------------------------------------------------

    def text(self) -> str:
        """What the screen shows, one line a row, trailing blanks cut."""
        with self._changed:
            return "\n".join(row.rstrip() for row in self._screen.display)

    def shows(self, pattern: str) -> bool:
        return re.search(pattern, self.text()) is not None

    def wait_for(self, pattern: str, limit_s: float = LIMIT_S) -> str:
        """Wait until a regular expression matches the screen; the screen.

        Raises:
            AssertionError: it did not in `limit_s`, or the program ended; holds the screen.
        """
        if self._wait(lambda: self.shows(pattern), limit_s):
            return self.text()
        raise self._failure(f"{pattern!r} is not on the screen after {limit_s} s")

    def wait_gone(self, pattern: str, limit_s: float = LIMIT_S) -> str:
        """Wait until a regular expression no longer matches the screen; the screen."""
        if self._wait(lambda: not self.shows(pattern), limit_s):
            return self.text()
        raise self._failure(f"{pattern!r} is still on the screen after {limit_s} s")

    def resize(self, columns: int, lines: int) -> None:
        with self._changed:
            self._screen.resize(lines, columns)
        self._set_size((columns, lines))

    def _wait(self, done: Any, limit_s: float) -> bool:
        end = time.monotonic() + limit_s
        with self._changed:
            while not done():
                left = end - time.monotonic()
                if left <= 0 or self._ended:
                    return bool(done())
                self._changed.wait(left)
        return True

    def _failure(self, what: str) -> AssertionError:
        state = "ended" if self._ended else "runs"
        return AssertionError(f"{what} (the program {state}):\n{self.text()}")

    # -- the pty ---------------------------------------------------------------------------

    def _set_size(self, size: tuple[int, int]) -> None:
        columns, lines = size
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self) -> None:
        """Feed the screen until the program has ended and all it wrote is read."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        held = ""
        while data := self._next_bytes():
            text = _DROP.sub("", held + decoder.decode(data))
            cut = _OPEN.search(text)
            held = text[cut.start() :] if cut else ""
            with self._changed:
                self._stream.feed(text[: cut.start()] if cut else text)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _next_bytes(self) -> bytes:
        ready, _, _ = select.select([self._master, self._wake_read], [], [])
        if self._wake_read in ready:
            return b""
        try:
            data = os.read(self._master, 65536)
        except OSError:
            # EIO: nobody has the slave open any more
            return b""
        self._give_slave_back()
        return data

    def _give_slave_back(self) -> None:
        slave, self._slave = self._slave, None
        if slave is not None:
            os.close(slave)
