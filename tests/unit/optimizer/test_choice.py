from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flexibo.belief.belief import Belief
from flexibo.optimizer._choice import choose, second_best
from flexibo.pareto import pareto_region


@pytest.fixture
def belief(make_belief: Callable[..., Belief]) -> Callable[..., Belief]:
    def make(prices: list[list[float]], sigma: list[list[float]] | None = None) -> Belief:
        m = len(prices)
        mu = np.stack([np.arange(m, dtype=float), m - np.arange(m, dtype=float)], axis=1)
        table = np.array(prices)
        return make_belief(
            mu,
            np.zeros((m, 2)) if sigma is None else sigma,
            reference=np.array([9.0, 9.0]),
            bundles=((0,), (1,)),
            prices=table,
            thetas=table,
        )

    return make


EVERYTHING = np.ones((2, 2), dtype=bool)
SCORES = np.array([[5.0, 0.4], [3.0, 0.6]])
Make = Callable[..., Belief]


def on_front(believed: Belief) -> list[np.ndarray]:
    region = pareto_region(believed.lower, believed.upper, believed.reference)
    return [region.optimistic, region.alive]


def test_the_best_score_is_chosen(belief: Make) -> None:
    believed = belief([[10.0, 1.0], [10.0, 1.0]])
    assert choose(SCORES, believed, EVERYTHING, np.random.default_rng(0)) == (0, 0)


def test_only_the_affordable_is_chosen(belief: Make) -> None:
    affordable = np.array([[False, True], [False, True]])
    assert choose(SCORES, belief([[10.0, 1.0]] * 2), affordable, np.random.default_rng(0)) == (1, 1)


def test_ties_go_to_the_lowest_cost(belief: Make) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert choose(np.ones((2, 2)), belief([[2.0, 4.0], [4.0, 1.0]]), EVERYTHING, rng) == (1, 1)


def test_remaining_ties_are_drawn_by_the_seed(belief: Make) -> None:
    believed = belief([[1.0, 1.0], [1.0, 1.0]])
    drawn = {choose(np.ones((2, 2)), believed, EVERYTHING, np.random.default_rng(seed)) for seed in range(40)}
    assert drawn == {(0, 0), (0, 1), (1, 0), (1, 1)}
    again = [choose(np.ones((2, 2)), believed, EVERYTHING, np.random.default_rng(7)) for _ in range(3)]
    assert len(set(again)) == 1


def test_without_any_gain_the_widest_interval_of_the_cheapest_on_the_front_is_measured(belief: Make) -> None:
    believed = belief([[1.0, 2.0], [1.0, 2.0]], sigma=[[0.1, 0.5], [0.3, 0.2]])
    cell = choose(np.zeros((2, 2)), believed, EVERYTHING, np.random.default_rng(0), fallbacks=on_front(believed))
    assert cell == (1, 0)


def test_the_width_of_an_interval_does_not_depend_on_units(belief: Make) -> None:
    believed = belief([[1.0, 2.0], [1.0, 2.0]], sigma=[[1e-9, 0.5], [3e-9, 0.2]])
    cell = choose(np.zeros((2, 2)), believed, EVERYTHING, np.random.default_rng(0), fallbacks=on_front(believed))
    assert cell == (1, 0)


def test_nothing_is_chosen_when_nothing_can_be_learned(belief: Make) -> None:
    believed = belief([[1.0, 1.0], [1.0, 1.0]])
    nothing = np.zeros((2, 2))
    assert choose(nothing, believed, EVERYTHING, np.random.default_rng(0), fallbacks=on_front(believed)) is None
    assert choose(nothing, believed, EVERYTHING, np.random.default_rng(0)) is None


def test_the_second_best_is_the_best_of_the_others_that_can_be_paid(belief: Make) -> None:
    believed = belief([[10.0, 1.0], [10.0, 1.0]])
    assert second_best(SCORES, believed, EVERYTHING, (0, 0)) == (1, 0)
    assert second_best(SCORES, believed, np.array([[True, True], [False, True]]), (0, 0)) == (1, 1)
    assert second_best(np.array([[5.0, 0.0], [0.0, 0.0]]), believed, EVERYTHING, (0, 0)) is None


def test_the_second_best_is_another_question(belief: Make) -> None:
    believed = replace(belief([[10.0, 1.0], [10.0, 1.0]]), keys=np.array([[7, 1], [7, 2]], dtype=np.uint64))
    assert second_best(SCORES, believed, EVERYTHING, (0, 0)) == (1, 1)  # the first objective of both is one evaluation
