"""Slices: predictions along options, and the measured designs near them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.strict_json import strict_json

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidValueError
from flexibo.space import Real
from flexibo.views import importance_view, slice_view


def predicted(study: Study, objective: str, designs: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    j = study.history.names.index(objective)
    options = study.objectives[j].depends_on
    seen, losses = study.history.data(j)
    model = study.predictor.models(study.history)[j].model(
        seen.encoded(options), losses, groups=study.space.groups(options)
    )
    mean, deviation = model.predict(study.space.designs(designs).encoded(options))
    return [study.objectives[j].value(value) for value in mean.tolist()], deviation.tolist()


@pytest.fixture
def study(random_study: Study) -> Study:
    return random_study


def test_a_slice_is_what_the_surrogate_predicts(study: Study) -> None:
    at = {"filters": 64, "kernel": "3x3", "cpu_ghz": 1.0, "cores": 2}
    view = slice_view(study, "joules", "cpu_ghz", "filters", at=at, points=7)
    assert view.y is not None
    assert view.y.values == (16.0, 32.0, 64.0, 128.0)
    assert view.x.values == pytest.approx(np.linspace(0.3, 2.3, 7).tolist())
    designs = [at | {"cpu_ghz": x, "filters": int(y)} for y in view.y.values for x in view.x.values]
    means, deviations = predicted(study, "joules", designs)
    assert np.ravel(view.mean).tolist() == pytest.approx(means)
    assert np.ravel(view.deviation).tolist() == pytest.approx(deviations)
    assert dict(view.at) == at
    assert strict_json(view)["y"] == {
        "name": "filters",
        "type": "number",
        "values": [16.0, 32.0, 64.0, 128.0],
        "log": False,
    }


def test_a_slice_along_categories_names_them_and_is_flat_where_the_option_does_not_matter(study: Study) -> None:
    view = slice_view(study, "error", "kernel")
    assert (view.x.is_number, view.x.values, view.y) == (False, ("1x1", "3x3", "5x5"), None)
    flat = slice_view(study, "error", "cores")
    assert flat.x.values == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert np.ptp(np.array(flat.mean, dtype=float)) == pytest.approx(0.0, abs=1e-12)


def test_a_slice_shows_measured_designs_nearest_first(study: Study) -> None:
    at = dict(study.history.designs[0])
    view = slice_view(study, "joules", "cpu_ghz", at=at)
    distances = [point.distance for point in view.measured]
    assert distances == sorted(distances)
    measured = [(m.design["cpu_ghz"], m.values["joules"]) for m in study.history.measurements if "joules" in m.values]
    assert sorted((point.x, point.value) for point in view.measured) == sorted(measured)  # type: ignore[type-var]
    assert (view.measured[0].x, view.measured[0].distance) == (at["cpu_ghz"], pytest.approx(0.0, abs=1e-12))
    assert max(distances) <= 1.0


def test_a_slice_of_a_maximised_objective_has_its_own_sign() -> None:
    study = Study({"x": (0.0, 1.0)}, [Objective("a", "max"), Objective("b")], n_initial=1, seed=0)
    for x in np.linspace(0.0, 1.0, 8):
        study.add({"x": float(x)}, {"a": 2.0 + float(x), "b": 1.0 - float(x)})
    view = slice_view(study, "a", "x", points=3)
    assert view.mean[0] == pytest.approx([2.0, 2.5, 3.0], abs=0.05)
    assert all(deviation is not None and deviation >= 0 for deviation in view.deviation[0])


def test_the_band_of_a_slice_stays_within_what_is_possible() -> None:
    study = Study({"x": (0.0, 1.0)}, [Objective("a", upper=1.0), Objective("b", "max")], n_initial=1, seed=0)
    for x in (0.0, 0.1, 0.2, 0.8, 0.9):
        study.add({"x": x}, {"a": 0.9 if x < 0.5 else 0.01, "b": 1.0 - x})
    view = slice_view(study, "a", "x", points=21)
    low, mean, high = (np.array(row[0], dtype=float) for row in (view.low, view.mean, view.high))
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert (high - low).max() > 0.1
    assert low.min() >= 0.0
    assert high.max() <= 1.0
    gains = slice_view(study, "b", "x", points=21)
    assert (np.array(gains.low, dtype=float) <= np.array(gains.high, dtype=float)).all()


def test_a_slice_leads_through_a_balanced_design_of_the_front() -> None:
    study = Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, ["a", "b"], n_initial=1, seed=0)
    for x, a, b in ((0.0, 0.0, 9.0), (0.5, 2.0, 2.0), (1.0, 9.0, 0.0)):
        study.add({"x": x, "y": x}, {"a": a, "b": b})
    assert dict(slice_view(study, "a", "x").at) == {"x": 0.5, "y": 0.5}


def test_a_slice_along_a_conditional_option_is_where_it_is_active() -> None:
    space = Space({"mode": ["off", "on"], "level": Real(1.0, 100.0, log=True)}, conditions={"level": {"mode": ["on"]}})
    study = Study(space, ["a", "b"], n_initial=1, seed=0)
    for mode, level, a, b in (("off", None, 1.0, 1.0), ("on", 2.0, 0.0, 9.0), ("on", 50.0, 9.0, 0.0)):
        study.add({"mode": mode, "level": level}, {"a": a, "b": b})
    view = slice_view(study, "a", "level")
    assert view.at["mode"] == "on"
    assert view.x.log
    assert len(view.measured) == 2
    both = slice_view(study, "a", "mode", "level", points=4)
    assert np.array(both.mean, dtype=float).shape == (4, 2)


def test_an_objective_that_was_not_measured_has_empty_slices_and_no_importance() -> None:
    study = Study({"x": (0.0, 1.0), "k": ["p", "q"]}, ["a", "b"], n_initial=2, seed=0)
    for x in (0.0, 0.3, 0.6, 0.9):
        study.add({"x": x, "k": "p"}, {"a": x})
    view = strict_json(slice_view(study, "b", "x", points=3))
    assert view["mean"] == [[None, None, None]]
    assert slice_view(study, "a", "x", points=3).mean[0][0] is not None
    shares = strict_json(importance_view(study))
    assert shares["main"]["b"] == shares["total"]["b"] == {"x": None, "k": None}
    assert shares["total"]["a"]["x"] > 0.9
    empty = Study({"x": (0.0, 1.0)}, ["a", "b"])
    assert strict_json(importance_view(empty))["total"] == {"a": {"x": None}, "b": {"x": None}}
    assert strict_json(slice_view(empty, "a", "x"))["measured"] == []


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (("jouls", "cores"), "objective 'jouls'.*'joules'"),
        (("joules", "core"), "option 'core'.*'cores'"),
        (("joules", "cores", "cores"), "both 'cores'"),
        (("joules", "cores", "k"), "option 'k'"),
    ],
)
def test_a_slice_that_cannot_be_is_refused(study: Study, arguments: tuple[str, ...], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        slice_view(study, *arguments)


def test_values_and_steps_that_cannot_be_are_refused(study: Study) -> None:
    with pytest.raises(InvalidValueError, match="Option 'cores' is 9"):
        slice_view(study, "joules", "cpu_ghz", at={"cores": 9})
    for points in (1, 201):
        with pytest.raises(InvalidValueError, match="points is"):
            slice_view(study, "joules", "cpu_ghz", points=points)
