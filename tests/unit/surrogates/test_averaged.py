"""The average of several surrogates: weights by evidence, the belief of the mixture, and refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.surrogates import Averaged, GaussianProcess, RandomForest, Surrogate, Warped
from flexibo.surrogates.averaged import COMPARE_ROWS, EVIDENCE_ROWS, REACH, TEMPERATURE, _split, evidence_weights
from flexibo.surrogates.base import below, interval, joint
from flexibo.surrogates.fit_memory import FitMemory, remembering

EXACT = GaussianProcess(noise=1e-6, scatter=0.5, restarts=0)
GROUPS = np.arange(3)


def designs(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, 3))


def heavy(X: np.ndarray) -> np.ndarray:
    return np.exp(6.0 * X[:, 0] + 2.0 * np.sin(4.0 * X[:, 1]))


def bowl(X: np.ndarray) -> np.ndarray:
    """Skewed like a heavy tail, and yet as smooth as can be where it is not warped."""
    return 0.001 + ((X[:, :2] - 0.4) ** 2).sum(axis=1)


def fit(settings: Surrogate, X: np.ndarray, y: np.ndarray) -> Surrogate:
    return settings.fit(X, y, groups=GROUPS, rng=np.random.default_rng(0))


def average(y: np.ndarray, X: np.ndarray, *members: Surrogate) -> Averaged:
    fitted = fit(Averaged(members or (EXACT, Warped(EXACT))), X, y)
    assert isinstance(fitted, Averaged)
    return fitted


def disagreeing() -> tuple[Averaged, np.ndarray]:
    """Two models of equal weight that were told different losses, and designs to ask about."""
    X = designs(10)
    members = (fit(EXACT, X, bowl(X)), fit(EXACT, X, bowl(X)[::-1].copy()))
    return Averaged((EXACT, EXACT), members, (0.3, 0.7), (0.0, 1.0)), designs(40, seed=1)


def test_a_heavy_tail_is_given_to_the_warped_model_and_a_bowl_to_the_plain_one() -> None:
    X = designs(25)
    tail, flat = average(heavy(X), X), average(bowl(X), X)
    assert isinstance(tail.fitted[int(np.argmax(tail.weights))], Warped)
    assert max(tail.weights) > 0.9
    assert isinstance(flat.fitted[int(np.argmax(flat.weights))], GaussianProcess)
    assert max(flat.weights) > 0.9


def test_weights_fall_with_the_evidence_at_the_temperature_and_sum_to_1() -> None:
    weights = evidence_weights(np.array([-3.0, -3.0 - TEMPERATURE, -1e4]))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] / weights[1] == pytest.approx(math.e)
    assert weights[2] == 0.0


def test_many_equal_models_all_keep_their_weight() -> None:
    np.testing.assert_allclose(evidence_weights(np.zeros(100)), 0.01)


@pytest.mark.parametrize("settings", [EXACT, Warped(EXACT), GaussianProcess()])
def test_the_evidence_is_a_density_of_the_losses_in_their_own_unit(settings: Surrogate) -> None:
    X = designs(15)
    one, thousand = fit(settings, X, heavy(X)), fit(settings, X, 1000.0 * heavy(X))
    difference = one.log_evidence - thousand.log_evidence  # type: ignore[attr-defined]
    assert difference == pytest.approx(15 * math.log(1000.0), rel=1e-4)


def test_the_evidence_of_warped_losses_is_that_of_the_model_times_the_slopes() -> None:
    X = designs(15)
    y = heavy(X)
    model = fit(Warped(EXACT), X[:12], y[:12]).extend(X[12:], y[12:])
    assert isinstance(model, Warped)
    assert model.warp is not None
    step = 1e-6 * y
    slopes = (model.warp(y + step) - model.warp(y - step)) / (2.0 * step)
    expected = model.model.log_evidence + np.log(slopes).sum()  # type: ignore[attr-defined]
    assert model.log_evidence == pytest.approx(expected, rel=1e-6)


def test_the_mean_and_the_variance_are_those_of_the_mixture() -> None:
    model, X = disagreeing()
    means, deviations = zip(*(member.predict(X) for member in model.fitted), strict=True)
    weights = np.array(model.weights)
    mean = weights @ np.array(means)
    variance = weights @ (np.array(deviations) ** 2 + np.array(means) ** 2) - mean**2
    found, deviation = model.predict(X)
    np.testing.assert_allclose(found, mean)
    np.testing.assert_allclose(model.covariance(X, X).diagonal(), variance, rtol=1e-6, atol=1e-9)
    inside = [np.minimum(*(m - d for m, d in zip(means, deviations, strict=True))) < mean - np.sqrt(variance)]
    inside += [np.maximum(*(m + d for m, d in zip(means, deviations, strict=True))) > mean + np.sqrt(variance)]
    both = np.logical_and(*inside)
    assert both.sum() > 10
    np.testing.assert_allclose(deviation[both] ** 2, variance[both], rtol=1e-6)


@pytest.mark.parametrize("half", [0.5, 2.0])
def test_no_interval_is_wider_than_those_of_the_models_together(half: float) -> None:
    model, X = disagreeing()
    lower, middle, upper = model.interval(X, half)
    boxes = np.array([interval(member, X, half) for member in model.fitted])
    assert (lower >= boxes[:, 0].min(axis=0)).all()
    assert (upper <= boxes[:, 2].max(axis=0)).all()
    assert (lower <= middle).all()
    assert (middle <= upper).all()


def test_the_probability_of_a_limit_is_averaged() -> None:
    model, X = disagreeing()
    expected = 0.3 * below(model.fitted[0], X, 0.2) + 0.7 * below(model.fitted[1], X, 0.2)
    np.testing.assert_allclose(model.below(X, 0.2), expected)


def test_draws_come_from_the_models_in_proportion_to_their_weights() -> None:
    model, X = disagreeing()
    drawn = joint(model).draws(X, 4000, np.random.default_rng(3))
    mean, variance = model.predict(X)[0], model.covariance(X, X).diagonal()
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1 * math.sqrt(variance.max()))
    np.testing.assert_allclose(drawn.var(axis=0), variance, atol=0.1 * variance.max())


def test_no_belief_reaches_further_than_the_losses_allow() -> None:
    X = designs(12)
    y = np.exp(12.0 * X[:, 0])
    model = average(y, X, Warped(GaussianProcess()))
    lower, middle, upper = model.interval(designs(300, seed=1), 30.0)
    span = float(np.ptp(y))
    assert upper.max() == pytest.approx(y.max() + REACH * span)
    assert max(lower.max(), middle.max()) <= y.max() + REACH * span


def test_a_new_loss_widens_what_is_believed_in() -> None:
    X = designs(12)
    model = average(bowl(X), X)
    low, high = model.limits
    longer = model.extend(designs(1, seed=2), np.array([high + 50.0]))
    assert longer.limits[0] <= low
    assert longer.limits[1] > high + 50.0
    assert longer.weights == model.weights


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_losses_of_any_size_are_averaged_alike(size: float) -> None:
    X, asked = designs(12), designs(20, seed=1)
    ordinary, extreme = average(bowl(X), X), average(size * bowl(X), X)
    np.testing.assert_allclose(np.array(extreme.predict(asked)) / size, ordinary.predict(asked), rtol=1e-2)


def test_beyond_many_losses_only_models_with_weight_learn_from_all() -> None:
    X = designs(COMPARE_ROWS + 20)
    many = average(heavy(X), X)
    assert len(many.fitted) == 1
    assert isinstance(many.fitted[0], Warped)
    alone = fit(Warped(replace(EXACT, max_fit=None)), X, heavy(X))
    asked = designs(30, seed=1)
    np.testing.assert_allclose(many.predict(asked)[0], alone.predict(asked)[0], rtol=0.02)


def test_an_average_needs_models() -> None:
    with pytest.raises(InvalidValueError, match="models is empty"):
        Averaged(())


@pytest.mark.parametrize("settings", [RandomForest(trees=4), Warped(RandomForest(trees=4))])
def test_a_surrogate_without_evidence_is_refused_in_one_sentence(settings: Surrogate) -> None:
    X = designs(6)
    with pytest.raises(InvalidTypeError, match=r"RandomForest.*log_evidence"):
        average(bowl(X), X, settings)


def test_the_evidence_of_thousands_of_losses_is_that_of_some() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(3000)
    some, rest = _split(y, rng)
    assert (len(some), len(rest)) == (COMPARE_ROWS, EVIDENCE_ROWS - COMPARE_ROWS)
    assert {int(y.argmin()), int(y.argmax())} <= set(some.tolist())
    assert not set(some.tolist()) & set(rest.tolist())


def test_the_hull_holds_a_mixture_as_often_as_promised_where_its_deviations_do_not() -> None:
    told, X, half = designs(10), designs(40, seed=1), 5.0
    narrow, wide = fit(EXACT, told, bowl(told)), fit(EXACT, told, 20.0 * np.random.default_rng(2).normal(size=10))
    model = Averaged((EXACT, EXACT), (narrow, wide), (0.95, 0.05), (-100.0, 100.0))
    promised = math.exp(-(half**2) / 2.0)

    def outside(low: np.ndarray, high: np.ndarray) -> float:
        ends = [(model.below(X[i : i + 1], low[i]), model.below(X[i : i + 1], high[i])) for i in range(len(X))]
        return max(float(below[0] + 1.0 - above[0]) for below, above in ends)

    low, middle, high = model.hull(X, half)
    np.testing.assert_array_equal(middle, model.interval(X, half)[1])
    assert outside(low, high) <= promised
    narrow_low, _, narrow_high = model.interval(X, half)
    assert outside(narrow_low, narrow_high) > 1000.0 * promised


def test_the_evidence_of_many_losses_is_computed_once_and_recalled_for_the_same_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, memory, made = designs(COMPARE_ROWS + 40), FitMemory(), []
    extend = GaussianProcess.extend
    monkeypatch.setattr(GaussianProcess, "extend", lambda self, X, y: made.append(len(y)) or extend(self, X, y))
    found = []
    for y in (bowl(X), bowl(X), heavy(X)):
        made.clear()
        with remembering(memory):
            found.append((type(average(y, X).fitted[0]), len(made)))
    assert found == [(GaussianProcess, 2), (GaussianProcess, 0), (Warped, 2)]
