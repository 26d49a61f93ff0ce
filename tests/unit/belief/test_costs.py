from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo._internal.arrays import FloatArray
from flexibo.belief.costs import (
    Costs,
    constant_cost,
    failure_costs,
    log_cost,
    mean_above,
    mean_costs,
    paper_log_cost,
    ratio_cost,
    sqrt_cost,
)
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history import History
from flexibo.history.events import Added, Asked, Evaluation, Failed, FailureKind
from flexibo.surrogates import GaussianProcess

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
    with pytest.raises(InvalidValueError, match=rf"callable gave {price} for 'a' of Design"):
        Costs(lambda design, objective: price, seed=0).prices(history, history.designs)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, "None"),
        ("3", "'3'"),
        (np.array([1.0]), r"array\(\[1.\]\)"),
        (np.array([1.0, 2.0]), r"array\(\[1., 2.\]\)"),
        ([1.0], r"\[1.0\]"),
        (10**400, ".* 1329 bits"),
        (10**5000, ".* 16610 bits"),
    ],
    ids=["none", "text", "array of one", "array", "list", "large", "too large to print"],
)
def test_a_callable_that_gives_no_number_is_told_what_to_return(given: object, shown: str) -> None:
    history = history_of([(1.0, 1.0)])
    with pytest.raises(InvalidValueError, match=rf"gave {shown} for 'a' of Design.*one number") as error:
        Costs(lambda design, objective: given, seed=0).prices(history, history.designs)  # type: ignore[arg-type, return-value]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("given", [2, 2.0, np.float32(2.0), np.array(2.0)])
def test_a_callable_may_give_any_kind_of_number(given: float) -> None:
    history = history_of([(1.0, 1.0)])
    assert Costs(lambda design, objective: given, seed=0).prices(history, history.designs).tolist() == [[2.0, 2.0]]


@pytest.mark.parametrize("number", [4, 5, 7])
def test_equal_costs_are_learned_exactly(number: int) -> None:
    history = history_of([(3600.0, 1e90 * (1 + i)) for i in range(number)])
    prices = Costs("learned", seed=0).prices(history, history.space.sample(50, np.random.default_rng(0)))
    assert (prices[:, 0] == 3600.0).all()


@pytest.mark.parametrize("unit", [1e90, 1e99, 1e-300, 1e-320])
def test_learned_costs_may_be_extreme(unit: float) -> None:
    history = history_of([(0.0, unit), (5 * unit, 3 * unit), (unit, unit), (9 * unit, 7 * unit)])
    costs = Costs("learned", seed=0)
    with np.errstate(all="raise", under="ignore"):
        prices = costs.prices(history, history.space.sample(50, np.random.default_rng(0)))
        assert (costs.thetas(history, prices) >= 1).all()
    assert (prices[:, 0] <= 18 * unit).all()
    assert (prices[:, 1] >= unit / 2).all()


def test_a_model_that_runs_away_is_held_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(model: GaussianProcess, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.linspace(-1e4, 1e4, len(X)), np.full(len(X), 40.0)

    history = history_of([(float(1 + i), 1.0) for i in range(6)])
    monkeypatch.setattr(GaussianProcess, "predict", far)
    prices = Costs("learned", seed=0).prices(history, history.designs)[:, 0]
    assert prices.min() == 0.5
    assert prices.max() == 12.0


def failed_at(history: History, x: float, kind: FailureKind, cost: float) -> None:
    number = len(history.asked)
    design = history.space.design({"x": x})
    history.append(Asked(Evaluation(design, "a", None, 0.0, "", number, ("a",))))
    history.append(Failed(number, "no", cost, kind=kind))


def test_a_timeout_raises_the_expected_cost_near_it_and_an_error_does_not() -> None:
    costs = [(10.0 + i, 1.0) for i in range(5)]
    plain, slow, broken = (history_of(costs) for _ in range(3))
    failed_at(slow, 0.9, FailureKind.TIMEOUT, 100.0)
    failed_at(broken, 0.9, FailureKind.ERROR, 100.0)
    near = plain.space.designs([{"x": 0.88}])
    before, after, other = (
        float(Costs("learned", seed=0).prices(history, near)[0, 0]) for history in (plain, slow, broken)
    )
    assert other == before
    assert after > 50.0 > before
    far = plain.space.designs([{"x": 0.1}])
    assert Costs("learned", seed=0).prices(slow, far)[0, 0] == pytest.approx(11.0, rel=0.2)


def test_what_is_above_a_bound_has_its_conditional_mean() -> None:
    # Normal above its mean: mu + sigma sqrt(2 / pi). Far below the mean the bound says nothing.
    found = mean_above(np.array([2.0, -50.0, 60.0]), np.array([2.0, 1.0, 0.0]), np.array([3.0, 1.0, 1.0]))
    np.testing.assert_allclose(found, [2.0 + 3.0 * math.sqrt(2.0 / math.pi), 1.0, 60.0], rtol=1e-3)


def test_a_failure_is_expected_to_cost_what_failures_have_cost() -> None:
    history = history_of([(10.0, 1.0)])
    prices = np.array([[10.0, 1.0], [20.0, 1.0]])
    assert failure_costs(history, prices).tolist() == prices.tolist()
    failed_at(history, 0.9, FailureKind.ERROR, 3.0)
    failed_at(history, 0.8, FailureKind.TIMEOUT, 5.0)
    assert failure_costs(history, prices).tolist() == [[4.0, 1.0], [4.0, 1.0]]


@pytest.mark.parametrize("cost", [lambda design: 1.0, lambda: 1.0, lambda a, b, c: 1.0])
def test_a_callable_that_does_not_take_a_design_and_an_objective_is_refused(cost: Any) -> None:
    with pytest.raises(InvalidTypeError, match="cost"):
        Costs(cost, seed=0)


def test_a_callable_may_take_anything_else_by_default() -> None:
    for cost in (lambda *both: 1.0, lambda design, objective, scale=2.0: scale, max):
        assert Costs(cost, seed=0).cost is cost
