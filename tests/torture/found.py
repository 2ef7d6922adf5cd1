"""What lies and runs below a home: processes, hosts, discovery files, texts on their way.

Owns:     nothing; it looks at /proc and at folders.
Not here: what of it may not be there (faults.py).
"""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

from tests.e2e.process import running

__all__ = ["host_of", "locks_in", "name_of", "processes_of", "texts_in"]


def locks_in(folder: Path) -> list[list[Path]]:
    """Discovery files below a home, by agent."""
    home = folder / "home"
    return [
        list((home / ".claude/ide").glob("*.lock")),
        list((home / ".copilot/ide").glob("*.lock")),
        list((folder / "tmp/gemini/ide").glob("*.json")),
        list((home / ".qwen/ide").glob("*.lock")),
    ]


def processes_of(folder: Path) -> list[int]:
    """Processes whose home is below a folder: Neovim, its screen, the host, what they started."""
    home = f"HOME={folder}/".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and running(int(entry.name)):
            with suppress(OSError):
                if b"\0" + home in b"\0" + (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def name_of(pid: int) -> str:
    with suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return f"process {pid}: {line.decode(errors='replace')[:200]}"
    return f"process {pid}"


def host_of(neovim: int) -> list[int]:
    """Hosts among a Neovim's own children."""
    children = Path(f"/proc/{neovim}/task/{neovim}/children").read_text().split()
    return [pid for pid in map(int, children) if running(pid) and _is_host(pid)]


def _is_host(pid: int) -> bool:
    with suppress(OSError):
        return b"agent_ide_host.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def texts_in(folder: Path) -> list[Path]:
    """Files through which large texts cross between Neovim and its host."""
    return [path for path in (folder / "tmp").rglob("text-*") if _is_file(path)]


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False
