"""Faults of the venv that the host runs in: each is found, built anew and served without the user.

Packages come from a folder of wheels. How a build goes is for tests/lua/test_install.py.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.figures import Figure, Scale
from tests.support.neovim import wait_until
from tests.support.wheels import base_python, wheel_folder
from tests.torture.faults import Scene, plugin_copy, scene, tell

BUILT_S = 240.0
"""From nothing to a server, with a build on a machine that others use."""


def break_packages(venv: Path) -> None:
    for packages in venv.glob("lib/python*/site-packages"):
        shutil.rmtree(packages)


def break_interpreter(venv: Path) -> None:
    (venv / "bin/python").unlink()


def upgrade_python(venv: Path) -> None:
    """As after an upgrade of the system: what `python` leads to is not what was built for."""
    path = venv / "agent_ide.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "python": "/usr/bin/python3.9"}))


@pytest.mark.slow
async def test_a_broken_venv_is_built_anew(
    short_folder: Path, scale: Scale, figure: Figure
) -> None:
    root = plugin_copy(short_folder, venv=False)
    programs = short_folder / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(base_python())
    (programs / "uv").symlink_to(Path(sys.prefix) / "bin/uv")
    env = {
        "PATH": f"{programs}:/usr/bin:/bin",
        # no other than the plugin's own
        "AGENT_IDE_DEV_PYTHON": "",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(short_folder / "uv"),
    }
    options = f"install_wheels = '{wheel_folder()}'"
    faults = [break_packages, break_interpreter, upgrade_python]
    with scene(short_folder, root=root, options=options, env=env) as it:
        wait_until(it.editor.lock, "the first build", BUILT_S)
        it.host()
        venv = short_folder / "data/nvim/agent_ide/venv"
        for fault in faults[: scale(short=1, long=3)]:
            away = [await broken(it, fault, venv) for _ in range(scale(short=1, long=3))]
            tell(figure, f"{fault.__name__.replace('_', ' ')}, then kill -9", away)
        assert "given up" not in it.told()
        it.editor.feed("<CR>")
        await it.finish()


async def broken(it: Scene, fault: Callable[[Path], None], venv: Path) -> float:
    # what the runs before have ended does not count against this one
    it.editor.command("AgentIde restart")
    await it.served()
    it.host()
    built = venv.stat().st_ino
    fault(venv)
    pid = it.host()
    away = await it.away(os.kill, pid, signal.SIGKILL)
    it.host()
    assert venv.stat().st_ino != built, "it was built anew"
    return away
