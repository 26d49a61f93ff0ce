"""The designs next to a design."""

from __future__ import annotations

import numpy as np
from tests.unit.space.small_designs import GOOD, ROWS

from flexibo.space import Integer, Ordinal, Real, Space


def test_neighbours_change_categories_to_anything_and_ranks_by_one() -> None:
    space = Space({"k": ["a", "b", "c"], "f": [1, 2, 4, 8], "n": (1, 9)})
    around = space.neighbours(space.design({"k": "b", "f": 2, "n": 9}), np.random.default_rng(0))
    expected = [("a", 2, 9), ("c", 2, 9), ("b", 1, 9), ("b", 4, 9), ("b", 2, 8)]
    assert {tuple(design.values()) for design in around} == set(expected)
    assert len(around) == len(expected)


def test_neighbours_can_be_more_steps_away() -> None:
    space = Space({"f": [1, 2, 4, 8], "n": (1, 9)})
    around = space.neighbours(space.design({"f": 1, "n": 9}), np.random.default_rng(0), steps=2)
    assert {tuple(design.values()) for design in around} == {(2, 9), (4, 9), (1, 8), (1, 7)}


def test_intervals_are_perturbed_on_their_scale() -> None:
    space = Space({"x": Real(1e-6, 1.0, log=True), "n": Integer(1, 10**6, log=True)})
    design = space.design({"x": 1e-3, "n": 1000})
    around = space.neighbours(design, np.random.default_rng(0), draws=500)
    changes = around.encoded() - space.designs([design]).encoded()
    for column in changes.T:
        moved = column[np.abs(column) > 1e-3]
        assert 400 < len(moved) < 600
        assert 0.08 < moved.std() < 0.12


def test_neighbours_are_the_same_for_the_same_seed(space: Space) -> None:
    design = space.design(GOOD)
    first, second = (space.neighbours(design, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.codes, second.codes)


def test_a_changed_parent_switches_its_children(training: Space) -> None:
    adam = training.design({"optimiser": "adam", "schedule": "step"})
    around = list(training.neighbours(adam, np.random.default_rng(0)))
    assert {design["optimiser"] for design in around} == {"sgd", "rms", "adam"}
    sgd = next(design for design in around if design["optimiser"] == "sgd")
    assert sgd["momentum"] is not None
    assert sgd["drop"] in (2, 3, 4)
    assert adam not in around


def test_neighbours_obey_the_rule() -> None:
    space = Space({"a": [1, 2, 3], "b": [1, 2, 3]}, valid=lambda design: design["a"] <= design["b"])
    around = space.neighbours(space.design({"a": 2, "b": 2}), np.random.default_rng(0))
    assert {tuple(design.values()) for design in around} == {(1, 2), (2, 3)}


def test_the_only_design_has_no_neighbours() -> None:
    space = Space({"a": [1], "b": (2, 2)})
    assert len(space.neighbours(space.enumerate()[0], np.random.default_rng(0))) == 0


def test_neighbours_are_the_members_that_differ_least() -> None:
    every = Space({name: [0, 1, 2, 3] for name in "abcd"}).enumerate()
    pool = Space.from_designs(list(every))
    start = pool.design({"a": 0, "b": 1, "c": 2, "d": 3})
    around = pool.neighbours(start, np.random.default_rng(0))
    differing = [sum(design[name] != start[name] for name in "abcd") for design in around]
    assert differing == [1] * 12 + [2] * 8
    assert len(set(around)) == 20


def test_a_small_pool_has_fewer_neighbours(pool: Space) -> None:
    around = list(pool.neighbours(pool.design(ROWS[0]), np.random.default_rng(0)))
    assert set(around) == set(pool.enumerate()) - {pool.design(ROWS[0])}
    alone = Space.from_designs(ROWS[:1])
    assert len(alone.neighbours(alone.design(ROWS[0]), np.random.default_rng(0))) == 0


def test_random_steps_are_small_and_large_and_change_one_option_or_many() -> None:
    space = Space({f"x{i}": (0.0, 1.0) for i in range(8)})
    parent = space.designs([{f"x{i}": 0.5 for i in range(8)}])
    moves = np.abs(space.steps_away(parent, 2000, np.random.default_rng(0)).encoded() - 0.5)
    farthest, changed = moves.max(axis=1), (moves > 0).sum(axis=1)
    assert (np.quantile(farthest, [0.1, 0.9]) / np.array([0.004, 0.25]) < 1.0).all()
    assert farthest.max() > 0.2
    assert (changed == 1).mean() > 0.1
    assert (changed >= 6).mean() > 0.1
    assert changed.min() == 1


def test_random_steps_reach_another_value_of_every_kind_of_option() -> None:
    space = Space({"kind": ["a", "b", "c"], "width": Ordinal([8, 16, 32]), "cores": (1, 40), "only": ["one"]})
    parent = space.designs([{"kind": "b", "width": 16, "cores": 20, "only": "one"}])
    around = space.steps_away(parent, 500, np.random.default_rng(0))
    assert {design["kind"] for design in around} == {"a", "b", "c"}
    assert {design["width"] for design in around} == {8, 16, 32}
    assert {19, 20, 21} < {design["cores"] for design in around}


def test_a_random_step_that_is_too_small_goes_to_the_next_value() -> None:
    space = Space({"cores": (1, 40)})
    around = space.steps_away(space.designs([{"cores": 20}]), 300, np.random.default_rng(0))
    cores = [design["cores"] for design in around]
    assert 20 not in cores
    assert 100 < cores.count(19) + cores.count(21) < 300


def test_random_steps_stay_legal_and_switch_dependent_options() -> None:
    space = Space(
        {"kind": ["plain", "deep"], "depth": (1, 9), "x": (0.0, 1.0)},
        conditions={"depth": {"kind": "deep"}},
        valid=lambda design: design["x"] <= 0.5,
    )
    parents = space.designs([{"kind": "plain", "x": 0.45}, {"kind": "deep", "depth": 3, "x": 0.1}])
    around = space.steps_away(parents, 300, np.random.default_rng(0))
    assert 100 < len(around) < 300
    assert all(design["x"] <= 0.5 for design in around)
    assert all(("depth" in design and design["depth"] is not None) == (design["kind"] == "deep") for design in around)


def test_a_pool_and_no_parents_have_no_random_steps(pool: Space, space: Space) -> None:
    rng = np.random.default_rng(0)
    assert len(pool.steps_away(pool.enumerate(), 100, rng)) == 0
    assert len(space.steps_away(space.designs([]), 100, rng)) == 0
