"""Learning curves as a view."""

from __future__ import annotations

import json

import pytest
from tests.unit.study.small_studies import asked

from flexibo import Objective, Study
from flexibo.plots.html import default_pictures
from flexibo.views import curves_view


def opened() -> Study:
    objectives = [Objective("error", steps=[3, 9], options=["x"]), "joules"]
    study = Study({"x": [1, 2, 3], "board": ["a", "b"]}, objectives, seed=1, method="random")
    for x in (1, 2, 3):
        study.enqueue({"x": x, "board": "a"}, ["error"])
    return study


def test_each_design_has_a_curve_that_says_how_far_it_is() -> None:
    study = opened()
    assert curves_view(study).objectives[0].curves == ()
    first, second, third = study.ask(3, only=["error"])
    study.tell(first, 0.2, reports=[(1, 0.9), (3, 0.6)])
    study.fail(second, "no power", reports=[(2, 0.7)], impossible=True)
    [found] = curves_view(study).objectives
    states = [(curve.number, curve.state, curve.stop, curve.points) for curve in found.curves]
    assert states == [
        (third.number, "running", 9, ()),
        (second.number, "stopped", 2, ((2, 0.7),)),
        (first.number, "complete", 9, ((1, 0.9), (3, 0.6), (9, 0.2))),
    ]
    assert (found.stops, found.in_all, found.axis.name) == ((3, 9), 3, "error")
    shown = curves_view(study).to_dict()
    assert shown["kind"] == "curves"
    assert json.loads(json.dumps(shown)) == shown


def test_many_curves_and_points_are_thinned_and_the_last_of_a_curve_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.views.curves.MOST_CURVES", 1)
    monkeypatch.setattr("flexibo.views.curves.MOST_POINTS", 4)
    study = opened()
    for _ in range(2):
        study.tell(asked(study, only=["error"]), 0.2, reports=[(step, 1 / step) for step in range(1, 9)])
    [found] = curves_view(study).objectives
    assert (len(found.curves), found.in_all) == (1, 2)
    assert [step for step, _ in found.curves[0].points] == [1, 4, 7, 9]


def test_a_study_without_steps_has_no_curves_and_its_pages_no_picture_of_them() -> None:
    study = Study({"x": [1, 2, 3]}, ["a", "b"])
    assert curves_view(study).objectives == ()
    assert "curves" not in default_pictures(study)
    assert "curves" in default_pictures(opened())
