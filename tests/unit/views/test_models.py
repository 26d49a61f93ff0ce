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
    exact = front_view(study), importance_view(study), slice_view(study, "joules", "cpu_ghz")
    assert not any(view.approximate for view in exact)
    seen = []
    fit = _models.SubsampledSurrogate.fit

    def watched(self: Any, X: Any, y: Any, **rest: Any) -> Any:
        seen.append((len(y), self.limit))
        return fit(self, X, y, **rest)

    monkeypatch.setattr(_models.SubsampledSurrogate, "fit", watched)
    monkeypatch.setattr(_models, "LIMIT", 12)
    nearly = front_view(study), importance_view(study), slice_view(study, "joules", "cpu_ghz")
    assert all(view.approximate for view in nearly)
    assert all(view.to_dict()["approximate"] for view in nearly)
    assert seen
    assert {most for _, most in seen} == {12}
    assert len(seen) == len(study.objectives)  # the three views share their models
    complete = [{p.design: p.values for p in view.points if all(p.measured.values())} for view in (exact[0], nearly[0])]
    assert complete[0] == complete[1]
    assert [row.values for row in study.front()] == [
        p.values for p in exact[0].points if p.kind == "front-confirmed"
    ]  # the study itself does not notice


def test_one_more_row_changes_at_most_one_of_the_kept() -> None:
    before = set(_models.random_rows(500, 50).tolist())
    after = set(_models.random_rows(501, 50).tolist())
    assert len(before) == 50
    assert len(before & after) >= 49
    assert min(len(before & set(range(k, k + 250))) for k in (0, 250)) > 10
