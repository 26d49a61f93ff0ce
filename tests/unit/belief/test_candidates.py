from __future__ import annotations

import numpy as np
import pytest

from flexibo import Space, Study
from flexibo.belief.candidates import around, candidates, corners_are_worth_it, filling_designs, initial_designs
from flexibo.errors import InvalidValueError


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


def test_designs_around_parents_are_near_them_and_not_too_many(space: Space) -> None:
    parents = space.sample(3, np.random.default_rng(1))
    near = around(space, 40, parents, np.random.default_rng(2))
    assert 10 <= len(near) <= 40
    assert len(near) == len(set(near))
    pool = Space.from_designs(list(space.sample(100, np.random.default_rng(3))))
    assert set(around(pool, 40, pool.designs([*pool.enumerate()][:2]), np.random.default_rng(4))) <= set(
        pool.enumerate()
    )


def test_a_pool_has_no_random_steps(space: Space) -> None:
    pool = Space.from_designs([{"x": float(x), "y": y} for x in range(50) for y in "abcdef"])
    parents = pool.sample(3, np.random.default_rng(1))
    assert len(pool.steps_away(parents, 100, np.random.default_rng(2))) == 0
    assert len(candidates(pool, 40, parents, np.random.default_rng(2), parents=parents, steps=True)) >= 40


def test_a_few_candidates_are_corners_if_they_are_asked_for(space: Space) -> None:
    parents = space.sample(3, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    drawn = candidates(space, 400, parents[:0], rng, parents=parents, steps=True, corners=True)
    assert len(drawn) == 400
    assert 12 <= space.is_corner(drawn).sum() <= 60
    assert {*space.steps_away(parents, 100, np.random.default_rng(2))} <= {*drawn}


def test_corners_are_worth_it_until_three_more_missed_the_front_than_are_on_it() -> None:
    study = Study(Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}), ["error", "joules"], budget=100)

    def told(x: float, y: float, error: float, joules: float) -> bool:
        study.add({"x": x, "y": y}, {"error": error, "joules": joules})
        return corners_are_worth_it(study.history)

    assert told(0.5, 0.5, 0.5, 0.5)
    assert told(0.0, 0.0, 0.9, 0.9)
    assert told(0.0, 1.0, 0.9, 0.9)
    assert told(0.3, 1.0, 0.9, 0.9)  # no corner
    assert not told(1.0, 0.0, 0.9, 0.9)
    assert told(1.0, 1.0, 0.1, 0.1)


def test_a_pool_has_no_corners_worth_drawing() -> None:
    study = Study(Space.from_designs([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}]), ["error", "joules"], budget=100)
    assert not corners_are_worth_it(study.history)


def test_corners_of_which_something_is_missing_do_not_count() -> None:
    study = Study(Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}), ["error", "joules"], budget=100)
    study.add({"x": 0.5, "y": 0.5}, {"error": 0.5, "joules": 0.5})
    for x, y in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):
        study.add({"x": x, "y": y}, {"joules": 0.9})
    assert corners_are_worth_it(study.history)


def test_filling_designs_depend_on_the_seed_alone_and_the_first_few_are_far_apart() -> None:
    square = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    designs = filling_designs(square, 16, 3)
    assert designs == filling_designs(square, 16, 3) != filling_designs(square, 16, 4)
    X = square.designs(designs).encoded()
    away = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)) + np.eye(16)
    assert away[:4, :4].min() > 0.4 > 2 * away.min()
    assert sorted((X[:, 0] * 4).astype(int)) == sorted(list(range(4)) * 4)


def test_a_rule_that_forbids_everything_is_an_error_and_a_small_pool_is_taken_whole() -> None:
    with pytest.raises(InvalidValueError, match="rule"):
        filling_designs(Space({"x": [1, 2, 3]}, valid=lambda design: False), 4, 0)
    pool = Space.from_designs([{"x": 1}, {"x": 5}, {"x": 2}])
    assert {design["x"] for design in filling_designs(pool, 20, 0)} == {1, 5, 2}
