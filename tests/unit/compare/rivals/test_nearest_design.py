from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from flexibo import Space
from flexibo.compare.rivals import nearest_design as nearest
from flexibo.compare.rivals.nearest_design import key_filter, nearest_new
from flexibo.errors import InvalidValueError
from flexibo.space import Categorical, Design, Designs, Integer, Ordinal, Real, designs


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def keys(designs: Designs) -> set[int]:
    return set(designs.keys().tolist())


GRID = Space({"a": [1, 2, 4, 8, 16], "kind": ["x", "y", "z"], "c": (0, 9)})
POOL = Space.from_designs(
    [{"a": a, "b": b, "kind": kind} for a in range(9) for b in range(9) for kind in "xyz" if (a + 2 * b) % 3]
)


def by_hand(space: Space, wanted: Design, taken: set[int]) -> Design | None:
    """The first design with the smallest distance, looked for one by one."""
    target = space.decode(Space(space.options).designs([wanted]).encoded()).encoded()[0]
    best, found = np.inf, None
    for design in space.enumerate():
        row = space.designs([design])
        away = float(((row.encoded()[0] - target) ** 2).sum())
        if int(row.keys()[0]) not in taken and away < best - 1e-12:
            best, found = away, design
    return found


def test_a_legal_design_that_is_not_taken_is_itself() -> None:
    wanted = {"a": 4, "kind": "y", "c": 7}
    assert nearest_new(GRID, wanted, set(), rng()) == wanted


@pytest.mark.parametrize("space", [GRID, POOL])
def test_the_nearest_is_the_one_found_by_hand(space: Space) -> None:
    draws = np.random.default_rng(3)
    product = Space(space.options)
    for _ in range(8):
        taken = keys(space.sample(int(draws.integers(1, space.size)), draws))
        wanted = product.sample(1, draws)[0]
        assert nearest_new(space, wanted, taken, draws) == by_hand(space, wanted, taken)


def test_ties_go_to_the_first_design() -> None:
    space = Space.from_designs([{"a": 1.0}, {"a": 3.0}, {"a": 2.0}])
    middle = keys(space.designs([{"a": 2.0}]))
    assert nearest_new(space, {"a": 2.0}, middle, rng()) == {"a": 1.0}
    other = Space.from_designs([{"a": 3.0}, {"a": 1.0}, {"a": 2.0}])
    assert nearest_new(other, {"a": 2.0}, middle, rng()) == {"a": 3.0}


def test_taken_may_be_an_array_of_keys() -> None:
    wanted = {"a": 4, "kind": "y", "c": 7}
    taken = GRID.designs([wanted, {"a": 4, "kind": "y", "c": 6}]).keys()
    assert nearest_new(GRID, wanted, taken, rng()) == {"a": 4, "kind": "y", "c": 8}


@pytest.mark.parametrize("space", [GRID, POOL])
def test_nothing_is_found_when_every_design_is_taken(space: Space) -> None:
    every = space.enumerate()
    assert nearest_new(space, every[0], keys(every), rng()) is None
    last = every[len(every) - 1]
    assert nearest_new(space, every[0], keys(every[:-1]), rng()) == last


@pytest.mark.parametrize(
    ("option", "given", "moved"),
    [
        (Ordinal([0.1, 0.3, 0.9]), 0.30000001, 0.3),
        (Ordinal([0.1, 0.3, 0.9]), 5.0, 0.9),
        (Categorical([16, 32]), 30.0, 32),
        (Integer(1, 6), 9, 6),
        (Integer(1, 6), 2.4, 2),
        (Integer(1, 6), np.int64(-3), 1),
        (Real(0.0, 1.0), 1.0000001, 1.0),
        (Real(0.0, 1.0), float("-inf"), 0.0),
    ],
)
def test_a_value_that_is_not_legal_is_moved_to_the_nearest_that_is(
    option: object, given: object, moved: object
) -> None:
    space = Space({"a": option, "b": [1, 2]})
    assert nearest_new(space, {"a": given, "b": 2}, set(), rng()) == {"a": moved, "b": 2}


@pytest.mark.parametrize("value", ["w", float("nan"), None])
def test_a_value_that_is_near_to_none_is_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match="Option 'kind'"):
        nearest_new(GRID, {"a": 4, "kind": "w", "c": 7}, set(), rng())
    with pytest.raises(InvalidValueError, match="Option 'c'"):
        nearest_new(GRID, {"a": 4, "kind": "x", "c": value}, set(), rng())


def test_a_missing_option_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="Option 'c'"):
        nearest_new(GRID, {"a": 4, "kind": "x"}, set(), rng())


