from __future__ import annotations

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import problem

from flexibo.experiments.landscape import contour_grid, unexplained


def test_a_plane_is_linear_and_a_bowl_is_not() -> None:
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij")
    assert unexplained(3 * x - y) == pytest.approx(0.0, abs=1e-12)
    assert unexplained((x - 2) ** 2) == pytest.approx(1.0)
    assert unexplained(np.ones((3, 3))) == 0.0
    grid = contour_grid(problem())
    assert grid is not None
    assert grid.names == ("cpu_ghz", "filters")
    assert grid.values[3, 5].tolist() == pytest.approx([grid.levels[0][3], grid.levels[1][5]])
