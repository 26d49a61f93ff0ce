from __future__ import annotations

import numpy as np

from flexibo import Space
from flexibo.compare.rivals.step_rival import StepSetting
from flexibo.compare.rivals.successive_halving import SuccessiveHalving, ranking

SPACE = Space({"x": (0.0, 1.0)})


def halving(levels: int = 9) -> SuccessiveHalving:
    return SuccessiveHalving(StepSetting(SPACE, ("a", "b"), np.ones(2), levels, seed=0))


def levels_asked(rival: SuccessiveHalving, count: int) -> list[int]:
    """The levels of the next questions; the smaller x, the better."""
    asked = []
    for _ in range(count):
        rung = rival.ask()
        x = float(str(rung.design["x"]))
        rival.tell(rung, {rung.level: [x, x]})
        asked.append(rung.level)
    return asked


def test_one_in_three_goes_on_until_one_is_left_and_then_a_round_begins_again() -> None:
    rival = halving()
    assert levels_asked(rival, 14) == [1] * 9 + [3] * 3 + [9] + [1]


def test_the_best_go_on() -> None:
    rival = halving()
    begun = []
    for _ in range(9):
        rung = rival.ask()
        begun.append(float(str(rung.design["x"])))
        rival.tell(rung, {1: [begun[-1], begun[-1]]})
    gone_on = []
    for _ in range(3):
        rung = rival.ask()
        gone_on.append(float(str(rung.design["x"])))
        rival.tell(rung, {3: [0.0, 0.0]})
    assert sorted(gone_on) == sorted(begun)[:3]


def test_the_same_seed_asks_for_the_same_designs() -> None:
    assert halving().ask() == halving().ask()


def test_a_front_is_ranked_by_distance_from_those_before() -> None:
    losses = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.5, 0.5], [2.0, 2.0]])
    assert ranking(losses) == [0, 2, 3, 1, 4]
