from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods.mesmo import DRAWS, mesmo, truncation_gain
from flexibo.methods.mesmoc import front_bounds, mesmoc

Make = Callable[..., Belief]
LIMITS = np.array([np.inf, np.inf, 1.0])


@dataclass(frozen=True)
class Table:
    """A joint belief whose draws are given (s, m), again and again."""

    Y: FloatArray

    def draws(self, count: int, rng: np.random.Generator, *, rows: IntArray | None = None) -> FloatArray:
        drawn = np.resize(self.Y, (count, self.Y.shape[1]))
        return drawn if rows is None else drawn[:, rows]


@dataclass(frozen=True)
class Independent:
    """A joint belief in which no loss tells anything of another."""

    mu: FloatArray
    sigma: FloatArray

    def draws(self, count: int, rng: np.random.Generator, *, rows: IntArray | None = None) -> FloatArray:
        drawn = self.mu + self.sigma * rng.standard_normal((count, len(self.mu)))
        return drawn if rows is None else drawn[:, rows]


@pytest.fixture
def believe(make_belief: Make) -> Make:
    def make(mu: object, sigma: object, *, drawn: object = None, **fields: object) -> Belief:
        belief = make_belief(mu, sigma, **fields)
        joints: list[Table] | list[Independent] = [
            Independent(belief.mu[:, j], belief.sigma[:, j]) for j in range(belief.mu.shape[1])
        ]
        if drawn is not None:
            joints = [Table(column) for column in np.moveaxis(np.array(drawn, dtype=float), 2, 0)]
        return replace(belief, joints=tuple(joints))  # type: ignore[arg-type]

    return make


def score(belief: Belief) -> FloatArray:
    return mesmoc(belief, np.random.default_rng(0))


def test_without_constraints_it_is_mesmo(believe: Make) -> None:
    rng = np.random.default_rng(0)
    belief = believe(rng.random((20, 3)), rng.random((20, 3)), bundles=((0, 1), (2,)))
    scores = score(belief)
    assert scores.max() > 0
    assert np.array_equal(scores, mesmo(belief, np.random.default_rng(0)))


def test_a_constraint_is_bounded_by_its_best_value_in_the_front() -> None:
    Y = np.array(
        [
            [[0.0, 0.0, 2.0], [1.0, 2.0, 0.5], [2.0, 1.0, 0.8], [3.0, 3.0, 0.1]],  # 0 is infeasible, 3 dominated
            [[0.0, 0.0, 0.9], [1.0, 2.0, 0.5], [2.0, 1.0, 0.8], [3.0, 3.0, 0.1]],  # 0 is the front
        ]
    )
    assert front_bounds(Y, (0, 1), LIMITS).tolist() == [[1.0, 1.0, 0.5], [0.0, 0.0, 0.9]]


