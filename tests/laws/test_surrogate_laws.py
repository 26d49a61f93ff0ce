"""Laws of surrogates that hold for all data."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo.surrogates import GaussianProcess, Hyperparameters, RandomForest, Reach, hull, interval, joint
from flexibo.surrogates.truncated import within

LAW = settings(max_examples=examples(20), deadline=None, derandomize=True)
SLOW_LAW = settings(max_examples=examples(5), deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
kernels = st.sampled_from(["matern52", "squared-exponential"])
rows = st.integers(1, 25)
columns = st.integers(0, 5)


def drawn(seed, s, d, noise=None):
    """Random data, groups and hyperparameters."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((s, d)), rng.normal(size=s)
    groups = rng.integers(max(d, 1), size=d)
    scales = tuple(np.exp(rng.uniform(-2.0, 2.0, size=len(np.unique(groups)))).tolist())
    noise = float(10.0 ** rng.uniform(-5.0, -1.0)) if noise is None else noise
    return X, y, groups, Hyperparameters(length_scales=scales, variance=float(rng.uniform(0.3, 3.0)), noise=noise)


def conditioned(kernel, X, y, groups, given_):
    return GaussianProcess(kernel=kernel).condition(X, y, groups=groups, hyperparameters=given_)


@LAW
@given(seeds, kernels, rows, columns)
def test_a_deviation_lies_between_0_and_that_of_the_prior(seed, kernel, s, d):
    X, y, groups, given_ = drawn(seed, s, d)
    gp = conditioned(kernel, X, y, groups, given_)
    _, deviation = gp.predict(np.vstack([np.random.default_rng(seed).random((30, d)), X]))
    assert (deviation >= 0.0).all()
    assert (deviation <= gp.posterior.scale * np.sqrt(given_.variance) * (1.0 + 1e-12)).all()


@LAW
@given(seeds, kernels, rows, st.integers(1, 5))
def test_a_deviation_is_near_0_at_exact_data_and_does_not_shrink_on_the_way_out_of_it(seed, kernel, s, d):
    X, y, groups, given_ = drawn(seed, s, d, noise=1e-8)
    gp = conditioned(kernel, X, y, groups, given_)
    _, at_data = gp.predict(X)
    assert (at_data <= 1e-3 * gp.posterior.scale * np.sqrt(given_.variance)).all()
    # Beyond the corner (1, ..., 1) every step goes away from every row of the unit cube.
    _, outwards = gp.predict(1.0 + np.linspace(0.0, 5.0, 12)[:, None] * np.ones(d))
    assert (np.diff(outwards) >= -1e-6 * gp.posterior.scale).all()


@LAW
@given(seeds, kernels, st.integers(5, 25), columns, st.integers(1, 4), st.integers(1, 25))
def test_a_local_model_is_never_more_certain_than_the_exact_one(seed, kernel, s, d, anchors, nearest):
    X, y, groups, given_ = drawn(seed, s, d)
    exact = conditioned(kernel, X, y, groups, given_)
    reach = Reach(rows=anchors + nearest, anchors=anchors, nearest=nearest)
    settings_ = GaussianProcess(kernel=kernel, max_exact=4, reach=reach)
    local = settings_.condition(X, y, groups=groups, hyperparameters=given_)
    Xs = np.vstack([np.random.default_rng(seed).random((30, d)), X])
    tolerance = 1e-6 * exact.posterior.scale
    assert (local.predict(Xs)[1] >= exact.predict(Xs)[1] - tolerance).all()
    assert (local.predict(Xs)[1] <= exact.posterior.scale * np.sqrt(given_.variance) * (1.0 + 1e-12)).all()


@LAW
@given(seeds, kernels, rows, columns, st.integers(1, 4))
def test_knowing_more_never_widens_a_deviation(seed, kernel, s, d, more):
    X, y, groups, given_ = drawn(seed, s + more, d)
    gp = conditioned(kernel, X[:s], y[:s], groups, given_)
    Xs = np.random.default_rng(seed).random((30, d))
    assert (gp.extend(X[s:], y[s:]).predict(Xs)[1] <= gp.predict(Xs)[1] + 1e-7 * gp.posterior.scale).all()


@LAW
@given(seeds, kernels, rows, columns, st.integers(1, 4))
def test_the_order_of_the_rows_makes_no_difference(seed, kernel, s, d, more):
    X, y, groups, given_ = drawn(seed, s + more, d)
    order = np.random.default_rng(seed).permutation(s + more)
    Xs = np.random.default_rng(seed).random((10, d))
    one, other = (conditioned(kernel, X[p], y[p], groups, given_) for p in (slice(None), order))
    np.testing.assert_allclose(one.predict(Xs), other.predict(Xs), atol=1e-6)


@LAW
@given(seeds, kernels, st.integers(2, 25), columns, st.floats(0.01, 100.0), st.floats(-100.0, 100.0))
def test_a_change_of_the_losses_unit_changes_predictions_alike(seed, kernel, s, d, factor, shift):
    X, y, groups, given_ = drawn(seed, s, d)
    Xs = np.random.default_rng(seed).random((10, d))
    mean, deviation = conditioned(kernel, X, y, groups, given_).predict(Xs)
    other_mean, other_deviation = conditioned(kernel, X, factor * y + shift, groups, given_).predict(Xs)
    np.testing.assert_allclose(other_mean, factor * mean + shift, rtol=1e-6, atol=1e-6 * factor)
    np.testing.assert_allclose(other_deviation, factor * deviation, rtol=1e-6, atol=1e-6 * factor)


@SLOW_LAW
@given(seeds, rows, columns)
def test_whatever_is_learned_stays_finite(seed, s, d):
    X, y, groups, _ = drawn(seed, s, d)
    X, y = np.round(3.0 * X) / 3.0, np.round(y)
    gp = GaussianProcess().fit(X, y, groups=groups, rng=np.random.default_rng(seed))
    assert np.isfinite(gp.predict(np.random.default_rng(seed).random((10, d)))).all()


@SLOW_LAW
@given(seeds, rows, columns)
def test_a_forest_predicts_within_the_range_of_the_losses(seed, s, d):
    X, y, groups, _ = drawn(seed, s, d)
    forest = RandomForest(trees=4).fit(X, y, groups=groups, rng=np.random.default_rng(seed))
    mean, deviation = forest.predict(np.random.default_rng(seed).random((10, d)))
    margin = 1e-9 * (1.0 + np.abs(y).max())
    assert (mean >= y.min() - margin).all()
    assert (mean <= y.max() + margin).all()
    assert (deviation <= 0.5 * np.ptp(y) + margin).all()


@LAW
@given(seeds, st.integers(3, 25), st.integers(1, 3), st.floats(0.0, 6.0))
def test_predictions_of_bounded_losses_are_within_the_bounds(seed, s, d, half):
    X, y, groups, given_ = drawn(seed, s, d)
    least, most = float(np.quantile(y, 0.2)), float(np.quantile(y, 0.8)) + 1e-9
    bounded = within(conditioned("matern52", X, np.clip(y, least, most), groups, given_), least, most)
    asked = np.random.default_rng(seed).random((40, d))
    for lower, middle, upper in (interval(bounded, asked, half), hull(bounded, asked, half)):
        assert ((least <= lower) & (lower <= middle) & (middle <= upper) & (upper <= most)).all()
    draws = joint(bounded).draws(asked, 3, np.random.default_rng(seed))
    assert ((least <= draws) & (draws <= most)).all()
