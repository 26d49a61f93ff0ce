"""The front of two objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.pictures import drawn, labels_of

from flexibo import Objective, Study, plots
from flexibo.plots.style import LOOKS
from flexibo.views import front_view


def test_the_front_shows_every_design_where_it_is(study: Study) -> None:
    ax = plots.front(study)
    view = front_view(study)
    for kind, look in LOOKS.items():
        points = [p for p in view.points if p.kind == kind]
        lines = [line for line in ax.get_lines() if line.get_label() == look.label]
        assert len(lines) == bool(points)
        if points:
            places = sorted((p.values["error"], p.values["joules"]) for p in points)
            assert sorted(map(tuple, lines[0].get_xydata().tolist())) == places
    assert labels_of(ax)[0] == "confirmed"


def test_a_predicted_value_has_an_error_bar(study: Study) -> None:
    half = [p for p in front_view(study).points if p.kind == "front-promising"]
    bars = [c for c in plots.front(study).containers if type(c).__name__ == "ErrorbarContainer"]
    assert len(bars) == len({name for p in half for name, deviation in p.deviations.items() if deviation > 0})


def test_a_design_with_one_value_only_is_marked_on_its_axis() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=1, seed=0)
    study.add({"x": 0.1}, {"a": 5.0})
    ax = plots.front(study)
    assert any("one objective" in label for label in labels_of(ax))
    low, high = ax.get_xlim()
    assert low < 5.0 < high


def spread_out(count: int) -> Study:
    """A study of as many objectives, whose values span six powers of ten; some of the best are predicted."""
    names = [Objective(name) for name in "abcd"[:count]]
    study = Study({"x": (0.0, 1.0)}, names, n_initial=2, seed=0, candidates=20)
    for i in range(9):
        values = {"a": 10.0 ** (i - 3), "b": 70790.0 - i, "c": 10.0 ** (4 - i), "d": float(i)}
        known = list("abcd"[:count])[: 1 if i % 4 == 0 else None]
        study.add({"x": i / 8}, {name: values[name] for name in known})
    return study


@pytest.mark.parametrize(("count", "draw"), [(2, plots.front), (4, plots.pairs)])
def test_no_marker_is_cut(count: int, draw: Callable[[Study], Any]) -> None:
    figure = drawn(draw(spread_out(count)))
    seen = 0
    for ax in figure.axes:
        box = ax.get_window_extent()
        for line in ax.get_lines():
            if str(line.get_label()) not in {look.label for look in LOOKS.values()}:
                continue
            radius = line.get_markersize() * figure.dpi / 144
            for x, y in ax.transData.transform(line.get_xydata()):
                if line.get_label() == LOOKS["half"].label and not box.expanded(1.1, 1.1).contains(x, y):
                    continue  # a dominated design that is far from all others
                assert box.x0 + radius < x < box.x1 - radius
                assert box.y0 + radius < y < box.y1 - radius
                seen += 1
    assert seen >= 9


def test_the_knee_has_a_ring() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=1, seed=0)
    for x, a, b in ((0.0, 0.0, 10.0), (0.5, 1.0, 2.0), (1.0, 10.0, 0.0)):
        study.add({"x": x}, {"a": a, "b": b})
    (ring,) = [line for line in plots.front(study).get_lines() if str(line.get_label()).startswith("knee")]
    assert ring.get_xydata().tolist() == [[1.0, 2.0]]
