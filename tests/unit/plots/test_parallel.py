"""Parallel coordinates."""

from __future__ import annotations

import itertools
from typing import Any

from tests.pictures import drawn

from flexibo import Study, plots
from flexibo.views import front_view


def test_the_scales_of_parallel_lines_tell_near_values_apart() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=2, seed=0)
    for x, size in ((0.1, 70792.0), (0.5, 70794.0), (0.9, 70800.0)):
        study.add({"x": x}, {"a": x, "b": size})
    words = [entry.get_text() for entry in plots.parallel(study).texts]
    assert {"70792", "70794", "70800"} <= set(words)


def test_parallel_lines_are_as_many_as_designs_and_ticks_do_not_overlap(study: Study) -> None:
    ax = plots.parallel(study)
    drawn(ax)
    lines = [line for line in ax.get_lines() if line.get_marker() not in ("None", None, "")]
    assert len(lines) == len(front_view(study).points)
    words = [entry for entry in ax.texts if entry.get_fontsize() < 8 and entry.get_text()]
    columns: dict[float, list[Any]] = {}
    for entry in words:
        columns.setdefault(entry.xy[0], []).append(entry.get_window_extent())
    for boxes in columns.values():
        ends = sorted((box.y0, box.y1) for box in boxes)
        assert all(one[1] <= other[0] + 1 for one, other in itertools.pairwise(ends))
