"""Importance: which options an objective depends on."""

from __future__ import annotations

import pytest

from flexibo import Study
from flexibo.views import importance_view


@pytest.fixture
def study(random_study: Study) -> Study:
    return random_study


def test_importance_of_what_an_objective_does_not_depend_on_is_zero(study: Study) -> None:
    view = importance_view(study)
    assert view.options == study.space.names
    assert (view.total["error"]["cpu_ghz"], view.total["error"]["cores"]) == (0.0, 0.0)
    assert all(0 <= view.main[o][n] <= view.total[o][n] <= 1 for o in view.total for n in view.options)  # type: ignore[operator]
    assert importance_view(study) == view


def test_a_constant_objective_has_no_importance() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=1, seed=0)
    for x in (0.0, 0.2, 0.4, 0.6, 0.8):
        study.add({"x": x}, {"a": 3.0, "b": x})
    assert importance_view(study).total["a"] == {"x": None}
