"""The results of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from flexibo import Space, Study
from flexibo.integrations.scikit_learn._parameters import parameters_of
from flexibo.integrations.scikit_learn._quantities import quantities_of
from flexibo.integrations.scikit_learn._race import FoldTable
from flexibo.integrations.scikit_learn._results import FoldFront, cv_results, front_of

SPACE = Space({"kernel": ["linear", "rbf"], "C": (0.0, 9.0)}, conditions={"C": {"kernel": ["rbf"]}})
PARAMETERS = parameters_of(SPACE, SVC())
QUANTITIES = quantities_of(SVC(), "accuracy", "model_size", None, None)


def results_of(folds: list[tuple[dict[str, Any], list[tuple[float, float]]]]) -> tuple[dict[str, Any], FoldFront]:
    """The results of a search with these scores and sizes of settings, fold by fold."""
    study = Study(SPACE, QUANTITIES.objectives(cost=1.0), budget=100, seed=0)
    for design, readings in folds:
        for n, (score, size) in enumerate(readings):
            study.enqueue(design, ["score"], readings=n + 1)
            evaluation = study.ask()
            assert evaluation is not None
            study.tell(evaluation, {"score": score, "model_size": QUANTITIES.told("model_size", size)}, cost=1.0)
    table = FoldTable.of(study.history, 2, QUANTITIES)
    front = table.front()
    times = {(design, 0): (1.0, 2.0) for design in table.designs[:1]}
    found = cv_results(table, study.history, PARAMETERS, QUANTITIES, front, times)
    return found, front_of(table, study.history, QUANTITIES, front)


FOUND, FRONT = results_of(
    [
        ({"kernel": "rbf", "C": 1.0}, [(0.9, 5000), (0.7, 7000)]),
        ({"kernel": "linear"}, [(0.5, 100)]),
        ({"kernel": "rbf", "C": 2.0}, [(0.6, 10), (0.6, 10)]),
        ({"kernel": "rbf", "C": 3.0}, [(0.1, 90), (0.1, 90)]),
    ]
)


def test_means_and_deviations_are_over_the_folds_in_the_units_of_the_quantities() -> None:
    np.testing.assert_allclose(FOUND["mean_test_score"], [0.8, 0.5, 0.6, 0.1])
    np.testing.assert_allclose(FOUND["mean_model_size"], [6000, 100, 10, 90])
    np.testing.assert_allclose(FOUND["std_test_score"], [0.1, 0, 0, 0], atol=1e-12)
    assert FOUND["split1_model_size"].tolist() == [7000, None, 10, 90]
    assert FOUND["n_folds"].tolist() == [2, 1, 2, 2]


def test_ranks_are_of_settings_with_all_folds() -> None:
    assert FOUND["rank_test_score"].tolist() == [1, None, 2, 3]
    assert FOUND["rank_model_size"].tolist() == [3, None, 1, 2]
    assert FOUND["on_front"].tolist() == [True, False, True, False]


def test_times_that_are_not_known_are_masked() -> None:
    assert FOUND["mean_fit_time"].tolist() == [1.0, None, None, None]
    assert FOUND["mean_score_time"].tolist() == [2.0, None, None, None]


def test_parameters_are_masked_where_they_are_inactive() -> None:
    assert FOUND["param_C"].tolist() == [1.0, None, 2.0, 3.0]
    assert FOUND["param_C"].dtype.kind == "f"
    assert FOUND["param_kernel"].dtype == object
    assert FOUND["params"][1] == {"kernel": "linear"}


def test_the_front_has_means_spreads_and_the_best() -> None:
    assert [row.design["C"] for row in FRONT] == [1.0, 2.0]
    assert FRONT[0].values == pytest.approx({"score": 0.8, "model_size": 6000})
    assert FRONT[0].spreads["score"] == pytest.approx(0.2 / 2**0.5)
    assert [row.best for row in FRONT] == [("score",), ("model_size",)]
    assert "(2)" in str(FRONT)
    assert str(FoldFront()) != ""


def test_the_knee_is_found_on_a_logarithmic_scale() -> None:
    settings = [({"kernel": "rbf", "C": c}, [(s, z)] * 2) for c, s, z in ((1, 0.9, 1e6), (2, 0.85, 1e3), (3, 0.4, 1e1))]
    _, front = results_of(settings)
    assert [row.knee for row in front] == [False, True, False]


def test_a_search_without_a_complete_setting_has_an_empty_front() -> None:
    found, front = results_of([({"kernel": "linear"}, [(0.5, 100)])])
    assert len(front) == 0
    assert found["rank_test_score"].tolist() == [None]
    empty, front = results_of([])
    assert len(front) == len(empty["params"]) == 0
