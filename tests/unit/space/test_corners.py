"""Designs whose numbers are all at an end of their range."""

from __future__ import annotations

import numpy as np

from flexibo.space import Categorical, Integer, Ordinal, Real, Space


def test_corners_have_every_number_at_an_end_and_any_category() -> None:
    space = Space(
        {"rate": Real(1e-4, 1.0, log=True), "layers": (1, 9), "width": [8, 16, 32], "kind": ["a", "b", "c"]},
    )
    found = space.corners(400, np.random.default_rng(0))
    ends = {(rate, layers, width) for rate in (1e-4, 1.0) for layers in (1, 9) for width in (8, 32)}
    assert {(d["rate"], d["layers"], d["width"]) for d in found} == ends
    assert {d["kind"] for d in found} == {"a", "b", "c"}
    assert len(found) == len(set(found)) == 24
    assert space.is_corner(found).all()


def test_no_more_corners_are_drawn_than_wanted() -> None:
    space = Space({f"x{i}": (0.0, 1.0) for i in range(20)})
    assert len(space.corners(40, np.random.default_rng(0))) == 40


def test_corners_obey_rules_and_conditions() -> None:
    space = Space(
        {"layers": (1, 4), "dropout": (0.0, 0.5), "momentum": (0.1, 0.9)},
        conditions={"dropout": {"layers": [4]}},
        valid=lambda design: design["layers"] == 1 or design["momentum"] > 0.5,
    )
    found = space.corners(300, np.random.default_rng(0))
    assert {(d["layers"], d["momentum"]) for d in found} == {(1, 0.1), (1, 0.9), (4, 0.9)}
    assert all((d["dropout"] is None) == (d["layers"] == 1) for d in found)


def test_corners_are_those_of_the_legal_values_of_a_narrowed_space() -> None:
    space = Space({"cores": Integer(2, 4, known=(1, 6)), "clock": Ordinal([20, 30], known=[10, 20, 30, 40])})
    rng = np.random.default_rng(0)
    found = sum((space.corners(6, rng) for _ in range(20)), space.corners(6, rng))
    assert {(d["cores"], d["clock"]) for d in found} == {(2, 20), (2, 30), (4, 20), (4, 30)}
    assert space.is_corner(found).all()
    assert not space.is_corner(space.designs([{"cores": 3, "clock": 20}])).any()


def test_pools_and_spaces_without_numbers_have_no_corners(pool: Space) -> None:
    assert len(pool.corners(20, np.random.default_rng(0))) == 0
    kinds = Space({"kind": Categorical(["a", "b"]), "mode": ["x", "y", "z"]})
    assert len(kinds.corners(20, np.random.default_rng(0))) == 0


def test_a_design_with_a_number_inside_its_range_is_no_corner() -> None:
    space = Space({"x": (0.0, 1.0), "n": (1, 3), "kind": ["a", "b"]})
    designs = space.designs([{"x": 1.0, "n": 3, "kind": "a"}, {"x": 0.99, "n": 3, "kind": "a"}])
    assert space.is_corner(designs).tolist() == [True, False]
