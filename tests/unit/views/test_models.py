"""Models of long studies: fitted to a subset of the evaluations."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo import Study
from flexibo.views import _models, front_view, importance_view, slice_view


@pytest.fixture
def study(random_study: Study) -> Study:
    return random_study


def test_models_of_a_long_study_learn_from_some_evaluations_and_views_say_so(
    monkeypatch: pytest.MonkeyPatch, study: Study
) -> None:
    exact = importance_view(study), slice_view(study, "joules", "cpu_ghz")
    assert not any(view.approximate for view in exact)
    seen = []
    fit = _models.SubsampledSurrogate.fit

    def watched(self: Any, X: Any, y: Any, **rest: Any) -> Any:
        seen.append((len(y), self.limit))
        return fit(self, X, y, **rest)

    monkeypatch.setattr(_models.SubsampledSurrogate, "fit", watched)
    monkeypatch.setattr(_models, "LIMIT", 12)
    nearly = importance_view(study), slice_view(study, "joules", "cpu_ghz")
    assert all(view.approximate for view in nearly)
    assert all(view.to_dict()["approximate"] for view in nearly)
    assert seen
    assert {most for _, most in seen} == {12}
    assert len(seen) == len(study.objectives)  # the two views share their models
    front = [point.values for point in front_view(study).points if point.kind == "front-confirmed"]
    assert [row.values for row in study.front()] == front, "the front is by the models of the study itself"


def test_one_more_row_changes_at_most_one_of_the_kept() -> None:
    before = set(_models.random_rows(500, 50).tolist())
    after = set(_models.random_rows(501, 50).tolist())
    assert len(before) == 50
    assert len(before & after) >= 49
    assert min(len(before & set(range(k, k + 250))) for k in (0, 250)) > 10
