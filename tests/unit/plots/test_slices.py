"""Predictions along options."""

from __future__ import annotations

import pytest

from flexibo import Study, plots
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.views import slice_view


def test_a_slice_is_drawn_as_it_is(study: Study) -> None:
    view = slice_view(study, "joules", "cpu_ghz")
    (ax,) = plots.slices(study, "joules", "cpu_ghz").ravel()
    assert ax.get_lines()[0].get_ydata().tolist() == pytest.approx(list(view.mean[0]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cpu_ghz", "joules [J]")
    grid = plots.slices(study, "joules")
    assert grid.shape == (3, 3)
    assert grid[0, 1] is None
    assert {grid[2, i].get_xlabel() for i in range(3)} <= set(study.space.names)
    with pytest.raises(InvalidValueError, match="needs the option x"):
        plots.slices(study, "joules", y="cores")
    with pytest.raises(UnknownNameError, match=r"'jouls'.*'joules'"):
        plots.slices(study, "jouls")
