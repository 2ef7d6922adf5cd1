"""Agents, the user and faults at random against a whole host in a real Neovim.

Each example begins with a Neovim in which nothing is open, and must leave it so. What the order of
things is in between is the machine's: a failure is looked for again with its seed, not shortened.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.support.figures import Figure, Scale
from tests.support.neovim import wait_until
from tests.torture.host_world import FILES, LIMIT, HostWorld
from tests.torture.machines import CountedMachine, run_machine

NUMBERS = st.integers(0, 10**6)

TABS = ("x", "y")

LARGE = "a line of a large text\n" * 20_000
"""It goes through a file, and into its buffer in parts."""


class HostStates(CountedMachine):
    """world: one for all examples, as long as each leaves nothing behind.

    first: what went wrong; hypothesis tries again, and may see something else.
    """

    world: ClassVar[HostWorld | None] = None
    first: ClassVar[BaseException | None] = None

    @initialize(kinds=st.lists(st.sampled_from(["claude", "copilot"]), min_size=1, max_size=2))
    def begin(self, kinds: list[str]) -> None:
        if type(self).world is None:
            type(self).world = HostWorld()
        self.it = type(self).world
        for kind in kinds:
            self.it.connect(kind)

    @staticmethod
    def _pick(number: int, things: Sequence[Any]) -> Any:
        return things[number % len(things)] if things else None

    # -- agents -------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(["claude", "copilot"]))
    def connect(self, kind: str) -> None:
        if len(self.it.connected(kind)) < 2:
            self.it.connect(kind)
        self._look()

    @rule(number=NUMBERS, politely=st.booleans())
    def disconnect(self, number: int, politely: bool) -> None:
        agent = self._pick(number, self.it.connected())
        if agent is not None:
            self.it.disconnect(agent, politely)
        self._look()

    @rule(number=NUMBERS, name=st.sampled_from(FILES), tab=st.sampled_from(TABS))
    def open_diff(self, number: int, name: str, tab: str) -> None:
        agent = self._pick(number, self.it.connected())
        if agent is not None:
            text = f"one\n{self.it.unique()}\nthree\n" + (LARGE if number % 7 == 0 else "")
            self.it.ask(agent, name, tab, text)
        self._look()

    @rule(number=NUMBERS, name=st.sampled_from(FILES), accepts=st.booleans())
    def open_diff_and_type(self, number: int, name: str, accepts: bool) -> None:
        """The user has begun to change what is proposed, or has done so and accepts it."""
        self.open_diff(number, name, TABS[number % 2])
        self.type()
        if accepts:
            self.write_proposal()

    @rule(number=NUMBERS, tab=st.sampled_from(TABS))
    def close_tab(self, number: int, tab: str) -> None:
        agent = self._pick(number, self.it.connected())
        if agent is not None:
            self.it.close_tab(agent, tab)
        self._look()

    @rule(number=NUMBERS)
    def close_all(self, number: int) -> None:
        agent = self._pick(number, self.it.connected("claude"))
        if agent is not None:
            self.it.live.run(agent.client.call("closeAllDiffTabs"))
        self._look()

    @rule(number=NUMBERS)
    def agent_writes(self, number: int) -> None:
        """What it has proposed, as after a decision in its own terminal."""
        question = self._pick(number, self.it.questions)
        if question is not None:
            question.path.write_text(question.text, encoding="utf-8")
        self._look()

    # -- the user -----------------------------------------------------------------------------

    @rule(
        tail=st.sampled_from(["accept", "accept", "reject"]), wanted=st.sampled_from(["No", "Yes"])
    )
    def decide(self, tail: str, wanted: str) -> None:
        self.it.editor.lua("vim.g.wanted = ...", wanted)
        if tail == "reject":
            self.it.let_go()
        self.it.try_command(f"AgentIde {tail}")
        self._look()

    @rule()
    def write_proposal(self) -> None:
        """Typed, which accepts."""
        self._to_proposal()
        if self.it.in_proposal():
            self.it.editor.feed(":w<CR>")
        self._look()

    @rule()
    def type(self) -> None:
        self._to_proposal()
        self.it.type(self.it.unique())
        self._look()

    def _to_proposal(self) -> None:
        """Into the window of a proposal, if one is open."""
        self.it.normal_mode()
        if any(review["state"] == "pending" for review in self.it.editor.reviews()):
            self.it.try_command("AgentIde diffs")
            with suppress(AssertionError):
                # another one may have been chosen, and wait for something
                wait_until(self.it.in_proposal, "the proposal", 1)

    @rule(command=st.sampled_from(["close", "quit", "only", "tabclose", "bdelete!"]))
    def close_window(self, command: str) -> None:
        self.it.normal_mode()
        self.it.let_go()
        # a file's buffer may hold what was accepted: whoever throws that away means it
        fits = self.it.in_proposal() or command != "bdelete!"
        if fits and self.it.editor.lua("return #vim.api.nvim_list_wins() > 1"):
            self.it.try_command(command)
        self._look()

    @rule(
        command=st.sampled_from(
            [
                "AgentIde diffs",
                "AgentIde layout inline",
                "AgentIde layout vertical",
                "tabnew",
                "tabnext",
                "wincmd w",
                "split",
                "edit b.txt",
                "silent! wall",
            ]
        )
    )
    def look_around(self, command: str) -> None:
        if self.it.editor.mode() == "n":
            self.it.try_command(command)
        self._look()

    @rule()
    def close_all_diffs(self) -> None:
        self.it.let_go()
        self.it.try_command("ClaudeCodeCloseAllDiffs")
        self._look()

    @rule(keys=st.sampled_from(["i", "v", "qq", "d", "<C-\\><C-n><Esc>", "<C-\\><C-n><Esc>"]))
    def be_busy(self, keys: str) -> None:
        """In the middle of something; or done with it."""
        if keys.startswith("<C-"):
            self.it.normal_mode()
            self.it.end_recording()
        elif self.it.editor.mode() == "n" and not self.it.in_proposal():
            # recording already: the first "q" would end it, the second wait for a name
            records = bool(self.it.editor.call("reg_recording"))
            self.it.editor.nvim.call("nvim_input", "" if records and keys == "qq" else keys)
        self._look()

    @rule()
    def terminal(self) -> None:
        self.it.normal_mode()
        self.it.try_command("botright new | terminal cat")
        self.it.try_command("startinsert")
        self._look()

    # -- faults -------------------------------------------------------------------------------

    @rule(name=st.sampled_from(FILES), how=st.sampled_from(["write", "remove"]))
    def file_changes(self, name: str, how: str) -> None:
        path = self.it.live.project / name
        if how == "remove":
            path.unlink(missing_ok=True)
        else:
            path.write_text(f"{self.it.unique()}\n", encoding="utf-8")
        self._look()

    @rule(number=st.integers(0, 9))
    def restart(self, number: int) -> None:
        if number == 0:
            self._new_host(lambda: self.it.try_command("AgentIde restart"))

    @rule(number=st.integers(0, 4))
    def kill_host(self, number: int) -> None:
        # no precondition: what is drawn must not depend on the clock
        if number == 0 and self.it.may_kill():
            self.it.killed_s = time.monotonic()
            pid = self.it.live.wait_served()
            self._new_host(lambda: os.kill(pid, signal.SIGKILL))

    def _new_host(self, end: Any) -> None:
        before = self.it.live.wait_served()
        self.it.happened["ends of the host"] += 1
        end()
        editor = self.it.editor
        wait_until(lambda: editor.host_pid() not in (None, before), "a new host", LIMIT)
        self.it.all_lost()
        self.it.live.wait_served()
        self._look()

    # -- what holds -----------------------------------------------------------------------------

    def _look(self) -> None:
        """After each step: nothing contradicts, nobody was answered twice, nothing went wrong."""
        mode = self.it.editor.nvim.call("nvim_get_mode")
        assert not mode["blocking"] or mode["mode"] == "no", mode
        if mode["blocking"]:
            return
        self.it.wait_consistent()
        for question in self.it.questions:
            assert len(question.answers()) <= 1, question
        assert self.it.errors() == []

    def teardown(self) -> None:
        """All go, in some order; Neovim is as it was, and what was typed is somewhere."""
        cls = type(self)
        error = self.failure()
        try:
            if error is None:
                self._ends()
        except BaseException as ours:
            error = ours
            raise
        finally:
            if error is not None and cls.world is not None:
                cls.first = cls.first or error
                world, cls.world = cls.world, None
                print(f"{error!r}\n{world.evidence()}")
                world.close()

    def _ends(self) -> None:
        it = self.it
        it.normal_mode()
        typed = [text for question in it.questions for text in question.typed]
        for agent in it.connected():
            it.disconnect(agent, politely=True)
        wait_until(lambda: not it.editor.clients(), "that all have gone", LIMIT)
        it.try_command("ClaudeCodeCloseAllDiffs")
        wait_until(lambda: not it.editor.reviews(), "the end of all reviews", LIMIT)
        it.wait_consistent()
        assert it.editor.diff_windows() == []
        if typed:
            wait_until(lambda: it.has_all(typed), f"that nothing typed is lost: {typed}", LIMIT)
        assert len(list(it.editor.lock_folder.glob("*"))) == 1
        assert len(it.editor.copilot_locks()) == 1
        assert it.live.logged_errors() == []
        assert it.errors() == []
        it.count()
        it.clean()


@pytest.mark.timeout(0)
def test_a_host_whatever_happens(pytestconfig: pytest.Config, figure: Figure, scale: Scale) -> None:
    examples, steps = scale(short=3, long=60), scale(short=15, long=40)
    HostStates.world = HostStates.first = None
    try:
        run_machine(HostStates, pytestconfig, figure, examples=examples, steps=steps, shrinks=False)
    except Exception:
        if HostStates.first is not None:
            raise HostStates.first from None
        raise
    finally:
        world, HostStates.world = HostStates.world, None
        if world is not None:
            world.close()
    assert world is not None
    for name, count in sorted(world.happened.items()):
        figure(name, count)
    assert world.editor.leftovers() == []
