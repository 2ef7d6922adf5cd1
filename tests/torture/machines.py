"""Running a hypothesis state machine so that its failure can be repeated.

Owns:     the seed, how many steps were taken.
Not here: the machines' rules.

The seed is told as a figure; `--hypothesis-seed=N` runs the same steps again.
"""

from __future__ import annotations

import random
import sys

import hypothesis
import pytest
from hypothesis.errors import HypothesisException, StopTest
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from tests.support.figures import Figure

__all__ = ["CountedMachine", "run_machine"]

MOST = 10**6
"""A figure shows six digits."""


class CountedMachine(RuleBasedStateMachine):
    """Counts what hypothesis does with it, over all of its examples."""

    examples = 0
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).examples += 1

    @staticmethod
    def failure() -> BaseException | None:
        """Of an example that is being torn down; hypothesis' own signals are none."""
        error = sys.exc_info()[1]
        return error if isinstance(error, Exception) and not _is_signal(error) else None

    @invariant()
    def is_counted(self) -> None:
        # after each step, and once before the first
        type(self).steps += 1


def _is_signal(error: BaseException) -> bool:
    return isinstance(error, StopTest | HypothesisException)


def run_machine(
    machine: type[CountedMachine],
    config: pytest.Config,
    figure: Figure,
    *,
    examples: int,
    steps: int,
    shrinks: bool = True,
) -> int:
    """Run it; the steps that were taken.

    Args:
        shrinks: look for a shorter way to a failure; no use where the order of things is not ours.
    """
    given = config.getoption("--hypothesis-seed")
    seed = random.randrange(MOST) if given is None else int(given)
    figure("seed", seed, "", f"--hypothesis-seed={seed}")
    phases = [hypothesis.Phase.generate, *([hypothesis.Phase.shrink] if shrinks else [])]
    machine.examples, machine.steps = 0, 0
    settings = hypothesis.settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        # the seed alone says what runs
        database=None,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=settings)
    finally:
        taken = machine.steps - machine.examples
        figure("steps", taken, "", f"{machine.examples} examples of at most {steps} steps")
    return taken
