from __future__ import annotations

import math

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo.costs import Costs, constant_cost, log_cost, mean_costs, paper_log_cost, ratio_cost, sqrt_cost
from flexibo.errors import InvalidValueError
from flexibo.events import Added
from flexibo.history import History

MEANS = np.array([100.0, 10.0])


def history_of(costs: list[tuple[float, float]], **prior: float) -> History:
    space = Space({"x": (0.0, 1.0)})
    history = History(space, [Objective("a", cost=prior.get("a")), Objective("b", cost=prior.get("b"))])
    for i, (a, b) in enumerate(costs):
        design = space.design({"x": i / 10})
        history.append(Added(design, {"a": 1.0, "b": 1.0}, {"a": a, "b": b}))
    return history


def test_the_cost_functions_are_those_of_the_paper_and_ours() -> None:
    prices = MEANS[None, :]
    assert ratio_cost(prices, MEANS).tolist() == [[10.0, 1.0]]
    assert constant_cost(prices, MEANS).tolist() == [[1.0, 1.0]]
    np.testing.assert_allclose(log_cost(prices, MEANS), [[1 + math.log(10), 1.0]])
    np.testing.assert_allclose(sqrt_cost(prices, MEANS), [[math.sqrt(10), 1.0]])
    np.testing.assert_allclose(paper_log_cost(prices, MEANS), [[math.log(100), math.log(10)]])


def test_the_papers_logarithm_is_never_below_one() -> None:
    assert paper_log_cost(np.array([[0.1, 2.0]]), MEANS).tolist() == [[1.0, 1.0]]


def test_our_logarithm_does_not_depend_on_the_unit_of_cost() -> None:
    np.testing.assert_allclose(log_cost(MEANS[None, :], MEANS), log_cost(60 * MEANS[None, :], 60 * MEANS))


def test_costs_are_averaged_over_each_objectives_own_evaluations() -> None:
    assert mean_costs(history_of([(10.0, 1.0), (30.0, 2.0)])).tolist() == [20.0, 1.5]


def test_a_prior_cost_counts_until_the_first_measurement() -> None:
    assert mean_costs(history_of([], a=50.0))[0] == 50.0
    assert math.isnan(mean_costs(history_of([], a=50.0))[1])
    assert mean_costs(history_of([(10.0, 1.0)], a=50.0)).tolist() == [10.0, 1.0]


def test_a_free_objective_has_a_positive_theta() -> None:
    history = history_of([(10.0, 0.0)])
    for name in ("log", "ratio", "sqrt", "constant", "paper-log", "learned"):
        costs = Costs(name, seed=0)
        prices = costs.prices(history, history.designs)
        assert prices.tolist() == [[10.0, 0.0]]
        assert (costs.thetas(history, prices) > 0).all()


def test_learned_costs_follow_the_design() -> None:
    history = history_of([(10.0 * (1 + i), 1.0) for i in range(10)])
    probe = history.space.designs([{"x": 0.05}, {"x": 0.85}])
    cheap, dear = Costs("learned", seed=0).prices(history, probe)[:, 0]
    assert cheap == pytest.approx(15.0, rel=0.2)
    assert dear == pytest.approx(95.0, rel=0.2)


def test_learned_costs_stay_near_what_was_paid() -> None:
    history = history_of([(10.0, 1.0), (1000.0, 1.0), (10.0, 1.0), (5000.0, 1.0)])
    prices = Costs("learned", seed=0).prices(history, history.space.sample(200, np.random.default_rng(0)))
    assert prices[:, 0].min() >= 5.0
    assert prices[:, 0].max() <= 10000.0


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf])
def test_a_callable_that_gives_an_impossible_cost_is_named(price: float) -> None:
    history = history_of([(1.0, 1.0)])
    with pytest.raises(InvalidValueError, match="The cost callable gave"):
        Costs(lambda design, objective: price, seed=0).prices(history, history.designs)
