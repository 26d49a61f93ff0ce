"""Design: one value per option, immutable."""

from __future__ import annotations

import pickle

import pytest

from flexibo.space import Design, Space


def test_a_design_shows_its_values() -> None:
    assert repr(Design({"filters": 16, "kernel": "3x3"})) == "Design(filters=16, kernel='3x3')"


def test_a_design_with_odd_names_still_shows_its_values() -> None:
    assert repr(Design({"clock speed": 2})) == "Design({'clock speed': 2})"


def test_designs_are_equal_by_value_whatever_the_order_of_their_options() -> None:
    first, second = Design({"a": 1, "b": None}), Design({"b": None, "a": 1})
    assert first == second
    assert hash(first) == hash(second)
    assert first != Design({"a": 1, "b": 2})
    assert first == {"a": 1, "b": None}
    assert first != 3


def test_a_design_cannot_be_changed() -> None:
    design = Design({"a": 1})
    with pytest.raises(TypeError):
        design["a"] = 2  # type: ignore[index]
    with pytest.raises(AttributeError):
        design.a = 2  # type: ignore[attr-defined]


def test_a_pickled_design_is_equal_and_does_not_carry_its_space() -> None:
    design = Space({"filters": list(range(1000)), "kernel": ["1x1", "3x3"]}).design({"filters": 32, "kernel": "3x3"})
    copy = pickle.loads(pickle.dumps(design))
    assert copy == design
    assert hash(copy) == hash(design)
    assert len(pickle.dumps(design)) < 500
