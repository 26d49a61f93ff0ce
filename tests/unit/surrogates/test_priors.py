"""What is thought of hyperparameters before there are data."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.surrogates import GaussianProcess
from flexibo.surrogates._likelihood import COMMON_DEVIATION, HierarchicalPrior, IndependentPrior, Prior, parameters

PRIORS: dict[str, Prior] = {
    "independent": IndependentPrior.of(parameters(3, None)),
    "kindred": HierarchicalPrior.of(3, scatter=0.4, with_noise=True),
}


def fit(scatter: float, rows: int, y_of: np.ndarray | None = None) -> GaussianProcess:
    X = np.random.default_rng(0).random((rows, 4))
    y = np.sin(6.0 * X[:, 0]) if y_of is None else X @ y_of
    settings = GaussianProcess(noise=1e-6, scatter=scatter)
    return settings.fit(X, y, groups=np.arange(4), rng=np.random.default_rng(0))


@pytest.mark.parametrize("name", PRIORS)
def test_the_gradient_of_a_penalty_matches_finite_differences(name: str) -> None:
    theta, step = np.array([0.3, -0.2, 1.0, 0.4, -3.0]), 1e-6
    _, gradient = PRIORS[name].penalised(theta, 0.0, np.zeros(5))
    for entry in range(5):
        shift = step * np.eye(5)[entry]
        above, below = (PRIORS[name].penalised(theta + sign * shift, 0.0, np.zeros(5))[0] for sign in (1, -1))
        assert gradient[entry] == pytest.approx((above - below) / (2.0 * step), abs=1e-6)


@pytest.mark.parametrize("name", PRIORS)
def test_nothing_is_more_likely_than_the_mode(name: str) -> None:
    prior = PRIORS[name]
    best, gradient = prior.penalised(prior.mode(), 0.0, np.zeros(5))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    for theta in np.random.default_rng(0).normal(prior.mode(), 1.0, size=(20, 5)):
        assert prior.penalised(theta, 0.0, np.zeros(5))[0] > best


def test_a_penalty_is_added_to_what_is_given() -> None:
    theta = np.zeros(5)
    alone, slope = PRIORS["kindred"].penalised(theta, 0.0, np.zeros(5))
    value, gradient = PRIORS["kindred"].penalised(theta, 7.0, np.full(5, 2.0))
    assert value == pytest.approx(alone + 7.0)
    np.testing.assert_allclose(gradient, slope + 2.0)


def test_kindred_length_scales_are_drawn_about_a_common_one() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(0.5 * np.log(3.0), COMMON_DEVIATION, size=(200_000, 1))
    drawn = common + 0.4 * rng.standard_normal((200_000, 3))
    prior = HierarchicalPrior.of(3, scatter=0.4, with_noise=True)
    np.testing.assert_allclose(prior.mean[:3], drawn.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.linalg.inv(prior.precision)[:3, :3], np.cov(drawn.T), atol=0.03)


def test_little_scatter_keeps_length_scales_together_and_much_lets_an_idle_option_go() -> None:
    together, apart = (np.array(fit(scatter, 30).hyperparameters.length_scales) for scatter in (0.01, 2.0))
    assert together.max() / together.min() < 1.1
    assert apart[1:].min() / apart[0] > 5.0


def test_a_process_without_options_has_a_prior() -> None:
    gp = GaussianProcess(scatter=0.5).fit(
        np.empty((6, 0)), np.arange(6.0), groups=np.empty(0, dtype=np.int64), rng=np.random.default_rng(0)
    )
    assert gp.hyperparameters.length_scales == ()


@pytest.mark.parametrize("scatter", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scatter_that_is_no_positive_number_is_refused(scatter: float) -> None:
    with pytest.raises(InvalidValueError, match=r"scatter is .*positive"):
        GaussianProcess(scatter=scatter)
