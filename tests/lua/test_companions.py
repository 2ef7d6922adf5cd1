"""Gemini CLI's and Qwen Code's commands, options and health: the same tables for both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import SERVER, push_status
from tests.support.neovim import wait_until

from .bed import Bed, bed

FAMILIES = {"gemini": ("GeminiCli", "Gemini CLI"), "qwen": ("QwenCode", "Qwen Code")}

HELP = """\
Options:
  -y, --yolo                      Automatically accept all actions  [boolean]
      --approval-mode             Set the approval mode  [choices: "default", "auto_edit"]
"""


def server(agent: str) -> dict[str, Any]:
    variable = f"{agent.upper()}_PORT"
    title = FAMILIES[agent][1]
    return {**SERVER, "agent": agent, "title": title, "env": {variable: "12345"}}


SERVERS = [SERVER, *map(server, FAMILIES)]


def start_bed(tmp_path: Path, **options: Any) -> AbstractContextManager[Bed]:
    # the stand-in is whoever it is started as
    command = str(tmp_path / "cli" / "claude")
    return bed(tmp_path, {agent: {"command": command, **options} for agent in FAMILIES})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with start_bed(tmp_path) as desk:
        (desk.cli.folder / "help").write_text(HELP)
        push_status(desk.nvim, servers=SERVERS)
        yield desk


@pytest.fixture(params=FAMILIES)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_family_is_copilots_under_another_name(desk: Bed, agent: str) -> None:
    prefix, title = FAMILIES[agent]
    commands = desk.nvim.api.api.get_commands({})
    ours = {name for name in commands if name.startswith(prefix)}
    assert {name.replace(prefix, "CopilotCli") for name in ours} == {
        name for name in commands if name.startswith("CopilotCli")
    }
    for name in ours:
        assert commands[name]["definition"].startswith(f"{title}: ")
        namesake = commands[name.replace(prefix, "CopilotCli")]
        for attribute in ("nargs", "range", "bang", "complete"):
            assert commands[name][attribute] == namesake[attribute], name
    assert desk.nvim.eval(f"maparg('<Plug>({prefix}Toggle)', 'n')") == f"<Cmd>{prefix}<CR>"


@pytest.mark.parametrize(
    ("typed", "started"),
    [
        ("", "--approval-mode default"),
        ("--resume", "--approval-mode default --resume"),
        ("--approval-mode=plan", "--approval-mode=plan"),
        ("--approval-mode plan", "--approval-mode plan"),
        ("--yolo", "--yolo"),
        ("-y", "-y"),
    ],
)
def test_it_asks_before_edits_unless_the_user_says_otherwise(
    desk: Bed, agent: str, typed: str, started: str
) -> None:
    desk.nvim.command(f"{FAMILIES[agent][0]} {typed}")
    env = desk.cli.started()["env"]
    assert desk.cli.asked()[-1] == started
    assert env[f"{agent.upper()}_PORT"] == "12345"


def test_an_old_one_that_knows_no_modes_is_started_as_it_is(desk: Bed, agent: str) -> None:
    (desk.cli.folder / "help").write_text("Options:\n")
    desk.nvim.command(FAMILIES[agent][0])
    desk.cli.started()
    assert desk.cli.asked()[-1] == ""


def test_without_ask_permission_its_own_mode_counts(tmp_path: Path, agent: str) -> None:
    with start_bed(tmp_path, ask_permission=False) as desk:
        push_status(desk.nvim, servers=SERVERS)
        desk.nvim.command(FAMILIES[agent][0])
        desk.cli.started()
        assert desk.cli.asked() == [""]


@pytest.mark.parametrize("inside", [True, False])
def test_gemini_in_a_container_looks_here(desk: Bed, tmp_path: Path, inside: bool) -> None:
    for name in ("SSH_CONNECTION", "VSCODE_REMOTE_CONTAINERS_SESSION", "REMOTE_CONTAINERS"):
        desk.nvim.lua("vim.env[...] = nil", name)
    desk.nvim.lua(
        """
        local there, stat = ..., vim.uv.fs_stat
        vim.uv.fs_stat = function(path, ...)
          if path == "/.dockerenv" or path == "/run/.containerenv" then
            return there and stat("/") or nil
          end
          return stat(path, ...)
        end
        """,
        inside,
    )
    desk.nvim.command("GeminiCli")
    assert desk.cli.started()["env"].get("REMOTE_CONTAINERS") == ("true" if inside else None)
    assert desk.nvim.lua("return vim.env.REMOTE_CONTAINERS") is None
    report = health(desk)
    assert ("looks for an IDE outside" in report) == inside
    desk.nvim.lua("vim.env.SSH_CONNECTION = '1 2 3 4'")
    assert "looks for an IDE outside" not in health(desk)


def health(desk: Bed) -> str:
    desk.nvim.command("checkhealth agent_ide")
    report = "\n".join(desk.nvim.api.current.buffer[:])
    desk.nvim.command("enew")
    # long lines are as they are; blanks are not of interest
    return re.sub(r"\s+", " ", report)


@pytest.mark.parametrize(
    ("settings", "enabled"),
    [
        ({"ide": {"enabled": True}}, True),
        ({"ide": {"enabled": False}}, False),
        ({"ide": True}, False),
        ({}, False),
        ("{ no JSON", False),
        (None, False),
    ],
)
def test_health_knows_whether_it_looks_for_an_ide(
    tmp_path: Path, agent: str, settings: Any, enabled: bool
) -> None:
    home = tmp_path / "their home"
    (home / f".{agent}").mkdir(parents=True)
    if settings is not None:
        text = settings if isinstance(settings, str) else json.dumps(settings)
        (home / f".{agent}" / "settings.json").write_text(text)
    with start_bed(tmp_path, env={"HOME": str(home)}) as desk:
        report = health(desk)
    assert ("ide.enabled is true in" in report) == enabled
    assert f"type /ide enable in {FAMILIES[agent][1]}, once" in report or enabled


@pytest.mark.parametrize(
    ("args", "shows_diffs"),
    [
        ([], True),
        (["--approval-mode", "default"], True),
        (["--approval-mode=default"], True),
        (["--approval-mode", "auto_edit"], False),
        (["--yolo"], False),
        (["-y"], False),
    ],
)
def test_health_knows_modes_without_diffs(
    tmp_path: Path, args: list[str], shows_diffs: bool
) -> None:
    with start_bed(tmp_path, args=args) as desk:
        report = health(desk)
    assert ("gemini.args chooses a mode in which no diff" in report) != shows_diffs


def test_the_statusline_and_the_status_name_all(desk: Bed) -> None:
    clients = [
        {"id": f"{agent}-1", "agent": agent, "name": f"{agent}-code", "version": "", "ready": True}
        for agent in FAMILIES
    ]
    push_status(desk.nvim, servers=SERVERS, clients=clients)
    assert desk.nvim.lua("return require('agent_ide').statusline()") == "Gemini CLI, Qwen Code"
    desk.nvim.command("AgentIde status")
    shown = desk.nvim.wait_screen("Host: running")
    assert "Gemini CLI  at 127.0.0.1:12345" in shown
    assert "qwen-1  qwen-code" in shown


def test_a_function_may_say_whom_to_trust(desk: Bed) -> None:
    desk.nvim.lua(
        """
        vim.g.agent_ide = nil
        require("agent_ide").setup({ auto_start = false, qwen = { trust = function()
          return true
        end } })
        require("agent_ide.folders").watch()
        """
    )
    assert desk.nvim.wait_event("folders")["trusted"] == {"qwen": True}


def test_each_sends_to_its_own(desk: Bed, agent: str) -> None:
    clients = [{"id": f"{name}-1", "agent": name, "name": "x", "version": ""} for name in FAMILIES]
    push_status(desk.nvim, servers=SERVERS, clients=clients)
    desk.edit("a.txt", "one\n")
    desk.nvim.command(f"{FAMILIES[agent][0]}Send")
    assert desk.nvim.wait_event("mention")["agent"] == agent
    wait_until(lambda: desk.terminal_buffer() == 0, "no terminal")
