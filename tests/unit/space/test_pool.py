"""Pools: spaces whose only legal designs are listed in a table."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from tests.unit.space.small_designs import ROWS

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.space import Categorical, Ordinal, Space


def test_options_are_inferred_from_the_values(pool: Space) -> None:
    assert dict(pool.options) == {
        "cores": Ordinal([1, 2, 4]),
        "kernel": Categorical(["a", "b"]),
        "gpu": Categorical([False, True]),
    }


def test_a_column_of_mixed_types_is_unordered() -> None:
    space = Space.from_designs({"x": ["auto", 2, 1, 0.5]})
    assert space.options["x"] == Categorical([0.5, 1, 2, "auto"])


def test_repeated_rows_count_once(pool: Space) -> None:
    assert pool.size == 3
    assert list(pool.enumerate()) == ROWS[:3]


def test_a_pool_can_be_read_from_columns(pool: Space) -> None:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    assert Space.from_designs(columns) == pool
    assert Space.from_designs({name: np.array(column) for name, column in columns.items()}) == pool


def test_a_pool_can_be_read_from_a_data_frame(pool: Space) -> None:
    pandas = pytest.importorskip("pandas")
    assert Space.from_designs(pandas.DataFrame(ROWS)) == pool


def test_a_pool_can_be_read_from_designs(pool: Space) -> None:
    assert Space.from_designs(pool.enumerate()) == pool


def test_values_of_a_pool_are_plain() -> None:
    space = Space.from_designs({"x": np.array([1, 2]), "y": np.array([0.5, 1.5])})
    assert [type(value) for value in space.enumerate()[0].values()] == [int, float]


def test_only_members_are_legal(pool: Space) -> None:
    assert ROWS[0] in pool
    assert {"cores": 1, "kernel": "b", "gpu": True} not in pool
    with pytest.raises(InvalidValueError, match=r"Design\(cores=1, kernel='b', gpu=True\).*3 designs"):
        pool.design({"cores": 1, "kernel": "b", "gpu": True})
    with pytest.raises(InvalidValueError, match=r"Design\(cores=1, kernel='b', gpu=True\).*3 designs"):
        pool.designs([ROWS[0], {"cores": 1, "kernel": "b", "gpu": True}])


def test_samples_are_distinct_members(pool: Space) -> None:
    assert set(pool.sample(100, np.random.default_rng(0))) == set(pool.enumerate())
    rng = np.random.default_rng(0)
    first = [pool.sample(1, rng)[0]["cores"] for _ in range(900)]
    assert all(250 < first.count(cores) < 350 for cores in (1, 2, 4))


def test_pools_with_different_members_differ(pool: Space) -> None:
    assert pool != Space.from_designs([*ROWS, {"cores": 1, "kernel": "b", "gpu": True}])


def test_a_pool_shows_how_many_designs_it_has(pool: Space) -> None:
    assert repr(pool) == "Space(3 options: cores, kernel, gpu; a pool of 3 designs)"


@pytest.mark.parametrize(
    ("rows", "error", "facts"),
    [
        ([], InvalidValueError, ("no designs",)),
        ({}, InvalidValueError, ("no designs",)),
        ({"a": []}, InvalidValueError, ("no designs",)),
        (3, InvalidTypeError, ("3",)),
        ("abc", InvalidTypeError, ("'abc'",)),
        ([{"a": 1}, 2], InvalidTypeError, ("Row 1", "2")),
        ([{"a": 1, "b": 1}, {"a": 1}], InvalidValueError, ("Row 1", "row 0", "'b'")),
        ({"a": [1, 2], "b": [1]}, InvalidValueError, ("{'a': 2, 'b': 1}",)),
        ({"a": "xy"}, InvalidTypeError, ("'a'", "'xy'")),
        ([{"a": 1}, {"a": None}], InvalidValueError, ("Row 1", "None", "'a'")),
        ([{"a": 1.0}, {"a": np.nan}], InvalidValueError, ("Row 1", "nan", "'a'")),
        ([{"a": [1]}], InvalidValueError, ("Row 0", "[1]", "'a'")),
        ([{1: 1}], InvalidTypeError, ("named 1",)),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(rows: object, error: type[Exception], facts: tuple[str, ...]) -> None:
    with pytest.raises(error, match=".*".join(map(re.escape, facts))):
        Space.from_designs(rows)


def test_a_pickled_pool_is_equal_and_knows_its_designs() -> None:
    space = Space.from_designs([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert space.size == 2
    copy: Space = pickle.loads(pickle.dumps(space))
    assert copy == space
    assert {"a": 1, "b": "x"} in copy
    assert {"a": 1, "b": "y"} not in copy
    assert copy.designs(copy.enumerate()) is copy.enumerate()
    designs = pickle.loads(pickle.dumps(space.enumerate()))
    assert list(designs) == list(space.enumerate())
