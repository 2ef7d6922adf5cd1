"""Many Neovims at once: each has its own lock and is served, and none leaves anything."""

from __future__ import annotations

import asyncio
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from tests.e2e.editor import read_lock
from tests.e2e.process import editor_environment
from tests.support.figures import Figure, Scale
from tests.support.neovim import REPO, find_nvim, wait_until
from tests.torture.faults import is_served_by, locks_in, processes_of, texts_in

ALL_S = 240.0


async def test_many_neovims_start_at_once(short_folder: Path, scale: Scale, figure: Figure) -> None:
    count = scale(short=6, long=50)
    env = {**editor_environment(short_folder), "NVIM": find_nvim()}
    project = short_folder / "project"
    project.mkdir()
    with ExitStack() as stack:
        begin = time.monotonic()
        started = []
        for _ in range(count):
            process = subprocess.Popen(  # noqa: ASYNC220 - it takes a millisecond
                [str(REPO / "scripts/nvim"), "-n", "--headless"],
                cwd=project,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            started.append(process)
            stack.callback(process.wait, 30)
            stack.callback(process.kill)
        # the lock names the Neovim, and scripts/nvim becomes one
        pids = {process.pid for process in started}
        served: set[int] = set()
        while served != pids:
            assert time.monotonic() - begin < ALL_S, f"{len(served)} of {count} are served"
            for path in (short_folder / "home/.claude/ide").glob("*.lock"):
                lock = read_lock(path)
                if lock and lock.pid not in served and await is_served_by(lock):
                    served.add(lock.pid)
            await asyncio.sleep(0.01)
        figure(f"{count} Neovims at once: until the last is served", time.monotonic() - begin, "s")
        locks = list((short_folder / "home/.claude/ide").iterdir())
        assert len(locks) == count
        assert len({path.read_text() for path in locks}) == count

        # all four servers of each, so that the end meets none that is only starting
        def all_up() -> bool:
            return all(len(list(found)) == count for found in locks_in(short_folder))

        wait_until(all_up, "all locks", ALL_S)
        for process in started:
            process.terminate()
        for process in started:
            _, said = process.communicate(timeout=30)
            assert b"Error" not in said, said
        wait_until(lambda: not processes_of(short_folder), "the end of all", 30)
        assert [list(found) for found in locks_in(short_folder)] == [[], [], [], []]
        assert not [path for path in short_folder.rglob("*") if path.is_socket()]
        assert not texts_in(short_folder)
