"""Discovery files on a real file system, with neighbours that are hostile or only careless."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ide.errors import LockFolderError
from agent_ide.transports import lockfile

LOCK = {"pid": 1, "ideName": "Neovim", "workspaceFolders": ["/p/é"]}

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
STRANGER = 12345


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ide"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def read(path: Path) -> dict[str, object]:
    lock = json.loads(path.read_text())
    assert isinstance(lock, dict)
    return lock


def marked(**fields: object) -> dict[str, object]:
    """A lock as this product writes it, with some fields changed."""
    mark = {
        "product": "agent_ide.nvim",
        "bootId": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "pidNamespace": os.readlink("/proc/self/ns/pid"),
    }
    return {**LOCK, "agentIde": mark, **fields}


# -- the folder ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_umask")
def test_a_missing_folder_is_made_private_with_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".agent" / "ide"
    lockfile.ensure_private_folder(folder)
    assert [mode(path) for path in (folder, folder.parent)] == [0o700, 0o700]
    lockfile.ensure_private_folder(folder)


@pytest.mark.parametrize("before", [0o755, 0o777, 0o1777, 0o500])
def test_a_folder_of_ours_is_made_private(folder: Path, before: int) -> None:
    folder.chmod(before)
    lockfile.ensure_private_folder(folder)
    assert mode(folder) == 0o700


def test_a_link_is_refused_even_to_a_folder_of_ours(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(LockFolderError, match="is a symbolic link"):
        lockfile.ensure_private_folder(link)
    shutil.rmtree(folder)
    with pytest.raises(LockFolderError, match="is a symbolic link"):
        lockfile.ensure_private_folder(link)


def test_a_parent_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").symlink_to(folder)
    lockfile.ensure_private_folder(tmp_path / "dotfiles" / "ide")
    assert mode(folder / "ide") == 0o700


@needs_root
def test_a_folder_of_another_user_is_refused_and_left_alone(folder: Path) -> None:
    folder.chmod(0o755)
    os.chown(folder, STRANGER, STRANGER)
    with pytest.raises(LockFolderError, match="belongs to another user"):
        lockfile.ensure_private_folder(folder)
    assert mode(folder) == 0o755


def test_a_file_in_place_of_the_folder_or_its_parent(tmp_path: Path) -> None:
    (tmp_path / "ide").write_text("")
    for path in (tmp_path / "ide", tmp_path / "ide" / "below"):
        with pytest.raises(LockFolderError, match="cannot be used for lock files"):
            lockfile.ensure_private_folder(path)


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(LockFolderError, match="cannot be used for lock files"):
        lockfile.ensure_private_folder(Path("/proc/nowhere/ide"))


# -- writing ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_umask")
def test_a_lock_is_private_marked_and_alone(folder: Path) -> None:
    path = folder / "1.lock"
    lockfile.write_atomically(path, LOCK)
    assert mode(path) == 0o600
    assert read(path) == marked()
    assert os.listdir(folder) == ["1.lock"]


def test_writing_again_replaces_the_file(folder: Path) -> None:
    path = folder / "1.lock"
    path.write_text("somebody else's, readable by all")
    path.chmod(0o666)
    inode = path.stat().st_ino
    lockfile.write_atomically(path, LOCK)
    assert path.stat().st_ino != inode
    assert mode(path) == 0o600


def test_a_link_in_place_of_the_lock_is_replaced_not_followed(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = folder / "1.lock"
    path.symlink_to(victim)
    lockfile.write_atomically(path, LOCK)
    assert not path.is_symlink()
    assert victim.read_text() == "precious"


def test_a_folder_that_became_a_link_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(OSError):
        lockfile.write_atomically(link / "1.lock", LOCK)
    assert os.listdir(folder) == []


def test_a_failed_write_leaves_nothing_behind(folder: Path) -> None:
    path = folder / "1.lock"
    path.mkdir()
    (path / "in the way").write_text("")
    with pytest.raises(OSError):
        lockfile.write_atomically(path, LOCK)
    assert os.listdir(folder) == ["1.lock"]
    with pytest.raises(FileNotFoundError):
        lockfile.write_atomically(folder / "nowhere" / "1.lock", LOCK)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from agent_ide.transports import lockfile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
try:
    getattr(lockfile, sys.argv[1])(Path(sys.argv[2]), {"pid": 1, "text": "x" * 500})
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.parametrize("write", ["write_atomically", "write_in_place"])
def test_a_full_disk_is_an_error_and_leaves_no_fragment(
    write: str, folder: Path, repo: Path
) -> None:
    """A limit on the size of files stands for the full disk: to the writer they look the same."""
    path = folder / "1.lock"
    path.write_text("{}")
    env = os.environ | {"PYTHONPATH": str(repo / "python")}
    command = [sys.executable, "-c", FULL_DISK, write, str(path)]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert ended.stdout.strip()
    assert os.listdir(folder) == ["1.lock"]
    if write == "write_atomically":
        assert path.read_text() == "{}"


@pytest.mark.parametrize("folders", [["/a"], ["/a" * 400]])
def test_writing_in_place_keeps_the_inode(folder: Path, folders: list[str]) -> None:
    path = folder / "1.lock"
    lockfile.write_atomically(path, {**LOCK, "workspaceFolders": ["/b" * 100]})
    inode = path.stat().st_ino
    path.chmod(0o644)
    lockfile.write_in_place(path, {**LOCK, "workspaceFolders": folders})
    assert path.stat().st_ino == inode
    assert read(path) == marked(workspaceFolders=folders)
    assert not path.read_text().endswith(" ")
    assert mode(path) == 0o600


def test_writing_in_place_refuses_what_is_no_lock_of_ours(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (folder / "link.lock").symlink_to(victim)
    os.mkfifo(folder / "fifo.lock")
    for name in ("link.lock", "fifo.lock", "missing.lock"):
        with pytest.raises(OSError):
            lockfile.write_in_place(folder / name, LOCK)
    assert victim.read_text() == "precious"


@needs_root
def test_writing_in_place_refuses_another_users_file(folder: Path) -> None:
    path = folder / "1.lock"
    path.write_text("theirs")
    os.chown(path, STRANGER, STRANGER)
    with pytest.raises(OSError):
        lockfile.write_in_place(path, LOCK)
    assert path.read_text() == "theirs"


def test_removing_never_raises(folder: Path) -> None:
    path = folder / "1.lock"
    lockfile.write_atomically(path, LOCK)
    lockfile.remove(path)
    assert not path.exists()
    lockfile.remove(path)
    path.mkdir()
    lockfile.remove(path)
    lockfile.remove(folder / "nowhere" / "1.lock")


# -- whose it is -----------------------------------------------------------------------------------


def test_only_this_product_boot_and_namespace_is_ours() -> None:
    assert lockfile.is_ours(marked())
    mark = marked()["agentIde"]
    assert isinstance(mark, dict)
    for key in mark:
        assert not lockfile.is_ours(marked(agentIde={**mark, key: "another"}))
    for foreign in (None, {}, [], "agent_ide.nvim", 1):
        assert not lockfile.is_ours(marked(agentIde=foreign))
    assert not lockfile.is_ours(LOCK)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b"\xff\xfe",
        b'{"agentIde": {}}',
        b'{"a":"\xff"}',
        b"[" * 9999,
    ],
)
def test_what_is_no_lock_of_ours_is_nothing(folder: Path, content: bytes) -> None:
    path = folder / "1.lock"
    path.write_bytes(content)
    assert lockfile.read_ours(path) is None


def test_reading_follows_no_link_and_waits_for_no_pipe(folder: Path) -> None:
    lockfile.write_atomically(folder / "1.lock", LOCK)
    assert lockfile.read_ours(folder / "1.lock") == marked()
    (folder / "link.lock").symlink_to(folder / "1.lock")
    os.mkfifo(folder / "fifo.lock")
    (folder / "folder.lock").mkdir()
    for name in ("link.lock", "fifo.lock", "folder.lock", "missing.lock"):
        assert lockfile.read_ours(folder / name) is None


# -- who is dead -----------------------------------------------------------------------------------


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_process_that_runs_and_one_that_has_ended(dead_pid: int) -> None:
    assert not lockfile.owner_is_dead(os.getpid())
    assert not lockfile.owner_is_dead(1)
    assert lockfile.owner_is_dead(dead_pid)
    assert lockfile.owner_is_dead(2**40)


@pytest.mark.parametrize("group", [0, -1, -12345])
def test_a_number_that_means_a_group_is_not_dead(group: int) -> None:
    assert not lockfile.owner_is_dead(group)


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen(["true"])
    # it has ended and is not collected yet
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert lockfile.owner_is_dead(process.pid)
    process.wait()


def test_a_process_name_that_looks_like_a_state(tmp_path: Path) -> None:
    sleep = tmp_path / "a) Z 1"
    sleep.symlink_to(shutil.which("sleep") or "/bin/sleep")
    process = subprocess.Popen([sleep, "60"])
    try:
        assert not lockfile.owner_is_dead(process.pid)
    finally:
        process.kill()
        process.wait()


@needs_root
def test_a_process_of_another_user_is_alive(repo: Path) -> None:
    code = (
        "import os; from agent_ide.transports import lockfile;"
        f"os.setuid({STRANGER}); print(lockfile.owner_is_dead({os.getpid()}))"
    )
    env = os.environ | {"PYTHONPATH": str(repo / "python")}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


def test_a_port_that_refuses_and_one_that_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not lockfile.port_refuses(port)
    assert lockfile.port_refuses(port)
    assert not lockfile.port_refuses(70000)


def test_a_socket_that_refuses_and_one_that_listens(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    assert lockfile.socket_refuses(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        assert not lockfile.socket_refuses(path)
    assert lockfile.socket_refuses(path)
    assert not lockfile.socket_refuses("x" * 200)


# -- the sweep -------------------------------------------------------------------------------------


def put(folder: Path, name: str, lock: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(lock))
    return path


def refuses(path: Path, lock: lockfile.Lock) -> bool:
    return True


def test_only_a_dead_server_of_ours_is_swept(folder: Path, dead_pid: int) -> None:
    mark = marked()["agentIde"]
    assert isinstance(mark, dict)
    dead = put(folder, "1.lock", marked(pid=dead_pid))
    put(folder, "2.lock", marked(pid=os.getpid()))
    put(folder, "3.lock", {**LOCK, "pid": dead_pid})
    put(folder, "4.lock", marked(pid=dead_pid, agentIde={**mark, "pidNamespace": "pid:[1]"}))
    put(folder, "5.lock", marked(pid=dead_pid, agentIde={**mark, "bootId": "before"}))
    for number, pid in enumerate((None, True, "1", 0, -1, 1.5), start=10):
        put(folder, f"{number}.lock", marked(pid=pid))
    (folder / "garbage.lock").write_text("{not json")
    put(folder, "1.json", marked(pid=dead_pid))
    before = set(os.listdir(folder))

    swept = lockfile.sweep(folder, "*.lock", refuses)

    assert swept == [(dead, marked(pid=dead_pid))]
    assert set(os.listdir(folder)) == before - {"1.lock"}
    assert lockfile.sweep(folder, "*.lock", refuses) == []


def test_a_dead_pid_on_whose_port_somebody_listens_is_kept(folder: Path, dead_pid: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        path = put(folder, f"{server.getsockname()[1]}.lock", marked(pid=dead_pid))

        def port_refuses(path: Path, lock: lockfile.Lock) -> bool:
            return lockfile.port_refuses(int(path.stem))

        assert lockfile.sweep(folder, "*.lock", port_refuses) == []
        server.close()
        assert [swept for swept, _ in lockfile.sweep(folder, "*.lock", port_refuses)] == [path]


def test_a_lock_that_a_new_server_wrote_meanwhile_is_kept(folder: Path, dead_pid: int) -> None:
    path = put(folder, "1.lock", marked(pid=dead_pid))

    def taken_over(path: Path, lock: lockfile.Lock) -> bool:
        lockfile.write_atomically(path, {**LOCK, "pid": os.getpid()})
        return True

    assert lockfile.sweep(folder, "*.lock", taken_over) == []
    assert read(path)["pid"] == os.getpid()


def test_a_link_to_a_dead_lock_is_kept(folder: Path, tmp_path: Path, dead_pid: int) -> None:
    (folder / "1.lock").symlink_to(put(tmp_path, "elsewhere", marked(pid=dead_pid)))
    assert lockfile.sweep(folder, "*.lock", refuses) == []
    assert (folder / "1.lock").is_symlink()


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert lockfile.sweep(tmp_path / "nowhere", "*.lock", refuses) == []
