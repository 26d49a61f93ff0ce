from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexibo import Space
from flexibo.belief.belief import Belief
from flexibo.belief.price_list import PriceList
from flexibo.methods.camobo import cost_ordered_improvement, exploration, option_usage, usage_cost
from flexibo.space import Designs

GRID = Space({"width": (0.0, 1.0), "kind": ["a", "b", "c"], "depth": (0.0, 1.0)})


def believed(
    designs: Designs, mu: npt.ArrayLike, sigma: npt.ArrayLike, known: npt.ArrayLike, prices: npt.ArrayLike = 1.0
) -> Belief:
    mu, sigma, known = np.array(mu, dtype=float), np.array(sigma, dtype=float), np.array(known, dtype=bool)
    m, n = mu.shape
    return Belief(
        designs=designs,
        mu=mu,
        sigma=sigma,
        lower=mu - sigma,
        upper=mu + sigma,
        keys=np.tile(np.arange(m)[:, None], (1, n)).astype(np.uint64),
        known=known,
        optimised=tuple(range(n)),
        limits=np.full(n, np.inf),
        reference=mu.max(axis=0) + 1.0,
        tolerances=np.zeros(n),
        price_list=PriceList(
            (tuple(range(n)),),
            np.broadcast_to(prices, (m,)).reshape(m, 1).astype(float),
            np.ones((m, 1)),
            ~known.all(axis=1, keepdims=True),
        ),
    )


def scored(belief: Belief, seed: int = 0) -> np.ndarray:
    return cost_ordered_improvement(belief, np.random.default_rng(seed))


def test_the_exploration_of_the_first_iteration_is_that_of_the_program() -> None:
    assert exploration(1) == pytest.approx(0.125 * math.log(3))


def test_a_scalarised_value_worked_by_hand() -> None:
    designs = GRID.sample(4, np.random.default_rng(0))
    # The measured ranges are 0 to 10 and 100 to 300, so the values are 1 - y / 10 and 1 - (y - 100) / 200.
    mu = [[0.0, 300.0], [10.0, 100.0], [6.0, 140.0], [20.0, 200.0]]
    sigma = [[0.0, 0.0], [0.0, 0.0], [2.0, 40.0], [1.0, 1.0]]
    known = [[True, True], [True, True], [False, False], [False, False]]
    first, second = np.random.default_rng(1).dirichlet([1.0, 1.0])
    half = math.sqrt(math.log(5) / 8)  # two designs are known
    expected = min(first * (0.4 + 0.2 * half), second * (0.8 + 0.2 * half))
    scores = scored(believed(designs, mu, sigma, known), 1)
    assert scores.shape == (4, 1)
    # The last one is worse than all that was measured, even optimistically.
    np.testing.assert_allclose(scores[:, 0], [0.0, 0.0, expected, 0.0], rtol=1e-12)


def test_the_cost_of_usage_is_the_product_of_the_program() -> None:
    usage = np.random.default_rng(0).random((6, 4))
    shares = np.sort(np.random.default_rng(5).dirichlet(np.ones(4)))
    for t in (1, 20, 300):
        expected = []
        for x in usage:
            product = 1.0
            for share, used in zip(shares, x, strict=True):
                rate = 1.0 / (share * t + 1.0)
                product *= 1.0 - rate * math.exp(-used * rate)
            expected.append(product)
        np.testing.assert_allclose(usage_cost(usage, t, np.random.default_rng(5)), expected, rtol=1e-12)


def test_the_dearest_option_is_spared_most() -> None:
    each = 1.0 - 0.9 * np.eye(4)
    costs = np.mean([usage_cost(each, 20, np.random.default_rng(seed)) for seed in range(200)], axis=0)
    # Each design spares one option; the earlier the option in the order, the cheaper that is.
    assert (np.diff(costs) > 0).all()


def test_the_preference_fades() -> None:
    ends = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    ratios = []
    for t in (20, 200, 20_000):
        cheap, dear = np.mean([1.0 - usage_cost(ends, t, np.random.default_rng(s)) for s in range(100)], axis=0)
        ratios.append(cheap / dear)
    assert ratios[0] > ratios[1] > ratios[2] > 1.0
    assert ratios[0] > 1.1
    assert ratios[2] < 1.1


