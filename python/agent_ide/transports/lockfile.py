"""Discovery files: how a server tells the CLIs of this user where it listens.

Owns:     folder and file modes, atomic writes, the mark that says a lock is ours, the sweep of
          locks whose owner is dead.
Not here: where the folder is and what a lock says (protocols/*/discovery.py), when it is written.

A lock holds a token, and other programs keep their locks in the same folder. So: nothing is read or
written through a link, nobody else can read it, and only a file that is provably a dead server of
ours is ever removed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from agent_ide.errors import LockFolderError

__all__ = [
    "Lock",
    "ensure_private_folder",
    "is_ours",
    "is_private",
    "owner_is_dead",
    "port_refuses",
    "read_ours",
    "remove",
    "socket_refuses",
    "sweep",
    "write_atomically",
    "write_in_place",
]

logger = logging.getLogger(__name__)

Lock = dict[str, object]
"""What a lock file says, as the protocol spells it, with or without our mark."""

MARK = "agentIde"
"""The field that says whose a lock is; the CLIs read only the fields they know."""

PRODUCT = "agent_ide.nvim"

MAX_BYTES = 1024 * 1024
"""Of a lock that is read; a larger one is none of ours."""

CONNECT_S = 0.5
"""Loopback answers at once, unless the listener's queue is full."""


def ensure_private_folder(path: Path) -> None:
    """Make the folder, or make it private.

    Raises:
        LockFolderError: it is a link, another user's, no folder, or cannot be made.
    """
    try:
        for parent in [parent for parent in path.parents if not parent.exists()][::-1]:
            parent.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        with _opened_folder(path) as folder:
            facts = os.fstat(folder)
            if facts.st_uid != os.geteuid():
                raise LockFolderError(f"{path} belongs to another user (uid {facts.st_uid})")
            if stat.S_IMODE(facts.st_mode) != 0o700:
                os.fchmod(folder, 0o700)
    except OSError as error:
        raise LockFolderError(_refusal(path, error)) from error


def is_private(path: Path) -> bool:
    """A folder of this user that nobody else can enter; looked at only: it may be /tmp."""
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
    return ours and stat.S_IMODE(facts.st_mode) & 0o077 == 0


def write_atomically(path: Path, lock: Mapping[str, object]) -> None:
    """Write a lock so that a reader sees the old or the new one; replaces a link, never follows it.

    Raises:
        OSError: the folder is not there, not writable or by now another user's, the disk is full;
            nothing has changed.
    """
    content = _encode(lock)
    # no suffix that a CLI looks for
    temporary = f".{path.name}.{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with _opened_folder(path.parent) as folder:
        if os.fstat(folder).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "the folder is another user's", str(path.parent))
        # not synced: after a crash of the machine nobody listens, whatever the file says
        file = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with open(file, "wb") as target:
                os.fchmod(file, 0o600)  # whatever the umask left
                target.write(content)
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise


def write_in_place(path: Path, lock: Mapping[str, object]) -> None:
    """Write a lock that exists without replacing it: a rename tells some CLIs that the IDE is gone.

    Raises:
        OSError: it is not there, not writable, a link, or no file of this user.
    """
    file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(file, "wb", buffering=0) as target:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "not a file of this user", str(path))
        os.fchmod(file, 0o600)
        content = _encode(lock)
        # one write that covers the old text: whoever reads meanwhile sees JSON and blanks, no mix
        if target.write(content.ljust(facts.st_size)) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        target.truncate(len(content))


def remove(path: Path) -> None:
    """Remove a lock or a socket of ours; one that has gone is fine. Never raises."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("! %s is not removed: %s", path, error.strerror)


def read_ours(path: Path) -> Lock | None:
    """A lock that this product wrote under this user, boot and pid namespace, else None."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as source:
            facts = os.fstat(file)
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
                return None
            lock = msgspec.json.decode(source.read(MAX_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return lock if isinstance(lock, dict) and is_ours(lock) else None


def is_ours(lock: Mapping[str, object]) -> bool:
    """It carries our mark of this boot and pid namespace: only there does its pid mean anything."""
    return lock.get(MARK) == _mark()


def owner_is_dead(pid: int) -> bool:
    """No process runs under this pid; one that is only waiting to be collected does not run."""
    if pid < 1:
        return False  # for kill(2) a group; no lock of ours says that
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    # "pid (name) state ...", and a name may hold anything
    return status.rpartition(")")[2].split()[:1] == ["Z"]


def port_refuses(port: int) -> bool:
    """Nobody listens on this port of loopback; in doubt, somebody does."""
    return _refuses(socket.AF_INET, ("127.0.0.1", port))


def socket_refuses(path: str) -> bool:
    """Nobody listens on this unix socket; in doubt, somebody does."""
    return _refuses(socket.AF_UNIX, path)


def _refuses(family: socket.AddressFamily, address: tuple[str, int] | str) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_S)
        try:
            probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except (OSError, OverflowError):
            return False
    return False


def sweep(
    folder: Path, pattern: str, refuses: Callable[[Path, Lock], bool]
) -> list[tuple[Path, Lock]]:
    """Remove the locks of our dead servers, and nothing else.

    Args:
        pattern: names of lock files, such as "*.lock".
        refuses: whether the port or socket of this lock refuses connections.

    Returns:
        What was removed, so that the caller can remove what belongs to it.
    """
    swept = []
    for path in sorted(folder.glob(pattern)):
        lock = read_ours(path)
        if lock is None or not _pid_is_dead(lock) or not refuses(path, lock):
            continue
        # a new server may have taken the port, and the name, since it was read
        if read_ours(path) == lock:
            remove(path)
            logger.info("= swept %s", path)
            swept.append((path, lock))
    return swept


def _pid_is_dead(lock: Lock) -> bool:
    pid = lock.get("pid")
    return isinstance(pid, int) and not isinstance(pid, bool) and owner_is_dead(pid)


def _encode(lock: Mapping[str, object]) -> bytes:
    return msgspec.json.encode({**lock, MARK: _mark()})


@functools.cache
def _mark() -> dict[str, str | None]:
    boot_id = pid_namespace = None  # where a system has no /proc, the user's own folder must do
    with contextlib.suppress(OSError):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with contextlib.suppress(OSError):
        pid_namespace = os.readlink("/proc/self/ns/pid")
    return {"product": PRODUCT, "bootId": boot_id, "pidNamespace": pid_namespace}


@contextlib.contextmanager
def _opened_folder(path: Path) -> Iterator[int]:
    """A handle on a folder: what happens to its path meanwhile does not matter."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(path, flags)
    try:
        yield folder
    finally:
        os.close(folder)


def _refusal(path: Path, error: OSError) -> str:
    if path.is_symlink():
        return f"{path} is a symbolic link; lock files are not written through it"
    return f"{path} cannot be used for lock files: {error.strerror or error}"
