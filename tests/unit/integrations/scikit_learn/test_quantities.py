"""Scores and quantities as objectives."""

from __future__ import annotations

import math
import pickle
from itertools import count
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.integrations.scikit_learn._quantities import (
    MOST_TIMES,
    Quantities,
    model_size,
    predict_time,
    quantities_of,
    scorers_of,
)


def quantities(scoring: Any = None, measure: Any = None, apart: Any = None, limits: Any = None) -> Quantities:
    return quantities_of(LogisticRegression(), scoring, measure, apart, limits)


def test_one_score_is_measured_with_the_size_by_default_and_several_scores_alone() -> None:
    assert quantities().fold_names == ("score", "model_size")
    assert quantities(["accuracy", "f1"]).fold_names == ("accuracy", "f1")
    assert quantities({"a": "accuracy", "b": "f1"}, "fit_time").fold_names == ("a", "b", "fit_time")


def test_all_that_one_fit_yields_is_measured_together_and_the_rest_apart() -> None:
    found = quantities("accuracy", ["predict_time"], {"parameters": lambda estimator, X, y: 3}).objectives(cost=None)
    assert [(o.name, o.direction, o.measured_with, o.noisy) for o in found] == [
        ("score", "max", None, True),
        ("predict_time", "min", "score", True),
        ("parameters", "min", None, False),
    ]


def test_times_and_sizes_are_logarithms_in_the_study() -> None:
    found = quantities("accuracy", {"bytes": "model_size", "own": lambda *_: 1.0}, limits={"bytes": 1000})
    assert found.logarithmic == {"bytes"}
    assert found.told("bytes", 1000) == pytest.approx(3.0)
    assert found.told("own", -5.0) == -5.0
    assert found.losses("bytes", np.log10([1442.0])).tolist() == [1442.0]
    assert [o.at_most for o in found.objectives(cost=1.0) if o.name == "bytes"] == [pytest.approx(3.0)]
    assert math.isfinite(found.told("bytes", 0.0))


def test_limits_of_times_and_sizes_are_above_zero() -> None:
    for wrong in (0, -5):
        with pytest.raises(InvalidValueError, match=rf"{wrong} .*'model_size'"):
            quantities(limits={"model_size": wrong})
        with pytest.raises(InvalidValueError, match=rf"{wrong} .*'model_size'"):
            quantities_of(LogisticRegression(), None, None, None, None, {"score": 0, "model_size": wrong})
    assert quantities(measure={"balance": lambda *_: 0.0}, limits={"balance": -5}).limits == {"balance": -5.0}


def test_a_limit_of_a_score_is_a_lower_bound() -> None:
    score, size = quantities(limits={"score": 0.9}).objectives(cost=1.0)
    assert (score.at_least, score.optimise, size.optimise) == (0.9, False, True)


def test_the_reference_names_all_that_is_optimised() -> None:
    worst = {"score": 0.5, "model_size": 1e4}
    found = quantities_of(LogisticRegression(), None, None, None, None, worst)
    assert found.told_reference() == {"score": 0.5, "model_size": pytest.approx(4.0)}
    with pytest.raises(InvalidValueError, match="model_size"):
        quantities_of(LogisticRegression(), None, None, None, None, {"score": 0.5})
    limited = quantities_of(LogisticRegression(), None, None, None, {"model_size": 1e4}, {"score": 0.5})
    assert limited.told_reference() == {"score": 0.5}
    assert quantities().told_reference() is None


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"scoring": "acuracy"}, "'accuracy'"),
        ({"scoring": ["accuracy", "f2"]}, "'f2'"),
        ({"measure": ["predict_tim"]}, "'predict_time'"),
        ({"limits": {"size": 3}}, "'size'.*model_size"),
    ],
)
def test_an_unknown_name_is_an_error_with_known_ones(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(UnknownNameError, match=word):
        quantities(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scoring": {"a": 3}},
        {"scoring": []},
        {"scoring": 3},
        {"measure": 3},
        {"measure": {"a": 3}},
        {"apart": ["a"]},
        {"apart": {"a": "model_size"}},
        {"limits": [3]},
    ],
)
def test_what_is_neither_name_nor_function_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidTypeError) as error:
        quantities(**wrong)
    assert error.value.argument == next(iter(wrong))


def test_one_quantity_alone_and_two_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"'score'.*measure"):
        quantities(measure=[])
    with pytest.raises(InvalidValueError, match="'model_size'"):
        quantities({"model_size": "accuracy"}, "model_size")


def test_scores_are_found_as_scikit_learn_finds_them() -> None:
    assert list(scorers_of(LogisticRegression(), None)) == ["score"]
    assert set(scorers_of(LogisticRegression(), {"accuracy", "f1"})) == {"accuracy", "f1"}


def test_the_size_is_that_of_the_pickle_also_with_functions_that_pickle_cannot_handle() -> None:
    fitted = LogisticRegression()
    assert model_size(fitted) == len(pickle.dumps(fitted, protocol=pickle.HIGHEST_PROTOCOL))
    assert model_size(FunctionTransformer(lambda X: X)) > 0


class Slow:
    def predict(self, X: Any) -> Any:
        return X


def test_predictions_are_timed_until_they_took_long_enough() -> None:
    ticks = count()
    assert predict_time(Slow(), np.zeros((4, 1)), clock=lambda: next(ticks) * 0.5) == pytest.approx(0.5e6 / 4)
    assert next(ticks) == 6  # three predictions, as each takes long
    ticks = count()
    assert predict_time(Slow(), [0], clock=lambda: next(ticks) * 1e-9) == pytest.approx(1e-3)
    assert next(ticks) == 2 * MOST_TIMES


def test_what_cannot_predict_has_no_time() -> None:
    with pytest.raises(InvalidTypeError, match="object"):
        predict_time(object(), [0])