@given(st.integers(0, 6), st.integers(1, 10**6), st.integers(0, 2**32 - 1))
def test_the_cost_of_usage_is_between_zero_and_one_and_grows_with_it(options: int, t: int, seed: int) -> None:
    usage = np.random.default_rng(seed).random((5, options))
    less, more = (usage_cost(u, t, np.random.default_rng(seed)) for u in (usage * 0.5, usage))
    assert (less >= 0).all()
    assert (more <= 1).all()
    assert (less <= more).all()


def test_the_order_of_the_options_is_read_from_the_prices() -> None:
    designs = GRID.sample(200, np.random.default_rng(0))
    X = designs.encoded()
    kind = X[:, 1:4].argmax(axis=1)
    # Depth changes the price by a factor of e^-2 (deeper is cheaper), kind by e^1 (b is dear, c between); width by 1 %.
    logs = 0.01 * X[:, 0] + np.array([0.0, 1.0, 0.25])[kind] - 2.0 * X[:, 4]
    usage = option_usage(X, GRID.groups(), np.exp(3.0 + logs), np.arange(200))
    assert usage.shape == (200, 2)
    low, high = X[:, 4].min(), X[:, 4].max()
    np.testing.assert_allclose(usage[:, 0], (high - X[:, 4]) / (high - low), atol=1e-9)
    np.testing.assert_allclose(usage[:, 1], np.array([0.0, 1.0, 0.25])[kind], atol=1e-9)


def test_numbers_alone_are_ordered_too() -> None:
    space = Space({"width": (0.0, 1.0), "depth": (0.0, 1.0)})
    X = space.sample(50, np.random.default_rng(0)).encoded()
    usage = option_usage(X, space.groups(), np.exp(5.0 - X[:, 0]), np.arange(50))
    np.testing.assert_allclose(usage[:, 0], (X[:, 0].max() - X[:, 0]) / np.ptp(X[:, 0]), atol=1e-9)
    assert usage.shape == (50, 1)


def test_the_unit_of_the_cost_changes_nothing() -> None:
    designs = GRID.sample(60, np.random.default_rng(0))
    X, prices = designs.encoded(), np.random.default_rng(1).random(60) + 0.1
    once = option_usage(X, GRID.groups(), prices, np.arange(60))
    assert once.shape[1] > 0
    np.testing.assert_allclose(option_usage(X, GRID.groups(), 1e9 * prices, np.arange(60)), once, atol=1e-9)


@pytest.mark.parametrize("prices", [np.zeros(60), np.full(60, 7.0), np.linspace(7.0, 7.001, 60)])
def test_prices_that_do_not_differ_order_nothing(prices: np.ndarray) -> None:
    X = GRID.sample(60, np.random.default_rng(0)).encoded()
    assert option_usage(X, GRID.groups(), prices, np.arange(60)).shape == (60, 0)


def test_too_few_designs_order_nothing() -> None:
    X = GRID.sample(60, np.random.default_rng(0)).encoded()
    assert option_usage(X, GRID.groups(), np.exp(X[:, 0]), np.arange(5)).shape == (60, 0)
    assert option_usage(X, GRID.groups(), np.exp(X[:, 0]), np.arange(6)).shape == (60, 1)


def test_a_design_that_is_partly_paid_does_not_make_its_options_cheap() -> None:
    designs = GRID.sample(60, np.random.default_rng(0))
    narrow = designs.encoded()[:, 0] < 0.5
    known = np.stack([narrow, np.zeros(60, dtype=bool)], axis=1)
    ramp = np.linspace(0.0, 1.0, 60)
    mu = np.stack([ramp, 1.0 - ramp], axis=1)
    # Of a narrow design half is paid already; in full, all designs cost the same.
    halves = believed(designs, mu, np.zeros((60, 2)), known, np.where(narrow, 1.0, 2.0))
    equal = believed(designs, mu, np.zeros((60, 2)), known)
    np.testing.assert_array_equal(scored(halves), scored(equal))


