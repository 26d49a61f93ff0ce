"""The Gaussian process: what it learns, and refusals."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from tests.unit.surrogates.grouped_data import GROUPS, HYPERPARAMETERS, conditioned, data, fit

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.surrogates import PAPER_GP, GaussianProcess, Hyperparameters, gaussian_process
from flexibo.surrogates._likelihood import (
    Loss,
)


def test_priors_pull_the_length_scale_of_an_option_without_effect_to_their_mode():
    X, _ = data(20)
    X[:, 3] = 0.5
    gp = fit(GaussianProcess(), X, 3.0 * X[:, 2])
    assert gp.hyperparameters.length_scales[2] == pytest.approx(np.exp(np.sqrt(2.0) - 3.0) * np.sqrt(3.0), rel=0.05)


def test_an_option_that_matters_gets_a_shorter_length_scale_than_one_that_does_not():
    X = np.random.default_rng(0).random((40, 2))
    gp = fit(GaussianProcess(), X, np.sin(6.0 * X[:, 0]), groups=np.array([0, 1]))
    relevant, irrelevant = gp.hyperparameters.length_scales
    assert relevant < 0.5 * irrelevant


def test_learned_noise_is_near_the_noise_in_the_data():
    rng = np.random.default_rng(0)
    X = rng.random((120, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.2 * rng.normal(size=120)
    gp = fit(GaussianProcess(), X, y, groups=np.array([0]))
    assert np.sqrt(gp.hyperparameters.noise) * y.std() == pytest.approx(0.2, rel=0.2)


@pytest.mark.parametrize("settings", [GaussianProcess(noise=1e-6), PAPER_GP])
def test_noise_free_losses_are_interpolated(settings):
    X, y = data(25)
    mean, deviation = fit(settings, X, y).predict(X)
    np.testing.assert_allclose(mean, y, atol=1e-2 * y.std())
    assert (deviation < 1e-2 * y.std()).all()


def test_a_covariance_that_is_singular_in_floating_point_is_factorised_with_jitter():
    X, y = data(60)
    gp = conditioned(X, y, PAPER_GP, Hyperparameters(length_scales=(1e3,), variance=1.0, noise=1e-18))
    assert gp.posterior.jitter > 0.0
    assert np.isfinite(gp.predict(X)).all()
    loss = Loss(X, y - y.mean(), groups=GROUPS, kernel="squared-exponential", noise=1e-18, prior=None)
    value, gradient = loss(np.log([1e3, 1e3, 1e3, 1.0]))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_columns_of_one_option_share_a_length_scale_whatever_their_numbers():
    X, y = data(20)
    renamed = fit(GaussianProcess(), X, y, groups=np.array([5, 5, 8, 11]))
    assert renamed.hyperparameters == fit(GaussianProcess(), X, y).hyperparameters
    assert len(renamed.hyperparameters.length_scales) == 3


def test_a_shared_length_scale_is_one_number():
    gp = fit(GaussianProcess(length_scales="shared"), *data(20))
    assert len(gp.hyperparameters.length_scales) == 1


def test_many_rows_are_learned_from_in_part_but_all_are_known(monkeypatch):
    sizes = []

    class RecordingLoss(Loss):
        def __init__(self, X, z, **choices):
            sizes.append(len(z))
            super().__init__(X, z, **choices)

    monkeypatch.setattr(gaussian_process, "Loss", RecordingLoss)
    X, y = data(80)
    gp = fit(GaussianProcess(noise=1e-6, max_fit=30, compare_rows=10), X, y)
    assert sizes == [10, 30]
    np.testing.assert_allclose(gp.predict(X)[0], y, atol=0.02 * y.std())


def test_comparing_searches_on_few_rows_ends_as_likely_as_on_all():
    X, y = data(120)
    few, every = fit(GaussianProcess(compare_rows=40), X, y), fit(GaussianProcess(compare_rows=None), X, y)
    assert few.log_marginal_likelihood == pytest.approx(every.log_marginal_likelihood, abs=0.5)


def test_equal_losses_have_a_deviation_in_their_own_unit():
    X, _ = data(10)
    one, thousand = fit(GaussianProcess(), X, np.full(10, 1.0)), fit(GaussianProcess(), X, np.full(10, 1e3))
    np.testing.assert_allclose(thousand.predict(X)[1], 1e3 * one.predict(X)[1])


def test_equal_losses_do_not_make_the_model_certain_elsewhere():
    X, _ = data(10)
    _, deviation = fit(PAPER_GP, X, np.full(10, 4.0)).predict(1.0 - X)
    assert deviation.max() > 0.4


def test_settings_and_hyperparameters_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        GaussianProcess().restarts = 3
    with pytest.raises(FrozenInstanceError):
        HYPERPARAMETERS.noise = 1.0


def test_the_papers_process_is_squared_exponential_with_20_restarts_and_alpha_1e_10():
    assert (PAPER_GP.kernel, PAPER_GP.restarts, PAPER_GP.noise) == ("squared-exponential", 20, 1e-10)
    assert (PAPER_GP.priors, PAPER_GP.length_scales) == (False, "shared")


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"noise": 0.0}, "noise is 0.0.*learned"),
        ({"noise": -1.0}, "noise is -1.0.*learned"),
        ({"noise": float("nan")}, "noise is nan.*learned"),
        ({"noise": "guessed"}, "noise is 'guessed'.*learned"),
        ({"length_scales": "own"}, "length_scales is 'own'.*per-option.*shared"),
        ({"restarts": -1}, "restarts is -1.* 0 "),
        ({"max_fit": 1}, "max_fit is 1.* 2 .*None"),
        ({"compare_rows": 0}, "compare_rows is 0.* 2 .*None"),
    ],
)
def test_unusable_settings_are_refused(settings, facts):
    with pytest.raises(InvalidValueError, match=facts):
        GaussianProcess(**settings)


def test_an_unknown_kernel_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match=r"kernel 'matern5'.*'matern52'"):
        GaussianProcess(kernel="matern5")


def test_hyperparameters_must_be_positive_and_as_many_as_there_are_options():
    with pytest.raises(InvalidValueError, match="positive"):
        Hyperparameters(length_scales=(1.0, 0.0), variance=1.0, noise=1e-3)
    X, y = data(5)
    with pytest.raises(InvalidValueError, match=r"1 length scales.* 3"):
        conditioned(X, y, given=Hyperparameters(length_scales=(1.0,), variance=1.0, noise=1e-3))


def test_little_scatter_keeps_length_scales_together_and_much_lets_an_idle_option_go() -> None:
    X = np.random.default_rng(0).random((30, 4))
    y, groups = np.sin(6.0 * X[:, 0]), np.arange(4)
    fitted = [fit(GaussianProcess(noise=1e-6, scatter=scatter), X, y, groups=groups) for scatter in (0.01, 2.0)]
    together, apart = (np.array(process.hyperparameters.length_scales) for process in fitted)
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
