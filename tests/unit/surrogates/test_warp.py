from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexibo.surrogates import GaussianProcess, Warped
from flexibo.surrogates.base import location_and_scale
from flexibo.surrogates.warp import GAP, POWERS, Warp, learned_warp, smallest_size

SIGNS = {"positive": 1, "negative": -1, "both": 0}


def losses(kind: str) -> np.ndarray:
    tail = np.exp(np.random.default_rng(0).normal(size=200))
    return {"positive": tail, "negative": -tail, "both": tail - 1.0}[kind]


@pytest.mark.parametrize("kind", SIGNS)
def test_a_warp_is_chosen_by_the_signs_of_the_losses(kind: str) -> None:
    assert learned_warp(losses(kind)).sign == SIGNS[kind]


def test_a_logarithm_is_found_for_a_lognormal_sample() -> None:
    assert learned_warp(losses("positive")).power <= 0.1


def test_a_normal_sample_is_left_nearly_straight() -> None:
    y = 100.0 + np.random.default_rng(1).normal(size=300)
    z = learned_warp(y)(y)
    assert np.corrcoef(y, z)[0, 1] > 0.999


def test_scipys_box_cox_power_is_found() -> None:
    from scipy.stats import boxcox

    y = np.random.default_rng(3).gamma(2.0, size=400)
    _, power = boxcox(y)
    assert learned_warp(y).power == pytest.approx(power, abs=0.06)


@given(
    st.sampled_from([-1, 0, 1]),
    st.sampled_from(POWERS.tolist()),
    st.lists(st.floats(0.01, 50.0), min_size=2, max_size=20, unique=True),
)
def test_a_warp_is_monotone_and_its_inverse_undoes_it(sign: int, power: float, sizes: list[float]) -> None:
    y = np.sort(np.array(sizes)) * (sign or 1) - (10.0 if sign == 0 else 0.0)
    y.sort()
    warp = Warp(sign=sign, location=0.0, scale=3.0, power=power)
    z = warp(y)
    assert (np.diff(z) >= 0).all()
    np.testing.assert_allclose(warp.inverse(z), y, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["positive", "negative"])
def test_no_interval_leaves_the_sign_of_the_losses(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    y = np.exp(3.0 * X[:, 0] + rng.normal(size=30)) * SIGNS[kind]
    model = Warped(GaussianProcess()).fit(X, y, groups=np.array([0, 1]), rng=rng)
    lower, median, upper = model.interval(rng.random((200, 2)), 3.0)
    assert (lower <= median).all()
    assert (median <= upper).all()
    assert (SIGNS[kind] * lower >= 0).all()
    assert (SIGNS[kind] * upper >= 0).all()


def test_losses_next_to_zero_are_warped_to_finite_numbers() -> None:
    y = np.array([6e-17, 0.1, 0.5, 0.7, 0.9, 1.0, 1.1, 1e-300])
    assert np.isfinite(learned_warp(y)(y)).all()


def test_a_loss_of_zero_after_positive_ones_does_no_harm() -> None:
    X = np.linspace(0.0, 1.0, 12)[:, None]
    model = Warped(GaussianProcess()).fit(X, np.exp(3 * X[:, 0]), groups=np.array([0]), rng=np.random.default_rng(0))
    mean, deviation = model.extend(np.array([[0.5]]), np.array([0.0])).predict(X)
    assert np.isfinite(mean).all()
    assert np.isfinite(deviation).all()


@pytest.mark.parametrize("tiny", [[5e-324, 1e-323] * 4, [0.0, 5e-324] * 4, [1e-320, 3e-320, 7e-320, 2e-320, 9e-320]])
def test_losses_at_the_edge_of_what_a_float_holds_have_a_scale(tiny: list[float]) -> None:
    y = np.array(tiny)
    assert location_and_scale(y)[1] > 0
    assert np.isfinite(learned_warp(y)(y)).all()


def test_the_probability_of_a_warped_constraint_is_that_of_the_warped_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((15, 1))
    model = Warped(GaussianProcess()).fit(X, np.exp(4.0 * X[:, 0]), groups=np.array([0]), rng=rng)
    places = rng.random((40, 1))
    drawn = model.draws(places, 40_000, np.random.default_rng(1))
    limit = float(np.median(drawn))
    assert model.below(places, limit) == pytest.approx((drawn <= limit).mean(axis=0), abs=0.01)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_losses_over_many_decades_are_all_told_apart(sign: float) -> None:
    X = np.linspace(0.0, 1.0, 25)[:, None]
    y = sign * 10.0 ** (3.0 - 15.0 * X[:, 0])
    model = Warped(GaussianProcess(noise=1e-6)).fit(X, y, groups=np.array([0]), rng=np.random.default_rng(0))
    between = (X[1:] + X[:-1]) / 2.0
    found, expected = model.predict(between)[0], sign * 10.0 ** (3.0 - 15.0 * between[:, 0])
    np.testing.assert_allclose(np.log10(sign * found), np.log10(sign * expected), atol=0.3)


def test_one_loss_that_is_as_good_as_zero_does_not_decide_the_warp() -> None:
    y = np.append(np.linspace(0.5, 1.5, 19), 1e-17)
    warp = learned_warp(y)
    assert warp.least == pytest.approx(GAP * 0.5 / np.median(y))
    assert warp.power > 0.5


def test_a_tenth_of_the_losses_may_be_as_good_as_zero_but_not_more() -> None:
    ordinary = np.linspace(1.0, 2.0, 18)
    assert smallest_size(np.append(ordinary, [1e-17, 1e-9])) == GAP
    assert smallest_size(np.append(ordinary[:-1], [1e-17, 1e-9, 1e-9])) == pytest.approx(GAP * 1e-9)
    assert smallest_size(np.append(ordinary, [1e-3, 1e-6])) == pytest.approx(GAP * 1e-6)


def test_the_warps_of_bounds_are_the_ends_of_what_its_inverse_takes() -> None:
    log = Warp(sign=1, location=0.0, scale=2.0, power=0.0)
    assert log.ends(0.0, 2.0) == (-np.inf, 0.0)
    root = Warp(sign=1, location=0.0, scale=2.0, power=0.5)
    assert root.ends(-1.0, np.inf) == (-2.0, np.inf)
    mirrored = Warp(sign=-1, location=0.0, scale=2.0, power=0.5)
    assert mirrored.ends(-8.0, 0.0) == (-2.0, 2.0)
    both = Warp(sign=0, location=1.0, scale=2.0, power=1.0)
    assert both.ends(-3.0, 5.0) == (-2.0, 2.0)
