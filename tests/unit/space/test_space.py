"""Space: what it takes, and what it is equal to."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.space.small_designs import GOOD

from flexibo.errors import InvalidTypeError
from flexibo.space import Design, Integer, Space


def test_a_design_has_one_value_per_option(space: Space) -> None:
    assert space.design(GOOD) == Design(GOOD)


def test_one_mapping_is_no_list_of_rows(space: Space) -> None:
    with pytest.raises(InvalidTypeError, match=r"design\(\)"):
        space.designs(GOOD)  # type: ignore[arg-type]


def test_a_rule_must_be_a_function() -> None:
    with pytest.raises(InvalidTypeError, match="rule is 3"):
        Space({"a": [1]}, valid=3)  # type: ignore[arg-type]


def test_spaces_are_equal_by_value() -> None:
    options = {"a": [1, 2], "b": ["x", "y"]}
    assert Space(options) == Space(options)
    assert hash(Space(options)) == hash(Space(options))
    assert Space(options) != Space({"b": ["x", "y"], "a": [1, 2]})
    assert Space(options) != Space(options, valid=lambda design: True)
    assert Space(options) != Space.from_designs(list(Space(options).enumerate()))
    assert Space(options) != options


def test_a_space_shows_its_options(space: Space) -> None:
    assert repr(space) == "Space(5 options: filters, kernel, cores, ghz, ...)"


def test_the_options_of_a_space_cannot_be_changed(space: Space) -> None:
    with pytest.raises(TypeError):
        space.options["filters"] = Integer(1, 2)  # type: ignore[index]


def test_a_space_limited_to_some_designs_has_only_these_and_the_same_options() -> None:
    whole = Space({"x": (0.0, 1.0), "k": ["a", "b"]})
    some = whole.sample(5, np.random.default_rng(0))
    pool = whole.limited_to(some)
    assert pool.options == whole.options
    assert pool.size == 5
    assert pool.enumerate().keys().tolist() == some.keys().tolist()
    assert np.array_equal(pool.enumerate().encoded(), some.encoded())
    assert whole.pool is None
