"""All four agents on one Neovim at once."""

from __future__ import annotations

import pytest

from tests.e2e.bed import Bed, edit_turns
from tests.e2e.companion import CLIS
from tests.e2e.model import say, use
from tests.support.neovim import LIMIT_S, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.cli("claude", "copilot", "gemini", "qwen")]


def test_each_has_its_own_review_and_its_own_verdict(bed: Bed) -> None:
    """Four agents on one Neovim do not hear each other."""
    agents = ("claude", "copilot", "gemini", "qwen")
    paths = {agent: bed.write(f"{agent}.txt", "one\ntwo\n") for agent in agents}
    editor = bed.start_editor("claude.txt")
    claude = bed.start_claude(editor)
    copilot = bed.start_copilot(editor)
    gemini, qwen = (bed.start_companion(name, editor) for name in CLIS)
    assert sorted(client["agent"] for client in editor.clients()) == list(agents)

    bed.model.plan(*edit_turns(paths["claude"], "two", "TWO"))
    edit = use("edit", path=str(paths["copilot"]), old_str="two", new_str="TWO")
    bed.copilot_model.plan([edit], [say("Done.")])
    for name in CLIS:
        turns = CLIS[name].edit(paths[name], "two", "TWO")
        bed.companion_model(name).plan(*turns, [say("Done.")])
    for count, cli in enumerate((claude, copilot, gemini, qwen), 1):
        cli.prompt("edit it")
        wait_until(
            lambda count=count: len(editor.reviews()) == count, f"{count} reviews", 4 * LIMIT_S
        )

    # one is shown at a time, in the order in which they came; Copilot's is rejected
    for agent in agents:
        assert editor.wait_review(paths[agent])["agent"] == agent
        editor.to_proposal()
        editor.feed(":q!<CR>" if agent == "copilot" else "Gomine<Esc>:w<CR>")
    editor.wait_no_review()
    # Claude lets its review go before it writes
    written = ("claude", "gemini", "qwen")
    wait_until(
        lambda: [paths[agent].read_text() for agent in written] == ["one\nTWO\nmine\n"] * 3,
        "the edits of three",
        2 * LIMIT_S,
    )
    assert paths["copilot"].read_text() == "one\ntwo\n"
    assert len(editor.clients()) == 4
