"""Deciding from anywhere: many at once, with a reason, from the agent's terminal; events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import REVIEW, push_status
from tests.support.neovim import wait_until

from .bed import Bed, bed

OTHER = {**REVIEW, "id": 2, "path": "/p/b.txt", "tab_name": "edit of b.txt", "state": "queued"}
COPILOTS = {**OTHER, "id": 3, "agent": "copilot", "title": "Copilot CLI", "tab_name": "c"}

# what is offered, and how it is answered: the item of that number
PICK = """
_G.asked = {}
local answers = { ... }
vim.ui.select = function(items, options, on_choice)
  local format = options.format_item or tostring
  table.insert(_G.asked, { options.prompt, vim.tbl_map(format, items) })
  on_choice(items[table.remove(answers, 1)])
end
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Bed]:
    with bed(tmp_path) as desk:
        yield desk


def asked(desk: Bed) -> Any:
    return desk.nvim.lua("return _G.asked")


def test_all_of_one_agent_after_a_confirmation_that_lists_them(desk: Bed) -> None:
    sized = {**OTHER, "added": 12, "removed": 3, "stale": "changed on disk", "client_gone": True}
    push_status(
        desk.nvim, reviews=[REVIEW, sized, COPILOTS, {**REVIEW, "id": 4, "state": "accepted"}]
    )
    # which agent, and then "No"
    desk.nvim.lua(PICK, 2, 1)
    desk.nvim.command("tabnew")
    push_status(desk.nvim, reviews=[sized, COPILOTS])
    desk.nvim.command("AgentIde reject!")
    assert asked(desk) == [
        ["All diffs of:", ["Claude Code (1)", "Copilot CLI (1)"]],
        ["Reject this diff of Copilot CLI?\n  queued: /p/b.txt (Copilot CLI)", ["No", "Yes"]],
    ]
    assert desk.nvim.named("reject") == []
    # the agent of the one that is shown
    push_status(desk.nvim, reviews=[REVIEW, sized, COPILOTS])
    desk.nvim.lua(PICK, 2)
    desk.nvim.command("AgentIde accept!")
    ((question, choices),) = asked(desk)
    assert question == (
        "Accept these 2 diffs of Claude Code?\n"
        "  pending: /p/a.txt (Claude Code)\n"
        "  queued: /p/b.txt +12 -3 (Claude Code, which is gone, changed on disk)"
    )
    assert choices == ["No", "Yes"]
    assert desk.nvim.named("accept") == [{"id": 1}, {"id": 2}]
    # by name
    desk.nvim.lua(PICK, 2)
    desk.nvim.command("AgentIde reject! copilot")
    assert desk.nvim.named("reject") == [{"id": 3}]
    desk.nvim.command("AgentIde reject! nobody")
    assert "no diff waits for nobody" in desk.told()[-1]
    push_status(desk.nvim)
    desk.nvim.command("AgentIde accept!")
    assert "no diff awaits a verdict" in desk.told()[-1]


def test_only_what_was_listed_is_settled(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[REVIEW, OTHER])
    desk.nvim.lua("vim.ui.select = function(_, _, choose) _G.choose = choose end")
    desk.nvim.command("AgentIde accept!")
    push_status(desk.nvim, reviews=[OTHER, {**OTHER, "id": 5, "tab_name": "a later one"}])
    desk.nvim.lua("_G.choose('Yes')")
    assert desk.nvim.named("accept") == [{"id": 2}]


def test_the_list_of_diffs_opens_what_is_chosen(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[REVIEW, {**OTHER, "added": 2, "removed": 0}])
    desk.nvim.lua(PICK, 2)
    desk.nvim.command("AgentIde diffs")
    ((_, choices),) = asked(desk)
    assert choices == ["pending: /p/a.txt (Claude Code)", "queued: /p/b.txt +2 -0 (Claude Code)"]
    assert desk.nvim.wait_event("review") == {"id": 2, "event": "show"}


def test_undo_and_layout(desk: Bed) -> None:
    desk.nvim.command("AgentIde undo")
    desk.nvim.wait_event("undo")
    desk.nvim.command("AgentIde layout inline")
    desk.nvim.command("AgentIde layout")
    desk.nvim.command("AgentIde layout round")
    assert [line.removeprefix("agent_ide: ") for line in desk.told()] == [
        "diffs are shown inline",
        "diffs are shown vertical",
        "expected one of vertical, horizontal, inline",
    ]
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert desk.nvim.lua(complete, "AgentIde layout h") == ["horizontal"]


# -- with a reason -----------------------------------------------------------------------


def connected(desk: Bed, pid: int) -> None:
    client = {
        "id": "claude-1",
        "agent": "claude",
        "name": "claude-code",
        "version": "2",
        "pid": pid,
    }
    push_status(desk.nvim, clients=[client], reviews=[{**REVIEW, "carries_reason": True}])


