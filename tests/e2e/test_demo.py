"""`make demo`, by itself and as somebody in front of a terminal plays with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal
from tests.support.neovim import LIMIT_S, REPO, wait_until

pytestmark = pytest.mark.e2e

DEMO = [sys.executable, str(REPO / "scripts/demo.py")]


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    """Neither `claude` nor `copilot` is installed here, whatever this machine has."""
    nvim = os.environ.get("NVIM", "")
    own = {"HOME": str(folder), "PATH": os.defpath, "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    return {**own, **({"NVIM": nvim} if os.path.isfile(nvim) else {})}


def test_it_goes_through_all_steps_by_itself(folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        DEMO, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("The demo has passed.\n")
    assert done.stderr == ""
    assert not list(folder.glob("agent-ide-demo-*"))


def test_a_closed_terminal_leaves_nothing(folder: Path, environment: dict[str, str]) -> None:
    with Terminal(DEMO, env=environment, cwd=folder, size=(160, 40)) as terminal:
        terminal.wait_for("Connected to Neovim", 4 * LIMIT_S)
        terminal.hang_up()
        terminal.wait_ended()
        wait_until(lambda: not list(folder.glob("agent-ide-demo-*")), "the removal")


def test_in_a_terminal_the_user_decides(folder: Path, environment: dict[str, str]) -> None:
    with Terminal(DEMO, env=environment, cwd=folder, size=(220, 40)) as terminal:
        terminal.wait_for("A guest book")
        terminal.wait_for("Connected to Neovim", 4 * LIMIT_S)
        terminal.press_until("See the diff of greet.py", "Enter", limit_s=2 * LIMIT_S)
        terminal.wait_for("Good day")
        terminal.key("C-\\", "C-n")
        terminal.type(":ClaudeCodeDiffAccept\r")
        terminal.wait_for(r"Accepted: I wrote greet\.py")
        # the other agent beside it
        terminal.type(":CopilotCli\r")
        terminal.wait_for(r"Connected to Neovim\..*Connected to Neovim\.", 2 * LIMIT_S)
        terminal.press_until("Let me say what it is for", "Enter", limit_s=2 * LIMIT_S)
        terminal.wait_for("One line for one guest")
        terminal.key("C-\\", "C-n")
        terminal.type(":CopilotCliDiffAccept\r")
        terminal.wait_for(r"(?s)Accepted: I wrote greet\.py.*Accepted: I wrote greet\.py")
        terminal.type(":qa!\r")
        assert terminal.wait_ended() == 0
    assert not list(folder.glob("agent-ide-demo-*"))