def test_a_rule_is_kept() -> None:
    space = Space({"a": (0, 9), "b": (0, 9)}, valid=lambda d: d["a"] + d["b"] >= 10)
    found = nearest_new(space, {"a": 4, "b": 5}, set(), rng())
    assert found in ({"a": 4, "b": 6}, {"a": 5, "b": 5})
    assert found == by_hand(space, space.decode(np.array([[4 / 9, 5 / 9]]))[0], set())


LARGE = Space({f"o{i}": [1, 2, 3, 4] for i in range(20)})
MIXED = Space({"x": (0.0, 1.0), "n": (1, 1000), "kind": ["a", "b"]}, valid=lambda d: d["n"] > 10)


def test_in_a_large_space_the_nearest_neighbour_is_found() -> None:
    wanted = dict.fromkeys(LARGE.names, 2)
    taken = keys(LARGE.designs([wanted]))
    found = nearest_new(LARGE, wanted, taken, rng())
    assert found is not None
    assert sorted(abs(found[name] - 2) for name in LARGE.names) == [0] * 19 + [1]


def test_in_a_large_space_farther_steps_follow_when_all_neighbours_are_taken() -> None:
    wanted = LARGE.design(dict.fromkeys(LARGE.names, 1))
    taken = keys(LARGE.designs([wanted]) + LARGE.neighbours(wanted, rng(), steps=1))
    found = nearest_new(LARGE, wanted, taken, rng())
    assert found is not None
    assert sorted(found[name] for name in LARGE.names) == [1] * 19 + [3]
    taken |= keys(LARGE.neighbours(wanted, rng(), steps=3))
    found = nearest_new(LARGE, wanted, taken, rng())
    assert found is not None
    assert keys(LARGE.designs([found])).isdisjoint(taken)


def test_in_a_continuous_space_a_close_design_is_found_that_is_legal_and_new() -> None:
    wanted = MIXED.design({"x": 0.5, "n": 500, "kind": "a"})
    taken = keys(MIXED.designs([wanted]))
    found = nearest_new(MIXED, wanted, taken, rng())
    assert found is not None
    assert found in MIXED
    assert found != wanted
    assert np.linalg.norm(MIXED.designs([found]).encoded()[0] - MIXED.designs([wanted]).encoded()[0]) < 0.02
    forbidden = nearest_new(MIXED, {"x": 0.5, "n": 3, "kind": "a"}, set(), rng())
    assert forbidden is not None
    assert forbidden in MIXED


def test_conditions_are_settled() -> None:
    space = Space(
        {"optimiser": ["sgd", "adam"], "momentum": [0.0, 0.5, 0.9]}, conditions={"momentum": {"optimiser": ["sgd"]}}
    )
    inactive = {"optimiser": "adam", "momentum": None}
    assert nearest_new(space, {"optimiser": "adam", "momentum": 0.5}, set(), rng()) == inactive
    assert nearest_new(space, inactive, set(), rng()) == inactive
    drawn = nearest_new(space, {"optimiser": "sgd", "momentum": None}, set(), rng())
    assert drawn is not None
    assert drawn in space


def test_a_pool_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = np.indices((5,) * 6).reshape(6, -1)
    space = Space.from_designs({f"o{i}": [f"v{j}" for j in column] for i, column in enumerate(digits.tolist())})
    assert space.enumerate().encoded().shape == (15_625, 30)
    wanted = space.enumerate()[7000]
    taken = keys(space.enumerate()[6900:7100])
    nearest._listing.cache_clear()
    expected = nearest_new(space, wanted, taken, rng())
    monkeypatch.setattr(designs, "keys_of", _fail_on_many(designs.keys_of, place=1))
    monkeypatch.setattr(Designs, "encoded", _fail_on_many(Designs.encoded, place=0))
    started = time.process_time()
    assert nearest_new(space, wanted, taken, rng()) == expected
    assert time.process_time() - started < 0.5


def _fail_on_many(method, place):  # type: ignore[no-untyped-def]
    def checked(*given: Any) -> object:
        assert len(given[place]) < 1000, "every design was encoded again"
        return method(*given)

    return checked


@pytest.mark.parametrize("space", [GRID, LARGE], ids=["listed", "large"])
def test_designs_may_be_taken_by_some_of_their_options(space: Space) -> None:
    wanted = space.sample(1, rng())[0]
    name = space.names[0]
    taken = set(space.designs([wanted]).keys([name]).tolist())
    found = nearest_new(space, wanted, key_filter(taken, [name]), rng())
    assert found is not None
    assert [option for option in space.names if found[option] != wanted[option]] == [name]
