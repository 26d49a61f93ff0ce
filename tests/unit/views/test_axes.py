"""Axes: labels, directions, bounds and scales."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from flexibo import Objective, Study
from flexibo.views import choices_view, front_view, spending_view, trace_view
from flexibo.views.axes import axis_of

LINE = {"x": (0.0, 1.0)}


def added(objectives: list[Objective], rows: Mapping[float, dict[str, float]], **settings: Any) -> Study:
    study = Study(LINE, objectives, n_initial=1, seed=0, candidates=20, **settings)
    for x, values in rows.items():
        study.add({"x": x}, values)
    return study


def test_axes_carry_label_direction_bound_and_scale() -> None:
    objectives = [Objective("speed", "max", unit="1/s"), Objective("error"), Objective("ms", unit="ms", at_most=50)]
    study = added(
        objectives, {0.1: {"speed": 1.0, "error": 0.5, "ms": 10.0}, 0.9: {"speed": 100.0, "error": 0.4, "ms": 60.0}}
    )
    assert [axis.to_dict() for axis in front_view(study).axes] == [
        {"name": "speed", "unit": "1/s", "label": "speed [1/s]", "direction": "max", "optimise": True, "bound": None,
         "bound_side": None, "least": 0.0, "most": None, "log": True, "whole": True},
        {"name": "error", "unit": "", "label": "error", "direction": "min", "optimise": True, "bound": None,
         "bound_side": None, "least": 0.0, "most": None, "log": False, "whole": False},
        {"name": "ms", "unit": "ms", "label": "ms [ms]", "direction": "min", "optimise": False, "bound": 50.0,
         "bound_side": "at most", "least": 0.0, "most": None, "log": False, "whole": True},
    ]  # fmt: skip


def test_error_bars_end_at_impossible_values() -> None:
    axis = axis_of(Objective("accuracy", "max", lower=-1, upper=1), [-0.5, 0.9])
    assert axis.bar(0.9, 0.3) == (pytest.approx(0.6), 1.0)
    assert axis.bar(-0.9, 0.3) == (-1.0, pytest.approx(-0.6))
    assert axis_of(Objective("energy"), [1.0, None]).bar(1.0, 3.0) == (0.0, 4.0)
    assert axis_of(Objective("gain"), [-1.0, 2.0]).bar(1.0, 3.0) == (-2.0, 4.0)


def test_costs_are_labelled_as_seconds_only_if_flexibo_measured_them() -> None:
    measures: dict[str, Any] = {"cost": lambda design: (design["x"], 1.0), "cost [s]": lambda design: design["x"]}
    for label, measure in measures.items():
        study = Study({"x": [1, 2]}, ["a", "b"], seed=0)
        study.run({"a": measure, "b": measure})
        assert {view.cost_label for view in (front_view(study), spending_view(study), trace_view(study))} == {label}
        assert choices_view(study).cost_label == label


def test_an_axis_is_of_whole_numbers_if_only_such_were_measured() -> None:
    layers = Objective("layers")
    assert axis_of(layers, [1.0, 2.5], readings=[1.0, 4.0]).whole
    assert not axis_of(layers, [1.0, 4.0], readings=[1.0, 2.5]).whole
    assert axis_of(layers, [1.0, 4.0]).to_dict()["whole"]
