from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from flexibo._internal.arrays import FloatArray
from flexibo.belief.belief import Belief
from flexibo.methods._sampled_fronts import draws, pareto_set, sampled_sets, within

FREE = np.full(2, np.inf)


@dataclass(frozen=True)
class Independent:
    """A joint belief in which no loss tells anything of another."""

    mu: FloatArray
    sigma: FloatArray

    def draws(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.mu + self.sigma * rng.standard_normal((count, len(self.mu)))


@pytest.fixture
def belief(make_belief: Callable[..., Belief]) -> Belief:
    mu = np.random.default_rng(0).random((30, 2))
    sigma = np.full((30, 2), 0.2)
    sigma[:5] = 0.0
    joints = tuple(Independent(mu[:, j], sigma[:, j]) for j in range(2))
    return make_belief(mu, sigma, joints=joints)


def brute_force(Y: FloatArray, optimised: list[int], limits: FloatArray) -> set[int]:
    legal = [i for i in range(len(Y)) if all(Y[i] <= limits)] or list(range(len(Y)))
    L = Y[:, optimised]
    return {i for i in legal if not any(all(L[o] <= L[i]) and any(L[o] < L[i]) for o in legal)}


def test_draws_have_one_axis_for_each_of_draws_candidates_and_quantities(belief: Belief) -> None:
    Y = draws(belief, 7, np.random.default_rng(0))
    assert Y.shape == (7, 30, 2)
    assert np.array_equal(Y[:, :5], np.broadcast_to(belief.mu[:5], (7, 5, 2)))
    assert (Y[:, 5:].std(axis=0) > 0).all()


def test_the_same_generator_draws_the_same_sets(belief: Belief) -> None:
    first, second = (sampled_sets(belief, 4, np.random.default_rng(3)) for _ in range(2))
    assert len(first) == 4
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert any(not np.array_equal(first[0], other) for other in first[1:])


@pytest.mark.parametrize("seed", range(10))
def test_a_set_is_who_no_legal_row_dominates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.random((40, 4))
    limits = np.array([np.inf, 0.8, 0.5, np.inf])
    assert set(pareto_set(Y, [0, 1, 3], limits).tolist()) == brute_force(Y, [0, 1, 3], limits)


def test_limits_are_ignored_where_no_row_is_legal() -> None:
    Y = np.array([[1.0, 2.0, 9.0], [2.0, 1.0, 9.0], [2.0, 2.0, 8.0]])
    assert pareto_set(Y, [0, 1], np.array([np.inf, np.inf, 1.0])).tolist() == [0, 1]


def test_a_loss_at_its_limit_is_legal() -> None:
    assert within(np.array([[1.0, 5.0], [1.1, 5.0]]), np.array([1.0, np.inf])).tolist() == [True, False]


def test_equal_losses_are_one_member_of_the_set() -> None:
    Y = np.array([[2.0, 1.0], [1.0, 2.0], [1.0, 2.0]])
    assert pareto_set(Y, [0, 1], FREE).tolist() == [0, 1]


def test_one_objective_has_one_best_design() -> None:
    Y = np.array([[2.0, 0.0], [1.0, 0.0], [0.5, 3.0]])
    assert pareto_set(Y, [0], np.array([np.inf, 1.0])).tolist() == [1]


def test_few_rows_of_a_long_front_are_spread_along_it() -> None:
    x = np.sort(np.random.default_rng(0).random(1000) ** 3)  # crowded near 0
    Y = np.stack([x, 1.0 - x], axis=1)
    rows = pareto_set(Y, [0, 1], FREE, most=11)
    assert len(set(rows.tolist())) == 11
    assert (rows[0], rows[-1]) == (0, 999)
    gaps = np.diff(np.sort(x[rows]))
    assert gaps.max() < 0.2  # evenly would be 0.1; every hundredth row would leave 0.27
    assert len(pareto_set(Y, [0, 1], FREE, most=5000)) == 1000


def test_units_do_not_matter_to_the_spread() -> None:
    x = np.linspace(0.0, 1.0, 300)
    Y = np.stack([x, 1.0 - x**0.25], axis=1)
    rows = pareto_set(Y, [0, 1], FREE, most=7)
    assert np.array_equal(pareto_set(Y * [1.0, 2.0**40], [0, 1], FREE, most=7), rows)


def test_a_single_row_is_the_best_of_the_first_objective() -> None:
    Y = np.array([[2.0, 1.0], [1.0, 2.0], [1.5, 1.5]])
    assert pareto_set(Y, [0, 1], FREE, most=1).tolist() == [1]


def test_the_spread_of_three_objectives_holds_the_best_of_each() -> None:
    Y = np.random.default_rng(1).dirichlet(np.ones(3), 200)  # mutually non-dominated
    rows = pareto_set(Y, [0, 1, 2], np.full(3, np.inf), most=5)
    assert set(Y.argmin(axis=0).tolist()) <= set(rows.tolist())
    assert len(rows) == 5
