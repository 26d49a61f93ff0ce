"""Tests of co-kriging: a later stop is a multiple of an earlier one, plus a rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.levels import with_levels
from flexibo.errors import InvalidValueError
from flexibo.surrogates import GaussianProcess
from flexibo.surrogates.co_kriging import CoKriging, OnTop, slope_of

PROCESS = GaussianProcess(noise=1e-6, scatter=1.0, restarts=0)
GROUPS = np.array([0, 1, 2])  # one option, and the columns of three stops


@dataclass(frozen=True)
class Constant:
    """A surrogate that predicts the same everywhere."""

    mean: float
    deviation: float
    log_evidence: float = 0.0

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> Constant:
        return self

    def extend(self, X: FloatArray, y: FloatArray) -> Constant:
        return self

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(len(X), self.mean), np.full(len(X), self.deviation)


def curves(early: FloatArray, complete: FloatArray, *, tells: bool = True) -> tuple[FloatArray, FloatArray]:
    """Encoded readings and losses: some designs x are read at the first of three stops alone, others at all three."""
    X, y = [], []
    for x, stops in [*((x, 1) for x in early.tolist()), *((x, 3) for x in complete.tolist())]:
        first = math.sin(12.0 * x) if tells else 20.0 * math.sin(1e4 * x)
        last = 2.0 * math.sin(12.0 * x) + x
        X += [with_levels(np.array([[x]]), np.array([k]), 3)[0] for k in range(stops)]
        y += [first, first + 0.5 * x, last][:stops]
    return np.array(X), np.array(y)


def fitted(X: FloatArray, y: FloatArray) -> CoKriging:
    return CoKriging(3, PROCESS, PROCESS).fit(X, y, groups=GROUPS, rng=np.random.default_rng(0))


COMPLETE = np.array([0.02, 0.21, 0.37, 0.55, 0.68, 0.83, 0.97])
NEW = np.array([0.11, 0.29, 0.46, 0.61, 0.75, 0.9])


def at_last(x: FloatArray) -> FloatArray:
    return with_levels(x[:, None], np.full(len(x), 2), 3)


def test_a_slope_is_drawn_to_one_by_four_designs() -> None:
    assert slope_of(np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 2.0, -1.0, -4.0])) == pytest.approx(-1.0)
    assert slope_of(np.array([1.0, 1.0]), np.array([0.0, 5.0])) == 1.0


def test_the_rest_is_added_to_a_multiple_of_the_stop_below() -> None:
    mean, deviation = OnTop(Constant(3.0, 2.0), Constant(1.0, 3.0), slope=-2.0).predict(np.zeros((2, 1)))
    assert mean.tolist() == [-5.0, -5.0]
    assert deviation.tolist() == [5.0, 5.0]  # 4^2 + 3^2


def test_early_readings_tell_of_the_last_stop_of_their_designs() -> None:
    plain = fitted(*curves(np.array([]), COMPLETE))
    model = fitted(*curves(NEW, COMPLETE))
    truth = 2.0 * np.sin(12.0 * NEW) + NEW
    assert model.weight > 0.9
    error, before = (np.abs(some.predict(at_last(NEW))[0] - truth).max() for some in (model, plain))
    assert error < 0.25 * before


def test_early_readings_that_are_noise_leave_the_plain_model() -> None:
    X, y = curves(NEW, np.linspace(0.0, 1.0, 15), tells=False)
    model, last = fitted(X, y), X[:, 1:].all(axis=1)
    plain = PROCESS.fit(X[last, :1], y[last], groups=np.array([0]), rng=np.random.default_rng(0))
    assert model.weight == 0.0
    for found, wanted in zip(model.predict(at_last(NEW)), plain.predict(NEW[:, None]), strict=True):
        assert found == pytest.approx(wanted, abs=1e-12)
    assert model.correlation(NEW[:, None], 0).tolist() == [0.0] * len(NEW)


@pytest.mark.parametrize(("ahead", "odds"), [(0.0, 5.0), (-4.0 * math.log(5.0), 1.0), (-40.0, 0.0)])
def test_the_odds_begin_at_five_to_one_for_early_readings(ahead: float, odds: float) -> None:
    X, y = curves(NEW, COMPLETE)
    plain, process = Constant(0.0, 1.0), Constant(0.0, 1.0, log_evidence=ahead)
    model = CoKriging(3, plain, process).fit(X, y, groups=GROUPS, rng=np.random.default_rng(0))
    assert model.odds == pytest.approx(odds)


def test_the_model_that_knows_more_of_a_design_has_more_weight_there() -> None:
    plain, early = Constant(0.0, 1.0), Constant(0.0, 1.0)
    # One over the variances is 1 and 1/4: weights of 4/5 and 1/5.
    model = CoKriging(2, PROCESS, PROCESS, (early, Constant(5.0, 2.0)), plain, 0.5, (0.0, 5.0))
    assert model.predict(np.zeros((1, 2)))[0] == pytest.approx([1.0])
    model = CoKriging(2, PROCESS, PROCESS, (early, Constant(0.0, 2.0)), plain, 0.5, (0.0, 5.0))
    assert model.predict(np.zeros((1, 2)))[1] == pytest.approx([math.sqrt(0.8 * 1.0 + 0.2 * 4.0)])


def test_a_reading_tells_what_it_takes_from_the_variance() -> None:
    def correlation(plain: float, weight: float) -> float:
        early = Constant(0.0, math.sqrt(3.0))
        top = OnTop(early, Constant(0.0, 1.0))  # the chain has a variance of 4, and of 1 after the reading
        model = CoKriging(2, PROCESS, PROCESS, (early, top), Constant(0.0, plain), weight)
        return float(model.correlation(np.zeros((1, 1)), 0)[0])

    assert correlation(plain=9.0, weight=1.0) == pytest.approx(math.sqrt(3.0 / 4.0))
    assert correlation(plain=2.0, weight=0.5) == pytest.approx(math.sqrt(2.0 / 4.0))  # from 4, of 4 and 8, to 2
    assert correlation(plain=1.2, weight=0.5) == 0.0  # the plain model knows it to 1.44, the reading to 2
    assert correlation(plain=2.0, weight=0.0) == 0.0


def test_readings_are_appended_one_by_one_as_they_come() -> None:
    X, y = curves(NEW[:3], COMPLETE)
    more, values = curves(NEW[3:5], np.array([0.46]))
    whole = start = fitted(X, y)
    for row in range(len(values)):
        whole = whole.extend(more[row : row + 1], values[row : row + 1])
    assert start.is_stepwise
    assert whole.predict(at_last(np.array([0.46])))[0] == pytest.approx(values[-1:], abs=1e-3)
    read, unread = (whole.predict(at_last(some))[1] for some in (NEW[3:5], NEW[5:]))
    assert read.max() < unread.min()


def test_a_complete_evaluation_that_was_not_read_earlier_counts_with_what_is_predicted_there() -> None:
    X, y = curves(NEW, COMPLETE)
    alone = np.vstack([X, at_last(np.array([0.5]))]), np.append(y, 2.0 * math.sin(6.0) + 0.5)
    model = fitted(*alone)
    assert model.predict(at_last(np.array([0.5])))[0] == pytest.approx([2.0 * math.sin(6.0) + 0.5], abs=0.05)


def test_a_stop_with_few_readings_is_left_out_and_bounds_hold() -> None:
    X, y = curves(NEW, COMPLETE)
    kept = X[:, 1:].sum(axis=1) != 1  # nobody was read at the second stop
    model = fitted(X[kept], y[kept])
    assert model.chain[1] is None
    assert model.correlation(NEW[:, None], 1).tolist() == [0.0] * len(NEW)
    assert model.correlation(np.array([[0.3]]), 0)[0] > 0.0
    lower, middle, upper = model.within(-1.0, 1.0).interval(at_last(NEW), 2.0)
    assert (lower >= -1.0).all()
    assert (upper <= 1.0).all()
    assert (np.diff([lower, middle, upper], axis=0) >= 0.0).all()


def test_draws_covariances_and_probabilities_are_those_of_both_models() -> None:
    model, rng = fitted(*curves(NEW[:2], COMPLETE)), np.random.default_rng(1)
    X = at_last(NEW[2:4])
    drawn = model.draws(X, 4000, rng)
    assert drawn.std(axis=0) == pytest.approx(np.sqrt(model.covariance(X, X).diagonal()), rel=0.1)
    mean, _ = model.predict(X)
    assert model.below(X, float(mean.max()) + 100.0) == pytest.approx([1.0, 1.0])


def test_the_odds_are_those_of_the_evidence() -> None:
    assert CoKriging(2, PROCESS, PROCESS, weight=0.75).odds == pytest.approx(3.0)
    assert CoKriging(2, PROCESS, PROCESS, weight=1.0).odds == math.inf


def test_a_model_that_is_not_fitted_says_so() -> None:
    with pytest.raises(InvalidValueError, match="not fitted"):
        CoKriging(3, PROCESS, PROCESS).predict(at_last(NEW))
