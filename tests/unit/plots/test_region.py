"""The front and the Pareto region of two objectives, as they are drawn."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flexibo import Design, Objective, Space, Study, plots
from flexibo.errors import InvalidValueError
from flexibo.plots._front import shade
from flexibo.plots.style import new_axes

Functions = Mapping[str, Callable[[Design], Any]]


LIMITED = [Objective("a"), Objective("b"), Objective("ms", at_most=50.0), Objective("kg", at_most=3.0)]


LINE = Space({"x": (0.0, 1.0)})
USUAL, SMALL = (7.0, 4.6), (3.6, 2.6)
"""Sizes of a figure, in inches."""


def study_of(objectives: list[Objective], rows: list[dict[str, float]], **settings: Any) -> Study:
    study = Study(LINE, objectives, n_initial=1, seed=0, candidates=20, **settings)
    for i, values in enumerate(rows):
        study.add({"x": i / len(rows)}, values)
    return study


def labels_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_picture_tells_measured_from_predicted(make_study: Callable[..., Study], functions: Functions) -> None:
    study = make_study(budget=110, n_initial=5, candidates=50)
    study.run(functions)
    ax = plots.front(study)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "Pareto region" in labels
    assert "confirmed" in labels
    assert ax.get_xlabel().startswith("error (lower ")
    assert ax.get_ylabel().startswith("joules [J] (lower ")


def test_a_maximised_objective_is_drawn_in_its_own_direction(space: Space, tmp_path: Path) -> None:
    study = Study(space, [Objective("speed", "max"), Objective("score", "max")], budget=16, n_initial=4, seed=0)
    study.run(
        {
            "speed": lambda d: (float(d["cpu_ghz"]), 1.0),
            "score": lambda d: (5.0 - float(d["cpu_ghz"]) + float(d["cores"]), 1.0),
        }
    )
    ax = plots.front(study)
    assert ax.get_xlabel().startswith("speed (higher ")
    ax.figure.savefig(tmp_path / "front.png")
    region = study.region()
    assert (region.optimistic.max(axis=0) >= region.pessimistic.max(axis=0)).all()


def test_designs_that_violate_are_drawn_as_such_and_the_bound_is_named() -> None:
    rows = [{"a": 1.0, "b": 2.0, "ms": 90.0, "kg": 1.0}, {"a": 2.0, "b": 1.0, "ms": 80.0, "kg": 1.0}]
    study = study_of(LIMITED, rows)
    assert {row.feasibility for row in study.front()} == {"violating"}
    labels = labels_of(plots.front(study))
    assert any(label.startswith("front, violates ") for label in labels)
    assert any(re.fullmatch("measured, violates ms .* 50", label) for label in labels)
    assert not any("feasible" in label for label in labels)
    rows[0]["kg"] = 4.0
    labels = labels_of(plots.front(study_of(LIMITED, rows)))
    assert any(re.fullmatch("measured, violates ms .* 50 .*kg .* 3", label) for label in labels)


@pytest.mark.parametrize("directions", [("min", "min"), ("max", "min"), ("min", "max"), ("max", "max")])
def test_a_region_without_area_is_not_in_the_legend(directions: tuple[Any, Any]) -> None:
    study = study_of([Objective("a", directions[0]), Objective("b", directions[1])], [{"a": 1.0, "b": 1.0}])
    region = study.region()
    corner, far = region.pessimistic[:1], region.reference

    def drawn(optimistic: Any, pessimistic: Any) -> list[str]:
        ax = new_axes()
        shade(ax, optimistic, pessimistic, far, study.objectives)
        return ax.get_legend_handles_labels()[1]

    better = corner - (far - corner)
    none = corner[:0]
    assert drawn(none, none) == []
    assert drawn(corner, corner) == []
    assert drawn(better, corner) == ["Pareto region"]
    assert drawn(corner, none) == ["Pareto region"]


@pytest.mark.parametrize(
    ("span", "least", "size"),
    [
        (16.0, 0.00012, SMALL),
        (29.0, 41000.0, SMALL),
        (60.0, 0.7, SMALL),
        (99.0, 0.00012, SMALL),
        (16.0, 0.7, USUAL),
        (99.0, 41000.0, USUAL),
    ],
)
def test_a_short_logarithmic_axis_has_plain_numbers_that_do_not_overlap(
    span: float, least: float, size: tuple[float, float]
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    middle = least * span**0.5
    rows = [{"a": least, "b": least * span}, {"a": middle, "b": middle}, {"a": least * span, "b": least}]
    figure = Figure(figsize=size, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    ax = plots.front(study_of([Objective("a"), Objective("b")], rows), figure.add_subplot())
    canvas.draw()
    for axis, (low, high), side in ((ax.xaxis, ax.get_xlim(), "x"), (ax.yaxis, ax.get_ylim(), "y")):
        ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        assert 2 <= len(ticks) <= 6
        assert [float(tick.label1.get_text()) for tick in ticks] == pytest.approx([tick.get_loc() for tick in ticks])
        assert not any(tick.label1.get_text() for tick in axis.get_minor_ticks())
        boxes = [tick.label1.get_window_extent() for tick in ticks]
        ends = [(box.x0, box.x1) if side == "x" else (box.y0, box.y1) for box in boxes]
        assert all(one[1] < other[0] for one, other in itertools.pairwise(ends))


def test_three_objectives_are_refused_in_a_sentence(space: Space) -> None:
    with pytest.raises(InvalidValueError, match="two objectives"):
        plots.front(Study(space, ["a", "b", "c"]))


def test_a_study_without_measurements_has_no_region(make_study: Callable[..., Study]) -> None:
    with pytest.raises(InvalidValueError, match="no Pareto region"):
        make_study().region()