def test_a_reason_goes_to_the_agent_in_our_terminal(desk: Bed) -> None:
    desk.open_agent()
    connected(desk, desk.cli.started()["pid"])
    desk.nvim.command("AgentIde reject use a set, not a list")
    assert desk.nvim.wait_event("reject") == {"id": 1, "reason": "use a set, not a list"}
    # what the host asks for once the CLI has its prompt back
    push_status(desk.nvim)
    desk.nvim.call("terminal.paste", {"agent": "claude", "text": "use a set, not a list"})
    wait_until(lambda: b"use a set, not a list" in desk.cli.typed(), "the reason")
    assert b"\r" not in desk.cli.typed()


def test_a_reason_that_cannot_be_carried_is_said(desk: Bed) -> None:
    connected(desk, 1)
    desk.nvim.command("AgentIde reject use a set")
    assert desk.nvim.wait_event("reject") == {"id": 1}
    assert "rejected, but Claude Code cannot be given the reason" in desk.told()[-1]
    # a name is no reason
    desk.nvim.command("AgentIde reject edit of a.txt")
    assert desk.nvim.named("reject")[-1] == {"id": 1}
    assert len(desk.told()) == 1


# -- from the terminal -------------------------------------------------------------------


def test_keys_of_the_terminal_settle_while_a_diff_waits(tmp_path: Path) -> None:
    options = {"diff": {"terminal_keys": {"accept": "<C-y>", "reject": "<C-n>"}}}
    with bed(tmp_path, options) as desk:
        desk.open_agent()
        push_status(desk.nvim, reviews=[COPILOTS])
        desk.nvim.feed("<C-y>")
        wait_until(lambda: b"\x19" in desk.cli.typed(), "the CLI's own key")
        push_status(desk.nvim, reviews=[REVIEW, {**COPILOTS, "state": "pending"}])
        desk.nvim.feed("<C-y>")
        assert desk.nvim.wait_event("accept") == {"id": 1}
        desk.nvim.feed("<C-n>")
        assert desk.nvim.wait_event("reject") == {"id": 1}
        assert desk.nvim.mode() == "t"
        push_status(desk.nvim)
        desk.nvim.feed("<C-n>")
        wait_until(lambda: b"\x0e" in desk.cli.typed(), "the CLI's own key")
        assert desk.cli.typed().count(b"\x19") == 1


# -- events ------------------------------------------------------------------------------

LISTEN = """
_G.heard = {}
vim.api.nvim_create_autocmd("User", {
  pattern = { "AgentIdeReview*", "ClaudeCodeDiff*" },
  callback = function(event) table.insert(_G.heard, { event.match, event.data }) end,
})
"""


def test_events_for_configurations(desk: Bed) -> None:
    desk.nvim.lua(LISTEN)
    path = desk.edit("a.txt", "old\n")
    names = {"tab_name": "edit of a.txt", "path": str(path), "is_new": False}
    desk.nvim.call("review.show", {"id": 1, "agent": "Claude Code", "text": "new\n", **names})
    for event in ("opened", "accepted", "rejected", "closed"):
        more = {"verdict": "accepted"} if event == "closed" else {}
        facts = {"agent": "claude", "hunks": 1, **names, **more}
        desk.nvim.call("review.event", {"id": 1, "event": event, **facts})
    desk.nvim.call(
        "review.event", {"id": 2, "event": "closed", "agent": "copilot", "hunks": 0, **names}
    )
    heard = desk.nvim.lua("return _G.heard")
    data = {"agent": "claude", "path": str(path), "tab_name": "edit of a.txt", "hunks": 1}
    assert [name for name, _ in heard] == [
        *("AgentIdeReviewOpened", "ClaudeCodeDiffOpened", "AgentIdeReviewAccepted"),
        *("AgentIdeReviewRejected", "AgentIdeReviewClosed", "ClaudeCodeDiffClosed"),
        "AgentIdeReviewClosed",
    ]
    assert heard[0][1] == heard[2][1] == heard[4][1] == data
    theirs = heard[1][1]
    assert (theirs["file_path"], theirs["is_new_file"]) == (str(path), False)
    assert desk.nvim.api.api.win_get_buf(theirs["diff_window"]).name.endswith("/review/1/a.txt")
    assert heard[5][1]["reason"] == "diff accepted"


def test_the_lua_functions(desk: Bed) -> None:
    push_status(desk.nvim, reviews=[REVIEW, OTHER])
    ide = "require('agent_ide')"
    assert [review["id"] for review in desk.nvim.lua(f"return {ide}.reviews()")] == [1, 2]
    assert desk.nvim.lua(f"return {ide}.accept(2)") is True
    assert desk.nvim.lua(f"return {ide}.reject(1, 'because')") is True
    assert desk.nvim.named("accept") == [{"id": 2}]
    assert desk.nvim.named("reject") == [{"id": 1}]
    assert desk.nvim.lua(f"return {{ {ide}.accept(9) }}") == [False, "no diff 9 awaits a verdict"]
    # without a number the one that a command means
    assert desk.nvim.lua(f"return {ide}.reject()") is True
    push_status(desk.nvim)
    assert desk.nvim.lua(f"return {{ {ide}.reject() }}") == [False, "no diff awaits a verdict"]
