"""What bench/moves.py makes of key presses and pushes."""

from __future__ import annotations

from bench.moves import ages_s


def test_a_state_ages_from_the_next_one_on() -> None:
    pressed = [0.0, 1.0, 2.0, 3.0, 4.0]
    # 1 comes at once, 2 is skipped, 4 comes late
    assert ages_s(pressed, [(1.25, 1), (3.5, 3), (4.0, 3), (4.75, 4)]) == [0.25, 1.5, 0.75]


def test_what_never_comes_has_no_age() -> None:
    assert ages_s([0.0, 1.0], []) == []
