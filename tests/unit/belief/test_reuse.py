"""What is paid once for several designs."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo.belief.costs import Costs, mean_costs
from flexibo.belief.reuse import SHARE, paid_whole, rest_prices
from flexibo.belief.step_costs import whole_costs
from flexibo.history import History
from flexibo.history.events import Asked, Evaluation, Failed, FailureKind, Told

SPACE = Space({"width": (1, 8), "bits": [8, 16, 32]})
ERROR = Objective("error", reuse=["width"])


def history_of(*paid: tuple[int, int, float], error: Objective = ERROR) -> History:
    """A study that measured the error of (width, bits) for a cost, one after the other."""
    history = History(SPACE, [error, Objective("joules")])
    for number, (width, bits, cost) in enumerate(paid):
        design = SPACE.design({"width": width, "bits": bits})
        history.append(Asked(Evaluation(design, "error", None, 1.0, "", number=number, yields=("error",))))
        history.append(Told(number, {"error": 1.0 / width}, cost))
    return history


PAID = ((1, 8, 10.0), (2, 16, 20.0), (1, 16, 0.5), (2, 32, 1.5), (4, 8, 40.0))


def test_the_first_design_of_its_kind_pays_for_all() -> None:
    assert paid_whole(history_of(*PAID), 0).tolist() == [True, True, False, False, True]
    assert paid_whole(history_of(*PAID, error=Objective("error")), 0).all()
    assert len(paid_whole(history_of(), 0)) == 0


def test_mean_and_learned_costs_are_those_of_first_designs() -> None:
    history = history_of(*PAID)
    designs, costs = whole_costs(history, 0)
    assert [design["width"] for design in designs] == [1, 2, 4]
    assert costs.tolist() == [10.0, 20.0, 40.0]
    assert mean_costs(history)[0] == pytest.approx(70 / 3)


@pytest.mark.parametrize("cost", ["log", "learned"])
def test_a_design_that_uses_again_what_was_made_pays_the_rest(cost: str) -> None:
    wanted = SPACE.designs([{"width": 1, "bits": 32}, {"width": 4, "bits": 8}, {"width": 8, "bits": 8}])
    prices = Costs(cost, seed=0).prices(history_of(*PAID), wanted)[:, 0]
    assert prices[:2].tolist() == [1.0, 1.0]
    assert prices[2] > 15.0


def test_the_rest_is_assumed_to_be_a_share_until_one_was_paid() -> None:
    history = history_of((1, 8, 10.0), (2, 16, 20.0))
    wanted = SPACE.designs([{"width": 1, "bits": 32}, {"width": 4, "bits": 8}])
    assert rest_prices(history, 0, wanted, np.array([12.0, 30.0])).tolist() == [SHARE * 12.0, 30.0]
    assert rest_prices(history, 1, wanted, np.array([12.0, 30.0])).tolist() == [12.0, 30.0]
    assert rest_prices(history, 0, SPACE.designs([]), np.zeros(0)).tolist() == []


def test_an_attempt_that_failed_made_nothing() -> None:
    history = history_of((1, 8, 10.0))
    design = SPACE.design({"width": 2, "bits": 8})
    history.append(Asked(Evaluation(design, "error", None, 1.0, "", number=1, yields=("error",))))
    history.append(Failed(1, "out of memory", 5.0, kind=FailureKind.ERROR))
    wanted = SPACE.designs([{"width": 2, "bits": 16}])
    assert rest_prices(history, 0, wanted, np.array([12.0])).tolist() == [12.0]


def test_a_pending_evaluation_is_expected_to_cost_the_rest() -> None:
    history = history_of(*PAID)
    design = SPACE.design({"width": 4, "bits": 32})
    evaluation = Evaluation(design, "error", None, 1.0, "", number=5, yields=("error",))
    assert Costs("learned", seed=0).prices_of(history, [evaluation]).tolist() == [1.0]
