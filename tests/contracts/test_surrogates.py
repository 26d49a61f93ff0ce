"""What every surrogate must do, whichever model it is."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.surrogates import PAPER_GP, PAPER_RF, Averaged, GaussianProcess, Reach, Warped

SURROGATES = {
    "gp": GaussianProcess(),
    "gp, fixed noise": GaussianProcess(noise=1e-6, restarts=0),
    "gp, squared-exponential, no priors": GaussianProcess(kernel="squared-exponential", priors=False),
    "gp, rows drawn": GaussianProcess(max_fit=8, compare_rows=5),
    "gp, options of a kind": GaussianProcess(scatter=0.5),
    "gp, local": GaussianProcess(max_exact=8, reach=Reach(rows=10, anchors=6, nearest=4)),
    "warped gp": Warped(GaussianProcess()),
    "averaged": Averaged((GaussianProcess(scatter=0.5), Warped(GaussianProcess(scatter=0.5)))),
    "paper's gp": PAPER_GP,
    "paper's rf, fewer trees": replace(PAPER_RF, trees=16),
}
GROUPS = np.array([7, 7, 7, 2, 3])


def data(rows=12, seed=0):
    rng = np.random.default_rng(seed)
    category = np.eye(3)[rng.integers(3, size=rows)] / np.sqrt(2.0)
    X = np.hstack([category, rng.random((rows, 2))])
    return X, 3.0 + X[:, 3] ** 2 - X[:, 0] + 0.1 * np.sin(9.0 * X[:, 4])


def fit(settings, X, y, groups=GROUPS, seed=0):
    return settings.fit(X, y, groups=groups, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module", params=SURROGATES)
def settings(request):
    return SURROGATES[request.param]


@pytest.fixture(scope="module")
def fitted(settings):
    return fit(settings, *data())


def test_fit_returns_a_new_object_and_leaves_the_settings_unfitted(settings, fitted):
    assert fitted is not settings
    assert type(fitted) is type(settings)
    with pytest.raises(InvalidValueError, match="fit"):
        settings.predict(data()[0])
    with pytest.raises(InvalidValueError, match="fit"):
        settings.extend(*data())


def test_predictions_have_one_finite_mean_and_one_deviation_per_design(fitted):
    X, _ = data(rows=31, seed=1)
    mean, deviation = fitted.predict(X)
    assert mean.shape == deviation.shape == (31,)
    assert mean.dtype == deviation.dtype == np.float64
    assert np.isfinite(mean).all()
    assert np.isfinite(deviation).all()
    assert (deviation >= 0).all()


def test_no_designs_give_no_predictions(fitted):
    mean, deviation = fitted.predict(np.empty((0, 5)))
    assert mean.shape == deviation.shape == (0,)


def test_the_same_seed_gives_the_same_predictions(settings, fitted):
    X, _ = data(rows=9, seed=1)
    again = fit(settings, *data())
    np.testing.assert_array_equal(fitted.predict(X), again.predict(X))


def test_asking_twice_gives_the_same_numbers(fitted):
    X, _ = data(rows=9, seed=1)
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X))


def test_a_row_alone_has_the_same_prediction_up_to_rounding(settings, fitted):
    if settings is SURROGATES["gp, local"]:
        pytest.skip("a local model looks at other rows for other questions")
    X, _ = data(rows=9, seed=1)
    alone = np.column_stack([fitted.predict(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_allclose(alone, fitted.predict(X), rtol=1e-6, atol=1e-6)


def test_a_fitted_surrogate_can_be_fitted_again_as_if_it_were_new(settings, fitted):
    X, y = data(rows=10, seed=3)
    np.testing.assert_array_equal(fit(fitted, X, y).predict(X), fit(settings, X, y).predict(X))


def test_extend_returns_a_new_object_that_knows_the_new_rows(fitted):
    X, y = data(rows=4, seed=2)
    before = fitted.predict(X)
    longer = fitted
    for i in range(4):
        longer = longer.extend(X[i : i + 1], y[i : i + 1])
    np.testing.assert_array_equal(fitted.predict(X), before)
    assert np.abs(longer.predict(X)[0] - y).mean() < np.abs(before[0] - y).mean()


def test_extending_row_by_row_equals_extending_at_once(fitted):
    X, y = data(rows=3, seed=2)
    at_once, one_by_one = fitted.extend(X, y), fitted
    for i in range(3):
        one_by_one = one_by_one.extend(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(at_once.predict(X), one_by_one.predict(X), rtol=1e-5, atol=1e-5)


def test_the_arrays_given_are_neither_changed_nor_kept(settings):
    X, y = data(rows=10)
    given = X.copy(), y.copy()
    surrogate = fit(settings, X, y)
    surrogate.predict(X)
    surrogate.extend(X[:1], y[:1])
    np.testing.assert_array_equal(X, given[0])
    np.testing.assert_array_equal(y, given[1])
    expected = surrogate.extend(*data(rows=2, seed=5)).predict(given[0])
    X[:], y[:] = 0.0, 0.0
    np.testing.assert_array_equal(surrogate.extend(*data(rows=2, seed=5)).predict(given[0]), expected)


def test_a_fitted_surrogate_survives_pickling(fitted):
    X, _ = data(rows=9, seed=1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_very_few_rows_are_enough(settings, rows):
    X, y = data(rows=rows)
    surrogate = fit(settings, X, y)
    mean, deviation = surrogate.extend(*data(rows=1, seed=4)).predict(data(rows=20, seed=1)[0])
    assert np.isfinite(mean).all()
    assert np.isfinite(deviation).all()


def test_equal_losses_are_predicted_as_they_are(settings):
    X, _ = data()
    mean, deviation = fit(settings, X, np.full(len(X), 5.0)).predict(data(rows=20, seed=1)[0])
    np.testing.assert_allclose(mean, 5.0)
    assert np.isfinite(deviation).all()


def test_repeated_designs_with_different_losses_are_averaged(settings):
    X = np.repeat(data(rows=4)[0], 2, axis=0)
    y = np.tile([1.0, 3.0], 4)
    mean, deviation = fit(settings, X, y).predict(X)
    np.testing.assert_allclose(mean, 2.0, atol=0.5)
    assert np.isfinite(deviation).all()


def test_an_objective_that_depends_on_no_option_is_a_constant(settings):
    empty = np.empty((6, 0))
    surrogate = fit(settings, empty, np.array([1.0, 2.0, 1.5, 1.0, 2.0, 1.5]), groups=np.empty(0, dtype=np.int64))
    mean, deviation = surrogate.extend(np.empty((1, 0)), np.array([1.5])).predict(np.empty((3, 0)))
    np.testing.assert_allclose(mean, 1.5, atol=0.1)
    assert mean.shape == deviation.shape == (3,)


@pytest.mark.parametrize(
    ("X", "y", "groups", "facts"),
    [
        (np.ones((2, 1)), [1.0, np.nan], [0], "^y .*NaN.*row 1"),
        ([[0.0], [np.inf]], [1.0, 2.0], [0], "^X .*NaN.*row 1"),
        (np.ones(3), np.ones(3), [0], "X has 1 dimensions.* 2"),
        (np.ones((2, 1)), np.ones((2, 1)), [0], "y has 2 dimensions.* 1"),
        (np.ones((2, 1)), np.ones(3), [0], "X has 2 rows.*y has 3"),
        (np.ones((0, 1)), np.ones(0), [0], "X and y .*no rows"),
        (np.ones((2, 1)), np.ones(2), [0, 1], r"groups.*\(2,\).*1 columns"),
        (np.ones((2, 1)), np.ones(2), [0.5], "groups.*float64"),
    ],
)
def test_unusable_data_is_refused_with_one_clear_sentence(settings, X, y, groups, facts):
    with pytest.raises(InvalidValueError, match=facts):
        fit(settings, X, y, groups=groups)


def test_designs_of_another_width_are_refused(fitted):
    with pytest.raises(InvalidValueError, match=r"4 columns.* 5"):
        fitted.predict(np.ones((1, 4)))
    with pytest.raises(InvalidValueError, match=r"4 columns.* 5"):
        fitted.extend(np.ones((1, 4)), np.ones(1))
