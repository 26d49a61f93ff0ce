"""The Gaussian process: gradients, factors, blocks and refusals."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.surrogates import PAPER_GP, GaussianProcess, Hyperparameters, gaussian_process, posterior
from flexibo.surrogates._likelihood import HierarchicalPrior, IndependentPrior, Loss, minimum, parameters, starts
from flexibo.surrogates.kernels import KERNELS, grouped_distances, squared_distances

GROUPS = np.array([0, 0, 1, 2])
HYPERPARAMETERS = Hyperparameters(length_scales=(0.5, 1.0, 0.8), variance=1.3, noise=1e-4)
PRIORS = {
    "none": lambda noise: None,
    "independent": lambda noise: IndependentPrior.of(parameters(3, noise)),
    "kindred": lambda noise: HierarchicalPrior.of(3, scatter=0.5, with_noise=noise is None),
}


def data(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = np.hstack([np.eye(2)[rng.integers(2, size=rows)] / np.sqrt(2.0), rng.random((rows, 2))])
    return X, 7.0 + 3.0 * (np.sin(5.0 * X[:, 2]) + X[:, 3] * X[:, 0])


def conditioned(X, y, settings=None, given=HYPERPARAMETERS):
    return (settings or GaussianProcess()).condition(X, y, groups=GROUPS, hyperparameters=given)


def fit(settings, X, y, groups=GROUPS, seed=0):
    return settings.fit(X, y, groups=groups, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_is_1_at_distance_0_and_its_slope_is_its_derivative(kernel):
    r2 = np.array([0.0, 0.01, 0.5, 2.0, 9.0])
    k, slope = KERNELS[kernel].with_slope(r2.copy())
    assert k[0] == 1.0
    np.testing.assert_array_equal(KERNELS[kernel].correlation(r2.copy()), k)
    step = 1e-6
    above, below = KERNELS[kernel].correlation(r2[1:] + step), KERNELS[kernel].correlation(r2[1:] - step)
    np.testing.assert_allclose(slope[1:], (above - below) / (2.0 * step), rtol=1e-6)


def test_squared_distances_are_sums_of_squared_differences():
    A, B = np.random.default_rng(0).random((7, 4)), np.random.default_rng(1).random((5, 4))
    expected = ((A[:, None] - B) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(A, B), expected, atol=1e-14)
    assert (squared_distances(A, A) >= 0.0).all()


def test_grouped_distances_add_up_the_columns_of_each_option():
    X, _ = data(5)
    distances = grouped_distances(X, GROUPS, np.array([0 * 5 + 3, 1 * 5 + 4]))
    squares = (X[[0, 1]] - X[[3, 4]]) ** 2
    np.testing.assert_allclose(distances, [squares[:, :2].sum(axis=1), squares[:, 2], squares[:, 3]])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [None, 1e-3])
@pytest.mark.parametrize("kind", ["none", "independent", "kindred"])
def test_the_gradient_of_the_loss_matches_finite_differences(kernel, noise, kind):
    X, y = data(20)
    loss = Loss(X, (y - y.mean()) / y.std(), groups=GROUPS, kernel=kernel, noise=noise, prior=PRIORS[kind](noise))
    theta = starts(parameters(3, noise), 1, np.random.default_rng(0))[1]
    gradient, step = loss(theta)[1], 1e-5
    for entry in range(len(theta)):
        shift = step * np.eye(len(theta))[entry]
        slope = (loss(theta + shift)[0] - loss(theta - shift)[0]) / (2.0 * step)
        assert gradient[entry] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_priors_pull_the_length_scale_of_an_option_without_effect_to_their_mode():
    X, _ = data(20)
    X[:, 3] = 0.5
    gp = fit(GaussianProcess(), X, 3.0 * X[:, 2])
    assert gp.hyperparameters.length_scales[2] == pytest.approx(np.exp(np.sqrt(2.0) - 3.0) * np.sqrt(3.0), rel=0.05)


def test_a_search_from_more_places_is_never_worse():
    X, y = data(25)
    loss = Loss(X, (y - y.mean()) / y.std(), groups=GROUPS, kernel="matern52", noise=None, prior=None)
    begin = starts(parameters(3, None), 4, np.random.default_rng(0))
    assert loss(minimum(loss, begin))[0] <= min(loss(minimum(loss, row[None]))[0] for row in begin)


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


def test_a_covariance_that_is_singular_in_floating_point_is_factorised_with_jitter():
    X, y = data(60)
    gp = conditioned(X, y, PAPER_GP, Hyperparameters(length_scales=(1e3,), variance=1.0, noise=1e-18))
    assert gp.posterior.jitter > 0.0
    assert np.isfinite(gp.predict(X)).all()
    loss = Loss(X, y - y.mean(), groups=GROUPS, kernel="squared-exponential", noise=1e-18, prior=None)
    value, gradient = loss(np.log([1e3, 1e3, 1e3, 1.0]))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


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


def test_importing_surrogates_loads_neither_scikit_learn_nor_the_slow_parts_of_scipy():
    code = (
        "import sys, flexibo.surrogates;"
        "print([m for m in ('sklearn', 'scipy.optimize', 'scipy.stats') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
