"""LegalDesigns: counting and listing designs, with rules and conditions."""

from __future__ import annotations

import math

import pytest

from flexibo.errors import InvalidValueError
from flexibo.space import Space


def test_designs_under_conditions_are_counted_exactly(training: Space) -> None:
    # sgd: (1 + 2 + 2) momenta with nesterov, times flat or three drops; rms: the same five times two; adam: two.
    assert training.size == 5 * 4 + 5 * 2 + 2
    assert len(training.enumerate()) == training.size
    assert len(set(training.enumerate())) == training.size


def test_large_spaces_under_conditions_are_counted_without_listing_them() -> None:
    options: dict[str, object] = {f"x{i}": (1, 1000) for i in range(10)} | {"p": ["on", "off"]}
    space = Space(options, conditions={"x0": {"p": "on"}, "x1": {"x0": [1, 2]}, "x2": {"x3": list(range(1, 6))}})
    first = 1 + (2 * 1000 + 998)  # p, x0, x1
    second = 5 * 1000 + 995  # x3, x2
    assert space.size == first * second * 1000**6


def test_an_option_that_is_never_active_neither_counts_nor_hinders() -> None:
    space = Space(
        {"p": ["on", "off"], "q": [1, 2], "x": (1, 10**9)},
        conditions={"q": {"p": "on"}, "x": {"q": [1], "p": "off"}},
    )
    assert space.size == 3
    assert [tuple(design.values()) for design in space.enumerate()] == [
        ("on", 1, None),
        ("on", 2, None),
        ("off", None, None),
    ]


def test_a_count_that_would_take_too_long_is_an_upper_bound() -> None:
    options: dict[str, object] = {f"p{i}": ["on", "off"] for i in range(20)} | {"x": (1, 3)}
    space = Space(options, conditions={"x": {f"p{i}": "on" for i in range(20)}})
    assert space.size == 2**20 * 3


def test_the_size_is_infinite_if_a_real_option_varies(space: Space) -> None:
    assert space.size == math.inf
    assert Space({"a": [1, 2], "b": (0.5, 0.5)}).size == 2


def test_sizes_beyond_64_bits_are_exact() -> None:
    assert Space({f"x{i}": (1, 10**12) for i in range(10)}).size == 10**120


def test_a_rule_makes_the_space_smaller() -> None:
    space = Space({"a": [1, 2, 3], "b": [1, 2, 3]}, valid=lambda design: design["a"] < design["b"])
    assert space.size == 3
    assert [dict(design) for design in space.enumerate()] == [{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert {"a": 1, "b": 2} in space
    assert {"a": 2, "b": 2} not in space
    with pytest.raises(InvalidValueError, match=r"Design\(a=2, b=1\).*rule"):
        space.design({"a": 2, "b": 1})


def test_a_rule_is_ignored_in_the_size_of_a_space_too_large_to_list() -> None:
    space = Space({"a": (1, 2000), "b": (1, 2000)}, valid=lambda design: False)
    assert space.size == 4_000_000


def test_a_rule_that_fails_is_reported_with_the_design() -> None:
    space = Space({"a": [0, 1]}, valid=lambda design: 1 / design["a"] > 0)
    facts = r"rule.*Design\(a=0\).*ZeroDivisionError: division by zero"
    with pytest.raises(InvalidValueError, match=facts):
        space.enumerate()
    with pytest.raises(InvalidValueError, match=facts):
        assert {"a": 0} in space
    assert {"a": 1} in space


def test_enumeration_follows_the_order_of_the_values() -> None:
    space = Space({"a": [1, 2], "b": ["x", "y"], "c": (5, 6)})
    assert [tuple(design.values()) for design in space.enumerate()] == [
        (a, b, c) for a in (1, 2) for b in ("x", "y") for c in (5, 6)
    ]


def test_what_cannot_be_enumerated_is_refused(space: Space) -> None:
    with pytest.raises(InvalidValueError, match=r"'ghz'.*sample\(\)"):
        space.enumerate()
    with pytest.raises(InvalidValueError, match=r"4000000 designs.*1000000"):
        Space({"a": (1, 2000), "b": (1, 2000)}).enumerate()
