"""When a model is refitted, and what from."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.surrogates import PossibleLosses, Refits, Truncated
from flexibo.surrogates.refits import EVERY_UNTIL, refit_count

GROUPS = np.array([0])


class Recorder:
    """A surrogate that only remembers how it was made."""

    def __init__(self, calls: list[tuple[str, int]], draw: float = 0.0, rows: int = 0) -> None:
        self.calls, self.draw, self.rows = calls, draw, rows

    def fit(self, X: np.ndarray, y: np.ndarray, *, groups: np.ndarray, rng: np.random.Generator) -> Recorder:
        self.calls.append(("fit", len(y)))
        return Recorder(self.calls, rng.random(), len(y))

    def extend(self, X: np.ndarray, y: np.ndarray) -> Recorder:
        self.calls.append(("extend", len(y)))
        return Recorder(self.calls, self.draw, self.rows + len(y))


def series(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count, dtype=float)[:, None], np.arange(1.0, count + 1.0)


def test_a_model_is_refitted_after_every_evaluation_at_first_and_then_as_the_data_grow() -> None:
    assert [refit_count(count, 2.0) for count in (1, 20, 21, 39, 40, 79, 80)] == [1, 20, 20, 20, 40, 40, 80]
    assert [refit_count(count, 1.0) for count in (1, 20, 21, 500)] == [1, 20, 21, 500]
    assert refit_count(22, 1.01) == 22  # a growth below one evaluation still moves on


def test_between_refits_the_new_rows_extend_the_model() -> None:
    calls: list[tuple[str, int]] = []
    refits = Refits(Recorder(calls), seed=(1,), growth=2.0)  # type: ignore[arg-type]
    X, y = series(41)
    for count in (EVERY_UNTIL, 21, 21, 24, 39, 40):
        assert refits.model(X[:count], y[:count], groups=GROUPS).rows == count  # type: ignore[attr-defined]
    assert calls == [("fit", 20), *[("extend", 1)] * 19, ("fit", 40)]


def test_a_resumed_study_has_the_model_of_the_uninterrupted_one() -> None:
    X, y = series(30)
    live = Refits(Recorder([]), seed=(1,))  # type: ignore[arg-type]
    for count in range(1, 31):
        model = live.model(X[:count], y[:count], groups=GROUPS)
    resumed = Refits(Recorder([]), seed=(1,)).model(X, y, groups=GROUPS)  # type: ignore[arg-type]
    assert resumed.draw == model.draw  # type: ignore[attr-defined]
    other = Refits(Recorder([]), seed=(2,)).model(X, y, groups=GROUPS)  # type: ignore[arg-type]
    assert other.draw != model.draw  # type: ignore[attr-defined]


@pytest.mark.parametrize("changed", ["loss", "design", "fewer"])
def test_data_that_do_not_continue_the_earlier_ones_are_learned_anew(changed: str) -> None:
    calls: list[tuple[str, int]] = []
    refits = Refits(Recorder(calls), seed=(1,), growth=2.0)  # type: ignore[arg-type]
    X, y = series(25)
    refits.model(X, y, groups=GROUPS)
    calls.clear()
    other_X, other_y = X.copy(), y.copy()
    if changed == "loss":
        other_y[3] += 1.0
    elif changed == "design":
        other_X[3] += 1.0
    else:
        other_X, other_y = X[:22], y[:22]
    refits.model(other_X, other_y, groups=GROUPS)
    assert calls[0] == ("fit", 20)


def test_the_first_loss_of_another_sign_is_learned_from() -> None:
    calls: list[tuple[str, int]] = []
    X, y = series(30)
    y[26] = -1.0
    Refits(Recorder(calls), seed=(1,), growth=2.0).model(X, y, groups=GROUPS)  # type: ignore[arg-type]
    assert calls == [("fit", 27), *[("extend", 1)] * 3]


def test_predictions_are_possible_losses_until_a_reading_says_otherwise() -> None:
    refits = Refits(Recorder([]), seed=(0,), possible=PossibleLosses(sign=1))
    X, y = series(4)
    bounded = refits.model(X[:3], y[:3], groups=GROUPS)
    assert isinstance(bounded, Truncated)
    assert (bounded.least, bounded.most) == (0.0, np.inf)
    y[3] = -1.0
    assert isinstance(refits.model(X, y, groups=GROUPS), Recorder)
