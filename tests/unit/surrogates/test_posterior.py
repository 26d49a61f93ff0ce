"""The exact posterior: factors, jitter and blocks."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.unit.surrogates.grouped_data import GROUPS, HYPERPARAMETERS, conditioned, data

from flexibo.errors import InvalidValueError
from flexibo.surrogates import GaussianProcess, Hyperparameters, posterior
from flexibo.surrogates.kernels import KERNELS


@pytest.mark.parametrize("kernel", KERNELS)
def test_extending_the_factor_equals_recomputing_it(kernel):
    X, y = data(40)
    gp = conditioned(X[:20], y[:20], GaussianProcess(kernel=kernel))
    extended = gp
    for i in range(20, 40):
        extended = extended.extend(X[i : i + 1], y[i : i + 1])
    state = extended.posterior
    recomputed = posterior.condition(
        X,
        y,
        groups=GROUPS,
        location=gp.posterior.location,
        scale=gp.posterior.scale,
        kernel=kernel,
        hyperparameters=HYPERPARAMETERS,
    )
    np.testing.assert_allclose(state.factor, recomputed.factor, atol=1e-9)
    np.testing.assert_allclose(state.whitened, recomputed.whitened, atol=1e-9)
    np.testing.assert_allclose(extended.predict(X), recomputed.predict(X), atol=1e-9)
    assert extended.log_marginal_likelihood == pytest.approx(recomputed.log_marginal_likelihood, abs=1e-9)


def test_a_factor_in_blocks_is_the_factor_and_predicts_draws_and_extends_as_it_does(monkeypatch):
    X, y = data(60)
    start, queries = conditioned(X[:20], y[:20]).posterior, data(7, seed=1)[0]
    dense = start.extend(X[20:], y[20:])
    monkeypatch.setattr(posterior, "BLOCK_ROWS", 15)
    blocks = start.extend(X[20:], y[20:])
    assert isinstance(blocks.factor, posterior.BorderedFactor)
    assert isinstance(blocks.factor.first, posterior.BorderedFactor)
    np.testing.assert_allclose(blocks.factor.dense(), dense.factor, atol=1e-9)
    np.testing.assert_allclose(blocks.predict(queries), dense.predict(queries), atol=1e-9)
    np.testing.assert_allclose(blocks.held_out(), dense.held_out(), atol=1e-7)
    drawn = [one.draws(queries, 3, np.random.default_rng(0)) for one in (blocks, dense)]
    np.testing.assert_allclose(*drawn, atol=1e-6)
    assert blocks.log_evidence == pytest.approx(dense.log_evidence)
    again = [one.extend(queries[:1], y[:1]) for one in (blocks, dense)]
    np.testing.assert_allclose(again[0].factor, again[1].factor, atol=1e-9)


def test_extending_by_many_rows_takes_little_more_memory_than_the_factor():
    X, y = data(1200)
    start = conditioned(X[:200], y[:200]).posterior
    tracemalloc.start()
    start.extend(X[200:], y[200:])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 0.85 * 8 * 1200**2  # as one matrix, with its zeros, it took 2.4 times as much as that matrix


@pytest.mark.parametrize("noise", [1e-18, 1e-15])
def test_extending_by_a_design_that_rounding_cannot_tell_apart_adds_jitter_and_stays_finite(noise):
    X, y = data(10)
    gp = conditioned(X, y, given=Hyperparameters(length_scales=(1.0, 1.0, 1.0), variance=1.0, noise=noise))
    assert gp.posterior.jitter == 0.0
    extended = gp.extend(X[:1], y[:1])
    assert extended.posterior.jitter > 0.0
    mean, deviation = extended.predict(X)
    np.testing.assert_allclose(mean, y, rtol=1e-3)
    assert np.isfinite(deviation).all()


def test_a_deviation_that_rounding_could_make_imaginary_is_a_number_near_0():
    X, y = data(30)
    gp = conditioned(X, y, given=Hyperparameters(length_scales=(0.5, 0.5, 0.5), variance=1.0, noise=1e-18))
    _, deviation = gp.predict(X)
    assert ((deviation >= 0.0) & (deviation < 1e-6)).all()


def test_predicting_in_blocks_equals_predicting_at_once(monkeypatch):
    gp = conditioned(*data(30))
    X, _ = data(100, seed=1)
    expected = gp.predict(X)
    for entries in (1, 30 * 7, 30 * 99):
        monkeypatch.setattr(posterior, "CHUNK_ENTRIES", entries)
        np.testing.assert_allclose(gp.predict(X), expected, rtol=1e-9)


def test_predicting_many_designs_needs_little_memory():
    gp = conditioned(*data(100))
    X = np.random.default_rng(0).random((40_000, 4))
    tracemalloc.start()
    gp.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24e6, "the whole cross-covariance alone would be 32 MB"


def test_designs_far_from_all_data_have_the_priors_mean_and_deviation():
    X, y = data(20)
    gp = conditioned(X, y, given=Hyperparameters(length_scales=(0.01, 0.01, 0.01), variance=2.0, noise=1e-4))
    mean, deviation = gp.predict(np.array([[0.0, 0.0, 0.5, 0.5]]))
    assert mean[0] == pytest.approx(y.mean())
    assert deviation[0] == pytest.approx(np.sqrt(2.0) * y.std())


def one_loss(y=3.0, location=1.0, scale=2.0):
    """A process with variance 4 and noise 1 that knows one loss."""
    return posterior.condition(
        np.array([[0.5]]),
        np.array([y]),
        groups=np.array([0]),
        location=location,
        scale=scale,
        kernel="squared-exponential",
        hyperparameters=Hyperparameters(length_scales=(1.0,), variance=4.0, noise=1.0),
    )


def test_one_loss_is_believed_by_its_share_of_the_variance():
    # The standardised loss is (3 - 1) / 2 = 1, of which 4 / (4 + 1) is believed; the variance left is 4 - 16 / 5.
    known = one_loss()
    mean, deviation = known.predict(np.array([[0.5]]))
    assert mean == pytest.approx([1.0 + 2.0 * 0.8])
    assert deviation == pytest.approx([2.0 * np.sqrt(0.8)])
    # One length scale away, the correlation is exp(-1/2).
    k = 4.0 * np.exp(-0.5)
    mean, deviation = known.predict(np.array([[1.5]]))
    assert mean == pytest.approx([1.0 + 2.0 * k / 5.0])
    assert deviation == pytest.approx([2.0 * np.sqrt(4.0 - k * k / 5.0)])


def test_the_covariance_of_two_designs_is_what_the_loss_leaves_of_the_priors():
    X, others, k = np.array([[0.5]]), np.array([[1.5]]), 4.0 * np.exp(-0.5)
    assert one_loss().covariance(X, others) == pytest.approx(2.0**2 * np.array([[k - 4.0 * k / 5.0]]))
    assert one_loss().covariance(X, X) == pytest.approx(2.0**2 * np.array([[0.8]]))


def test_the_evidence_of_one_loss_is_its_normal_density():
    # z = 1 with variance 5; in the unit of the loss the density is half as high.
    density = -0.5 * (1.0 / 5.0 + np.log(5.0) + np.log(2.0 * np.pi))
    assert one_loss().log_marginal_likelihood == pytest.approx(density)
    assert one_loss().log_evidence == pytest.approx(density - np.log(2.0))


def test_draws_of_few_and_of_many_designs_scatter_as_predicted(monkeypatch):
    known, X = one_loss(), np.array([[0.5], [1.5], [3.0]])
    mean, deviation = known.predict(X)
    for few in (posterior.FEW_DESIGNS, 0):
        monkeypatch.setattr(posterior, "FEW_DESIGNS", few)
        drawn = known.draws(X, 20_000, np.random.default_rng(0))
        np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.25)
        np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.1)


def test_what_no_jitter_makes_positive_definite_is_refused():
    with pytest.raises(InvalidValueError, match="positive definite"):
        posterior.factorised(lambda jitter: -np.eye(2))
    factor, jitter = posterior.factorised(lambda jitter: np.ones((2, 2)) + jitter * np.eye(2))
    assert jitter > 0
    np.testing.assert_allclose(factor @ factor.T, np.ones((2, 2)), atol=1e-3)