def test_of_two_equal_designs_the_cheap_one_is_chosen() -> None:
    designs = GRID.sample(300, np.random.default_rng(0))
    width = designs.encoded()[:, 0]
    known = np.zeros((300, 2), dtype=bool)
    known[:3] = True
    mu = np.full((300, 2), 0.5)
    mu[:2] = [[0.0, 1.0], [1.0, 0.0]]
    sigma = np.where(known, 0.0, 0.1)
    for seed in range(5):
        dear = scored(believed(designs, mu, sigma, known, np.exp(3.0 * width)), seed)[3:, 0]
        assert dear.argmax() == width[3:].argmin()
        assert dear.argmin() == width[3:].argmax()
        plain = scored(believed(designs, mu, sigma, known), seed)[3:, 0]
        assert np.ptp(plain) == 0
        assert (dear <= plain).all()


def test_a_known_design_scores_nothing() -> None:
    designs = GRID.sample(10, np.random.default_rng(0))
    ramp = np.linspace(0.0, 1.0, 10)
    known = np.repeat(np.arange(10)[:, None] % 3 == 0, 2, axis=1)
    scores = scored(believed(designs, np.stack([ramp, 1 - ramp], axis=1), np.where(known, 0.0, 0.1), known))
    np.testing.assert_array_equal(scores[:, 0] > 0, ~known[:, 0])


def test_the_unit_of_a_loss_changes_no_score() -> None:
    rng = np.random.default_rng(0)
    designs, mu = GRID.sample(50, rng), rng.random((50, 2))
    known = np.repeat(np.arange(50)[:, None] < 20, 2, axis=1)
    sigma, unit = np.where(known, 0.0, 0.1), np.array([2.0**40, 2.0**-40])
    once, again = believed(designs, mu, sigma, known), believed(designs, mu * unit, sigma * unit, known)
    assert scored(once).max() > 0
    np.testing.assert_allclose(scored(again), scored(once), rtol=1e-9)


def test_before_two_designs_are_known_the_candidates_give_the_ranges() -> None:
    designs = GRID.sample(5, np.random.default_rng(0))
    ramp = np.linspace(0.0, 1.0, 5)
    nothing = np.zeros((5, 2), dtype=bool)
    scores = scored(believed(designs, np.stack([ramp, 5.0 * ramp], axis=1), np.zeros((5, 2)), nothing))[:, 0]
    np.testing.assert_allclose(scores / scores[0], 1.0 - ramp, atol=1e-12)
    one = nothing.copy()
    one[1] = True
    scores = scored(believed(designs, np.stack([ramp, 5.0 * ramp], axis=1), np.zeros((5, 2)), one))[:, 0]
    np.testing.assert_allclose(scores / scores[0], [1.0, 0.0, 0.5, 0.25, 0.0], atol=1e-12)


def test_one_candidate_and_one_objective_will_do() -> None:
    scores = scored(believed(GRID.sample(1, np.random.default_rng(0)), [[4.0]], [[1.0]], [[False]]))
    assert scores.shape == (1, 1)
    assert np.isfinite(scores).all()


def test_equal_losses_leave_the_choice_to_the_cost() -> None:
    designs = GRID.sample(80, np.random.default_rng(0))
    known = np.repeat(np.arange(80)[:, None] < 4, 2, axis=1)
    width = designs.encoded()[:, 0]
    scores = scored(believed(designs, np.full((80, 2), 5.0), np.zeros((80, 2)), known, np.exp(width)))[:, 0]
    assert scores.argmax() == 4 + width[4:].argmin()


def test_no_optimistic_estimate_is_below_what_is_possible() -> None:
    designs = GRID.designs([GRID.design({"width": w, "kind": "a", "depth": 0.5}) for w in (0.1, 0.5, 0.9)])
    belief = believed(designs, [[1, 3], [3, 1], [2, 2]], [[0, 0], [0, 0], [9, 9]], [[1, 1], [1, 1], [0, 0]])
    bounded = scored(replace(belief, least=np.array([1.5, 1.5])))[2, 0]
    assert 0.0 < bounded < scored(belief)[2, 0]
