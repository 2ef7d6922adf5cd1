"""A long life: what a day of work leaves behind in Neovim and its host.

The long form (`make soak`) takes about ten minutes: 20,000 selections, 2,000 diffs, 500 agents that
come and go, 50 restarts of the host. `make soak MINUTES=60` takes six times as many.

Memory is compared with what it was after a tenth of the work; everything else must be no more than
it was then. The host is one process until the restarts, so that its memory says something.
"""

from __future__ import annotations

import os

import pytest

from tests.soak.inventory import Inventory, memory_mb, take, tasks_at_end, wait_calm
from tests.soak.visits import Visits
from tests.support.figures import Figure, Scale
from tests.support.live import Live
from tests.support.neovim import wait_until

OPTIONS = "auto_start = true"

SELECTIONS, DIFFS = 40, 4
"""In one visit of an agent."""

WARM_UP = 3
"""Visits at least: every part has been loaded then."""


@pytest.mark.timeout(0)
def test_a_long_life_leaves_nothing_behind(figure: Figure, scale: Scale) -> None:
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    visits = scale(short=6, long=round(50 * minutes))
    restarts = scale(short=1, long=round(5 * minutes))
    # what a short run allocates anew is noise beside what it has just loaded
    growth = 1 + scale(short=50, long=10) / 100
    with Live() as live:
        life = Life(live, visits)
        fresh = take(live)
        # a host that ends tells of its tasks
        life.restart()
        life.work(max(WARM_UP, visits // 10))
        warm = take(live)
        life.work(visits - life.agents)
        wait_calm(live)
        worn = take(live)
        for _ in range(restarts):
            life.restart()
        wait_calm(live)
        end = take(live)
        tasks = tasks_at_end(live)
        life.tell(figure)
        _compare(figure, growth, fresh, warm, worn, end)
        figure("tasks of the host", tasks[1], "", f"{tasks[0]} at first")
        assert len(tasks) == life.restarts
        assert max(tasks) <= tasks[0]
        assert live.logged_errors() == []


class Life:
    """Counts what was done.

    grown: the memory of Neovim in MB, at each tenth of the visits.
    """

    def __init__(self, live: Live, visits: int) -> None:
        self._live = live
        self._every = max(1, visits // 10)
        self.grown: list[float] = []
        self._visits = Visits(live)
        self.agents = self.restarts = 0

    def work(self, visits: int) -> None:
        for _ in range(visits):
            self.agents += 1
            if self.agents % self._every == 0:
                self.grown.append(memory_mb(self._live.editor.pid))
            visit = self._visits.visit_of_copilot if self.agents % 3 == 0 else None
            (visit or self._visits.visit_of_claude)(SELECTIONS, DIFFS)

    def restart(self) -> None:
        before = self._live.wait_served()
        self.restarts += 1
        self._live.editor.command("AgentIde restart")
        wait_until(lambda: self._live.editor.host_pid() not in (None, before), "a new host", 60)
        self._live.wait_served()

    def tell(self, figure: Figure) -> None:
        figure("selections", self.agents * SELECTIONS)
        figure("diffs opened and closed", self.agents * DIFFS)
        figure("agents that came and went", self.agents)
        figure("restarts of the host", self.restarts)
        series = " ".join(f"{memory:.1f}" for memory in self.grown)
        figure("memory of Neovim on the way", self.grown[-1], "MB", series)


def _compare(
    figure: Figure,
    growth: float,
    fresh: Inventory,
    warm: Inventory,
    worn: Inventory,
    end: Inventory,
) -> None:
    grown = []
    for name, before, after in [
        ("memory of Neovim", warm.neovim_mb, end.neovim_mb),
        ("memory of the host", warm.host_mb, worn.host_mb),
    ]:
        figure(name, after, "MB", f"{before:.1f} when warm, at most {before * growth:.1f}")
        if after > before * growth:
            grown.append(f"{name}: {before:.1f} -> {after:.1f} MB")
    for name, after in end.counts.items():
        first, before = fresh.counts[name], warm.counts[name]
        figure(name, after, "", f"{before} when warm, {first} at first")
        if name == "timers":
            # they run for a moment after each diff
            before = first
        limit = before * growth if name.endswith("KB") else before
        if after > limit:
            grown.append(f"{name}: {before} -> {after}")
    assert not grown
