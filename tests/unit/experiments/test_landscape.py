from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import problem

from flexibo import Space
from flexibo.experiments.landscape import N_RANDOM, contour_grid, logarithmic, random_values, unexplained
from flexibo.space import Designs


def test_a_plane_is_linear_and_a_bowl_is_not() -> None:
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij")
    assert unexplained(3 * x - y) == pytest.approx(0.0, abs=1e-12)
    assert unexplained((x - 2) ** 2) == pytest.approx(1.0)
    assert unexplained(np.ones((3, 3))) == 0.0
    grid = contour_grid(problem())
    assert grid is not None
    assert grid.names == ("cpu_ghz", "filters")
    assert grid.values[3, 5].tolist() == pytest.approx([grid.levels[0][3], grid.levels[1][5]])


def test_contours_need_a_cpu_frequency_and_filters_and_no_pool() -> None:
    space = Space({"cpu_freq": [1.0, 2.0], "filters_1": (1, 3), "cores": [2, 1, 8], "kind": ["a", "b", "c"]})
    own = replace(problem(), space=space, values=lambda designs: np.asarray(designs.codes[:, :2]))
    grid = contour_grid(own)
    assert grid is not None
    assert grid.names == ("cpu_freq", "filters_1")
    assert grid.levels == ((1.0, 2.0), (1, 2, 3))
    assert grid.values.shape == (2, 3, 2)
    assert contour_grid(replace(own, space=Space({"cpu_freq": [1.0, 2.0], "cores": [1, 2]}))) is None
    pool = Space.from_designs([{"cpu_freq": 1.0, "filters": 2}, {"cpu_freq": 2.0, "filters": 1}])
    assert contour_grid(replace(own, space=pool)) is None


def test_the_other_options_are_in_the_middle_of_their_ranges() -> None:
    space = Space({"cpu_ghz": (0.0, 1.0), "filters": (0.0, 1.0), "cores": [1, 2, 4], "share": (0.0, 1.0)})
    seen: list[set[object]] = []

    def values(designs: Designs) -> np.ndarray:
        seen.append({(design["cores"], design["share"]) for design in designs})
        return np.zeros((len(designs), 2))

    contour_grid(replace(problem(), space=space, values=values))
    assert seen == [{(2, 0.5)}]


def test_wide_positive_values_are_drawn_on_a_logarithmic_scale() -> None:
    def scales(low: float, high: float) -> tuple[bool, ...]:
        own = replace(problem(), values=lambda designs: low + (high - low) * np.asarray(designs.codes))
        return logarithmic(replace(own, front=np.array([[low, high], [high, low]])))

    assert scales(1.0, 10.0) == (False, False)
    assert scales(1.0, 20.0) == (True, True)
    assert scales(-1.0, 20.0) == (False, False)


def test_random_values_are_always_the_same() -> None:
    assert (random_values(problem()) == random_values(problem())).all()
    assert len(random_values(problem())) == N_RANDOM