def test_scores_are_the_entropies_that_the_bounds_take(believe: Make) -> None:
    drawn = [[[1.0, 2.0, 0.5], [2.0, 1.0, 0.8]]]
    belief = believe(
        [[1.2, 2.5, 0.4], [2.0, 1.5, 0.6]],
        [[0.4, 0.5, 0.2], [0.5, 0.5, 0.1]],
        drawn=drawn,
        limits=LIMITS,
        optimised=(0, 1),
        bundles=((0,), (1,), (2,)),
    )
    gamma = np.array([[0.2 / 0.4, 1.5 / 0.5, -0.1 / 0.2], [1.0 / 0.5, 0.5 / 0.5, 0.1 / 0.1]])
    assert np.allclose(score(belief), truncation_gain(gamma), rtol=1e-12)
    whole = replace(belief.price_list, bundles=((0, 1, 2),), open=np.ones((2, 1), dtype=bool))
    coupled = replace(belief, price_list=whole)
    assert np.allclose(score(coupled), truncation_gain(gamma).sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_design_that_is_predicted_to_break_a_limit_is_not_chosen(believe: Make) -> None:
    rng = np.random.default_rng(0)
    mu = np.column_stack([rng.random((30, 2)), np.linspace(0.0, 2.0, 30)])
    scores = score(believe(mu, np.full((30, 3), 0.4), limits=LIMITS, optimised=(0, 1)))
    legal = mu[:, 2] <= 1.0
    assert (scores[legal] > 0).all()
    assert not scores[~legal].any()


def test_draws_without_a_feasible_design_are_left_out(believe: Make) -> None:
    good = [[1.0, 2.0, 0.5], [2.0, 1.0, 0.8]]
    bad = [[-9.0, -9.0, 1.5], [-9.0, -9.0, 1.5]]
    settings = {"limits": LIMITS, "optimised": (0, 1)}
    mu, sigma = [[1.2, 2.5, 0.4], [2.0, 1.5, 0.6]], np.full((2, 3), 0.5)
    assert front_bounds(np.array([good, bad]), (0, 1), LIMITS).tolist() == [[1.0, 1.0, 0.5]]
    assert np.allclose(
        score(believe(mu, sigma, drawn=[good, bad], **settings)), score(believe(mu, sigma, drawn=[good], **settings))
    )


def test_without_any_feasible_draw_the_likeliest_to_be_feasible_is_chosen(believe: Make) -> None:
    mu = [[0.0, 5.0, 2.0], [5.0, 0.0, 1.5], [1.0, 1.0, 1.2]]
    belief = believe(
        mu,
        np.full((3, 3), 0.1),
        drawn=np.tile(mu, (DRAWS, 1, 1)),
        limits=LIMITS,
        optimised=(0, 1),
        bundles=((0,), (1, 2)),
    )
    scores = score(belief)
    assert not scores[:, 0].any()  # objectives alone cannot find a feasible design
    assert np.array_equal(scores[:, 1], belief.feasible())
    assert scores[2, 1] == scores.max() > 0


def test_only_constraints_that_are_not_known_are_asked_for_feasibility(believe: Make) -> None:
    mu, sigma = [[0.0, 0.5, 2.0], [0.0, 1.5, 1.2]], [[0.1, 0.0, 0.8], [0.1, 0.1, 0.0]]
    fields = {"drawn": [mu], "limits": np.array([np.inf, 1.0, 1.0]), "optimised": (0,)}
    belief = believe(mu, sigma, bundles=((0,), (1,), (2,)), **fields)
    chance = belief.feasible()[0]
    assert chance > 0
    assert score(belief).tolist() == [[0.0, 0.0, chance], [0.0, 0.0, 0.0]]


def test_feasibility_decides_where_nothing_open_scores(believe: Make) -> None:
    """Only the first design is predicted to be feasible, and it is closed."""
    mu = [[0.0, 0.0, 0.5], [1.0, 1.0, 1.2], [1.0, 1.0, 1.1]]
    shut = np.array([[False], [True], [True]])
    fields = {"limits": LIMITS, "optimised": (0, 1), "drawn": [mu]}
    belief = believe(mu, np.full((3, 3), 0.5), open=shut, **fields)
    assert np.array_equal(score(belief)[:, 0], belief.feasible())
    assert score(believe(mu, np.full((3, 3), 0.5), **fields))[1:].tolist() == [[0.0], [0.0]]


def test_a_quantity_that_is_optimised_and_limited_counts_once(believe: Make) -> None:
    drawn = [[[1.0, 0.5], [2.0, 0.2]]]
    belief = believe([[1.0, 0.5], [2.0, 0.4]], np.full((2, 2), 0.5), drawn=drawn, limits=np.array([np.inf, 1.0]))
    gamma = np.array([[0.0, 0.6], [2.0, 0.4]])
    assert np.allclose(score(belief)[:, 0], truncation_gain(gamma).sum(axis=1))


def test_one_objective_and_one_constraint_are_a_legal_study(believe: Make) -> None:
    rng = np.random.default_rng(0)
    belief = believe(rng.random((9, 2)), rng.random((9, 2)), optimised=(0,), limits=np.array([np.inf, 0.7]))
    scores = score(belief)
    assert scores.shape == (9, 1)
    assert (scores >= 0).all()
    assert scores.max() > 0


def test_units_do_not_matter(believe: Make) -> None:
    rng = np.random.default_rng(0)
    mu, sigma, units = rng.random((20, 3)), rng.random((20, 3)), np.array([2.0**40, 2.0**-40, 2.0**10])
    limits = np.array([np.inf, np.inf, 0.5])
    here = score(believe(mu, sigma, limits=limits, optimised=(0, 1)))
    there = score(believe(mu * units, sigma * units, limits=limits * units, optimised=(0, 1)))
    assert np.array_equal(here, there)
