"""The Gaussian process against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from flexibo.surrogates import PAPER_GP, GaussianProcess, Hyperparameters
from flexibo.surrogates._likelihood import NOISE, VARIANCE, Loss, length_scale

GROUPS = np.array([0, 0, 0, 1, 2, 3])
HYPERPARAMETERS = Hyperparameters(length_scales=(0.7, 0.4, 2.0, 1.1), variance=1.7, noise=3e-3)
KERNELS = {
    "matern52": lambda scales, bounds="fixed": Matern(scales, bounds, nu=2.5),
    "squared-exponential": lambda scales, bounds="fixed": RBF(scales, bounds),
}


def data(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = np.hstack([np.eye(3)[rng.integers(3, size=rows)] / np.sqrt(2.0), rng.random((rows, 3))])
    y = 40.0 + 10.0 * (np.sin(4.0 * X[:, 3]) + X[:, 4] * X[:, 5] + X[:, 1]) + 0.5 * rng.normal(size=rows)
    return X, y


def theirs_with(kernel, X, y, given=HYPERPARAMETERS):
    # Noise as alpha, not as a WhiteKernel, which scikit-learn would add to the deviation of the noise-free loss.
    scales = np.array(given.length_scales)[GROUPS]
    covariance = ConstantKernel(given.variance, "fixed") * KERNELS[kernel](scales)
    return GaussianProcessRegressor(covariance, alpha=given.noise, optimizer=None, normalize_y=True).fit(X, y)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_posterior_for_given_hyperparameters_is_that_of_scikit_learn(kernel):
    X, y = data(60)
    ours = GaussianProcess(kernel=kernel).condition(X, y, groups=GROUPS, hyperparameters=HYPERPARAMETERS)
    Xs = np.vstack([data(50, seed=1)[0], X[:5]])
    mean, deviation = theirs_with(kernel, X, y).predict(Xs, return_std=True)
    np.testing.assert_allclose(ours.predict(Xs)[0], mean, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(Xs)[1], deviation, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_log_marginal_likelihood_is_that_of_scikit_learn(kernel):
    X, y = data(60)
    ours = GaussianProcess(kernel=kernel).condition(X, y, groups=GROUPS, hyperparameters=HYPERPARAMETERS)
    expected = theirs_with(kernel, X, y).log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood == pytest.approx(expected, rel=1e-10)
    theta = np.log([*HYPERPARAMETERS.length_scales, HYPERPARAMETERS.variance])
    z = (y - y.mean()) / y.std()
    loss = Loss(X, z, groups=GROUPS, kernel=kernel, noise=HYPERPARAMETERS.noise, prior=None)
    assert loss(theta)[0] == pytest.approx(-expected, rel=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_extended_process_is_that_of_scikit_learn_on_all_rows(kernel):
    X, y = data(40)
    ours = GaussianProcess(kernel=kernel).condition(X[:30], y[:30], groups=GROUPS, hyperparameters=HYPERPARAMETERS)
    for i in range(30, 40):
        ours = ours.extend(X[i : i + 1], y[i : i + 1])
    # scikit-learn standardises with all rows, ours with the first 30: give it what ours sees.
    z = (y - y[:30].mean()) / y[:30].std()
    scales = np.array(HYPERPARAMETERS.length_scales)[GROUPS]
    covariance = ConstantKernel(HYPERPARAMETERS.variance, "fixed") * KERNELS[kernel](scales)
    theirs = GaussianProcessRegressor(covariance, alpha=HYPERPARAMETERS.noise, optimizer=None).fit(X, z)
    Xs = data(20, seed=1)[0]
    mean, deviation = theirs.predict(Xs, return_std=True)
    np.testing.assert_allclose(ours.predict(Xs)[0], y[:30].mean() + y[:30].std() * mean, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(Xs)[1], y[:30].std() * deviation, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rows", [15, 40])
def test_the_optimum_is_at_least_as_likely_as_the_one_scikit_learn_finds(kernel, rows):
    X, y = data(rows, seed=rows)
    X = X[:, 3:]
    ours = GaussianProcess(kernel=kernel, priors=False, restarts=4).fit(
        X, y, groups=np.arange(3), rng=np.random.default_rng(0)
    )
    covariance = ConstantKernel(1.0, VARIANCE.bounds) * KERNELS[kernel](
        np.ones(3), length_scale(3).bounds
    ) + WhiteKernel(1e-3, NOISE.bounds)
    theirs = GaussianProcessRegressor(
        covariance, alpha=1e-15, normalize_y=True, n_restarts_optimizer=4, random_state=0
    ).fit(X, y)
    assert ours.log_marginal_likelihood > theirs.log_marginal_likelihood_value_ - 0.01


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_optimum_of_the_papers_process_is_at_least_as_likely_as_the_one_scikit_learn_finds():
    X, y = data(30)
    ours = PAPER_GP.fit(X, y, groups=GROUPS, rng=np.random.default_rng(0))
    covariance = ConstantKernel(1.0, VARIANCE.bounds) * RBF(1.0, length_scale(1).bounds)
    theirs = GaussianProcessRegressor(
        covariance, alpha=1e-10, normalize_y=True, n_restarts_optimizer=10, random_state=0
    ).fit(X, y)
    assert len(ours.hyperparameters.length_scales) == 1
    assert ours.log_marginal_likelihood > theirs.log_marginal_likelihood_value_ - 0.01
