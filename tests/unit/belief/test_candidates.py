from __future__ import annotations

import numpy as np

from flexibo import Ordinal, Space
from flexibo.belief.candidates import candidates, initial_designs


def test_initial_designs_depend_on_the_seed_alone(space: Space) -> None:
    assert initial_designs(space, 8, 3) == initial_designs(space, 8, 3)
    assert initial_designs(space, 8, 3) != initial_designs(space, 8, 4)
    assert len(set(initial_designs(space, 8, 3))) == 8


def test_a_small_space_is_considered_whole() -> None:
    space = Space({"x": [1, 2, 3], "y": ["a", "b"]})
    known = space.designs([{"x": 2, "y": "b"}])
    everything = candidates(space, 100, known, np.random.default_rng(0))
    assert len(everything) == 6
    assert everything[0] == known[0]


def test_designs_asked_before_are_always_candidates(space: Space) -> None:
    known = space.sample(15, np.random.default_rng(1))
    drawn = candidates(space, 50, known, np.random.default_rng(2))
    assert set(known) <= set(drawn)
    assert len(drawn) == len(set(drawn)) >= 60


def test_neighbours_of_parents_are_half_of_the_draw_at_most(space: Space) -> None:
    parents = space.sample(3, np.random.default_rng(1))
    drawn = candidates(space, 40, parents[:0], np.random.default_rng(2), parents=parents)
    differing = [min(sum(d[k] != p[k] for k in space.names) for p in parents) for d in drawn]
    assert 10 <= sum(number == 1 for number in differing) <= 25
    assert len(drawn) == 40


def test_random_steps_are_half_of_what_is_near_the_parents(space: Space) -> None:
    parents = space.sample(3, np.random.default_rng(1))
    without = candidates(space, 400, parents[:0], np.random.default_rng(2), parents=parents)
    stepped = candidates(space, 400, parents[:0], np.random.default_rng(2), parents=parents, steps=True)
    near = [space.steps_away(parents, 100, np.random.default_rng(2)), without]
    assert {*near[0]} <= {*stepped}
    assert not {*near[0]} <= {*without}
    assert len(stepped) == len({*stepped}) == 400


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


def test_a_pool_has_no_random_steps(space: Space) -> None:
    pool = Space.from_designs([{"x": float(x), "y": y} for x in range(50) for y in "abcdef"])
    parents = pool.sample(3, np.random.default_rng(1))
    assert len(pool.steps_away(parents, 100, np.random.default_rng(2))) == 0
    assert len(candidates(pool, 40, parents, np.random.default_rng(2), parents=parents, steps=True)) >= 40
