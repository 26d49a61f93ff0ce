"""One fold of one design."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_validate
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from flexibo import Study
from flexibo.errors import MachineError
from flexibo.executors import InlineExecutor
from flexibo.integrations.scikit_learn._folds import OWN, ApartMeasure, Data, FoldExecutor, FoldMeasure, functions_of
from flexibo.integrations.scikit_learn._parameters import Parameters, parameters_of
from flexibo.integrations.scikit_learn._quantities import quantities_of

X, Y = load_iris(return_X_y=True)
FOLDS = list(KFold(3, shuffle=True, random_state=0).split(X))
TREE = DecisionTreeClassifier(random_state=0)
PARAMETERS: Parameters = parameters_of({"max_depth": [1, 3]}, TREE)
DATA = Data(X, Y, FOLDS, {}, {})
SMALL, LARGE = (PARAMETERS.space.design({"max_depth": depth}) for depth in (1, 3))


def fold_measure(scoring: Any = "accuracy", measure: Any = (), error_score: Any = math.nan, **more: Any) -> FoldMeasure:
    quantities = quantities_of(TREE, scoring, measure, {"none": len}, None)
    return replace(FoldMeasure(TREE, PARAMETERS, quantities, DATA, error_score), **more)


@pytest.mark.parametrize("fold", [0, 2])
def test_a_fold_has_the_scores_of_cross_validation(fold: int) -> None:
    scoring = {"a": "accuracy", "b": "f1_macro"}
    expected = cross_validate(TREE.set_params(max_depth=3), X, Y, cv=FOLDS, scoring=scoring)
    found = fold_measure(scoring).of(fold)(LARGE)
    assert [found["a"], found["b"]] == [expected["test_a"][fold], expected["test_b"][fold]]
    assert found[f"{OWN}fit_time"] >= 0


def test_quantities_see_the_fitted_estimator_and_the_test_rows() -> None:
    seen = []

    def depth(fitted: Any, X: Any, y: Any) -> float:
        seen.append((len(X), len(y)))
        return float(fitted.get_depth())

    found = fold_measure(measure={"depth": depth, "seconds": "fit_time"})(SMALL)
    assert found["depth"] == 1
    assert found["seconds"] == pytest.approx(math.log10(found[f"{OWN}fit_time"]))
    assert seen == [(50, 50)]


def test_kernels_that_were_computed_before_are_split_in_both_directions() -> None:
    svc = SVC(kernel="precomputed")
    parameters = parameters_of({"C": [1.0, 2.0]}, svc)
    quantities = quantities_of(svc, None, {"columns": lambda fitted, X, y: X.shape[1]}, None, None)
    data = replace(DATA, X=X @ X.T)
    found = FoldMeasure(svc, parameters, quantities, data, math.nan)(parameters.space.design({"C": 1.0}))
    assert found["columns"] == 100


def test_stored_data_is_the_same_data_mapped_into_memory(tmp_path: Path) -> None:
    stored = replace(DATA, fit_params={"sample_weight": np.ones(len(X))}).stored(str(tmp_path)).get()
    np.testing.assert_array_equal(stored.X, X)
    assert type(stored.X) is np.ndarray
    assert isinstance(stored.X.base, np.memmap)
    assert type(stored.fit_params["sample_weight"]) is np.ndarray
    assert len(stored.folds) == 3


def broken(estimator: Any, X: Any, y: Any) -> float:
    raise ArithmeticError("broken")


def test_an_error_is_a_failure_a_number_or_the_end_of_the_study() -> None:
    with pytest.raises(ArithmeticError):
        fold_measure(broken)(SMALL)
    with pytest.raises(MachineError) as error:
        fold_measure(broken, error_score="raise")(SMALL)
    assert isinstance(error.value.__cause__, ArithmeticError)
    assert fold_measure(broken, error_score=-2)(SMALL) == {"score": -2.0}
    with pytest.raises(ArithmeticError):  # there is no size either
        fold_measure(broken, "model_size", error_score=-2)(SMALL)
    assert fold_measure(lambda *_: math.nan, "model_size", error_score=-2)(SMALL)["score"] == -2.0
    assert math.isnan(fold_measure(lambda *_: math.nan)(SMALL)["score"])


def test_what_is_measured_apart_gets_an_estimator_that_is_not_fitted() -> None:
    def depth(estimator: Any, X: Any, y: Any) -> float:
        assert not hasattr(estimator, "tree_")
        return float(estimator.max_depth)

    assert ApartMeasure(TREE, PARAMETERS, depth, DATA)(LARGE) == 3


def test_every_reading_of_a_design_is_its_next_fold() -> None:
    quantities = quantities_of(TREE, "accuracy", None, None, None)
    study = Study(PARAMETERS.space, quantities.objectives(cost=1.0), budget=50, seed=0)
    executor = FoldExecutor(InlineExecutor(), study.history, 3, cost=1.0)
    functions = functions_of(TREE, PARAMETERS, quantities, DATA, math.nan)
    study.enqueue(SMALL, ["score"], readings=3)
    study.run(functions, executor=executor)
    designs, losses = study.history.data(0)
    read = [-loss for design, loss in zip(designs, losses, strict=True) if design == SMALL]
    assert read == [functions["score"].of(k)(SMALL)["score"] for k in range(3)]  # type: ignore[attr-defined]
    assert [(SMALL, k) in executor.times for k in range(3)] == [True] * 3
    assert study.spent == len(losses)


def test_a_failed_fit_costs_a_fit() -> None:
    quantities = quantities_of(TREE, broken, None, None, None)
    study = Study(PARAMETERS.space, quantities.objectives(cost=1.0), budget=50, seed=0)
    executor = FoldExecutor(InlineExecutor(), study.history, 3, cost=1.0)
    functions = functions_of(TREE, PARAMETERS, quantities, DATA, math.nan)
    study.run(functions, executor=executor, raise_first=False)
    assert study.spent == 2  # one attempt at each design
    assert executor.times == {}
