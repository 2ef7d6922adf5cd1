"""Diffs whose closing leaves the question to the agent's terminal: nothing of them is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import wait_until

from .reviews import PROPOSED, Reviews


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Reviews]:
    with Reviews(tmp_path) as bed:
        bed.show(agent="Copilot CLI", closing="hides")
        bed.nvim.lua("require('agent_ide.diff').focus(1)")
        yield bed


def review_windows(bed: Reviews) -> list[Any]:
    return [win for win in bed.windows() if win["name"].startswith("agent-ide://")]


def hide(bed: Reviews) -> None:
    """Change the proposal, then close its window."""
    bed.nvim.feed("ggImine <Esc>:q<CR>")
    bed.nvim.wait_event("review", lambda payload: payload == {"id": 1, "event": "closed"})
    # what the host answers
    bed.close("hidden")
    wait_until(lambda: not review_windows(bed), "the view's end")


def test_the_user_is_told_where_the_question_is(bed: Reviews) -> None:
    hide(bed)
    assert "Copilot CLI still asks about a.txt in its terminal" in bed.told()[-1]
    assert bed.proposal() != 0


def test_the_diff_comes_back_as_it_was_and_can_be_accepted(bed: Reviews) -> None:
    hide(bed)
    assert bed.nvim.lua("return require('agent_ide.diff').focus(1)") is True
    assert bed.nvim.eval("getline(1)").startswith("mine ")
    bed.nvim.feed(":w<CR>")
    event = bed.nvim.wait_event("review", lambda payload: payload["event"] == "accept")
    assert event["text"] == "mine " + PROPOSED
    bed.close("accepted")
    wait_until(lambda: bed.proposal() == 0, "its end")


def test_it_can_be_hidden_again(bed: Reviews) -> None:
    hide(bed)
    bed.nvim.lua("require('agent_ide.diff').focus(1)")
    hide(bed)
    assert bed.proposal() != 0


def test_what_was_typed_is_kept_when_the_terminal_decides(bed: Reviews) -> None:
    hide(bed)
    bed.close("withdrawn")
    wait_until(lambda: bed.proposal() == 0, "its end")
    assert "is kept: :AgentIde recover" in bed.told()[-1]


def test_without_a_host_it_ends(bed: Reviews) -> None:
    bed.nvim.lua("require('agent_ide.rpc').detach()")
    bed.nvim.feed(":q<CR>")
    wait_until(lambda: bed.proposal() == 0, "its end")


@pytest.mark.parametrize("reason", ["hidden", "withdrawn"])
def test_a_large_one_that_is_closed_before_its_windows_open_stays_closed(
    bed: Reviews, reason: str
) -> None:
    request = bed.request("a line\n" * 300_000, number=2)
    both = """
      local channel, request, reason = ...
      require("agent_ide.rpc").dispatch(channel, 1001, "review.show", request)
      require("agent_ide.rpc").dispatch(channel, 1002, "review.close", { id = 2, reason = reason })
    """
    bed.nvim.lua(both, bed.nvim.channel, request, reason)
    reply = wait_until(lambda: bed.nvim.reply(1001), "the answer")
    assert reply == (False, "closed before it was shown")
    assert not [win for win in bed.windows() if win["name"].startswith("agent-ide://review/2/")]
    assert (bed.proposal(2) == 0) == (reason == "withdrawn")
