"""Faults of the host's process: killed, standing still, doubled, of another version."""

from __future__ import annotations

import os
import signal

from tests.support.figures import Figure, Scale
from tests.torture.faults import folders, scene, tell


async def test_a_killed_host_comes_back(scale: Scale, figure: Figure) -> None:
    away = []
    for folder in folders(scale(short=2, long=50)):
        with scene(folder) as it:
            pid = it.host()
            before = it.editor.lock()
            away.append(await it.away(os.kill, pid, signal.SIGKILL))
            after = it.editor.lock()
            assert (after.port, after.token) == (before.port, before.token)
            assert it.told() == ""
            await it.finish()
    tell(figure, "kill -9 of the host", away)
