from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from flexibo import Design, Space
from flexibo.space import Designs, Integer, Real
from flexibo.space.filling import codes_at, filling, spread


def first(space: Space, count: int) -> list[Design]:
    blocks = filling(space, np.random.default_rng(0))
    return list(islice((design for block in blocks for design in block), count))


def test_every_design_of_a_finite_space_comes_once() -> None:
    space = Space({"x": (1, 20), "kind": ["a", "b"]})
    assert sorted(first(space, 100), key=str) == sorted(space.enumerate(), key=str)


def test_conditions_and_rules_hold() -> None:
    space = Space(
        {"kind": ["a", "b"], "x": (0.0, 1.0), "y": (0.0, 1.0)},
        conditions={"y": {"kind": ["a"]}},
        valid=lambda design: design["x"] < 0.5,
    )
    designs = first(space, 40)
    assert len(set(designs)) == 40
    assert all(design["x"] < 0.5 and (design["y"] is None) == (design["kind"] == "b") for design in designs)


def test_a_place_on_the_scale_of_an_option_is_one_of_its_values() -> None:
    u = np.array([0.0, 0.5, 0.999])
    assert codes_at(Real(1.0, 100.0, log=True), u)[1] == pytest.approx(10.0)
    assert codes_at(Integer(1, 3), u).tolist() == [1.0, 2.0, 3.0]


def line(*values: float) -> Designs:
    return Space({"x": (0.0, 1.0)}).designs([{"x": value} for value in values])


def test_the_design_nearest_to_the_middle_comes_first_and_then_always_the_farthest() -> None:
    # The mean is 0.46. From 0.4, 1.0 is farthest; then 0.0 (0.4 away), then 0.7 (0.3 away), then 0.2.
    assert [design["x"] for design in spread(line(0.0, 0.2, 0.4, 0.7, 1.0))] == [0.4, 1.0, 0.0, 0.7, 0.2]


def test_designs_that_are_equally_far_stay_in_their_order() -> None:
    assert [design["x"] for design in spread(line(0.5, 0.0, 1.0))] == [0.5, 0.0, 1.0]
    assert len(spread(line())) == 0
