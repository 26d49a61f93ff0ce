"""A space as JSON, and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.space import Design, Integer, Real, Space


def test_a_space_survives_json(space: Space, training: Space) -> None:
    for each in (space, training, Space({"r": Real(1e-5, 0.1, log=True), "i": Integer(1, 9, log=True)})):
        text = json.dumps(each.to_dict())
        assert Space.from_dict(json.loads(text)) == each


def test_a_stored_rule_must_be_given_again() -> None:
    def rule(design: Design) -> bool:
        return bool(design["a"] < 2)

    space = Space({"a": [1, 2]}, valid=rule)
    data = json.loads(json.dumps(space.to_dict()))
    assert data["has_rule"] is True
    with pytest.raises(InvalidValueError, match="valid="):
        Space.from_dict(data)
    assert Space.from_dict(data, valid=rule) == space


def test_what_is_no_stored_space_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="to_dict"):
        Space.from_dict({})
    with pytest.raises(UnknownNameError, match=r"'reel'.*'real'"):
        Space.from_dict({"options": [{"name": "x", "kind": "reel"}]})


def test_a_pool_survives_json(pool: Space) -> None:
    copy = Space.from_dict(json.loads(json.dumps(pool.to_dict())))
    assert copy == pool
    assert list(copy.enumerate()) == list(pool.enumerate())
    np.testing.assert_array_equal(copy.enumerate().keys(), pool.enumerate().keys())


@pytest.mark.filterwarnings("error")
def test_a_pool_with_inactive_options_and_intervals_survives_json() -> None:
    space = Space({"a": ["x", "y"], "b": Real(0.0, 1.0)}, conditions={"b": {"a": ["y"]}})
    pool = space.limited_to(space.designs([{"a": "x"}, {"a": "y", "b": 0.25}]))
    copy = Space.from_dict(json.loads(json.dumps(pool.to_dict(), allow_nan=False)))
    assert copy == pool
    assert list(copy.enumerate()) == list(pool.enumerate())
