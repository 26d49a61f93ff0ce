"""Options: what users write, and what is refused."""

from __future__ import annotations

import json
import math
import pickle
import re

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.space import Categorical, Integer, Ordinal, Real, Space


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([16, 32, 64], Ordinal([16, 32, 64])),
        ([0.5, 1, 2], Ordinal([0.5, 1, 2])),
        (range(1, 4), Ordinal([1, 2, 3])),
        (np.array([1, 2, 4]), Ordinal([1, 2, 4])),
        ([np.float64(0.5), np.int64(1)], Ordinal([0.5, 1])),
        (["1x1", "3x3"], Categorical(["1x1", "3x3"])),
        ([False, True], Categorical([False, True])),
        ([1, "auto"], Categorical([1, "auto"])),
        ((1, 6), Integer(1, 6)),
        ((np.int64(1), 6), Integer(1, 6)),
        ((0.3, 2.3), Real(0.3, 2.3)),
        ((0, 2.5), Real(0.0, 2.5)),
        (Real(1e-5, 1e-1, log=True), Real(1e-5, 1e-1, log=True)),
    ],
)
def test_the_short_form_of_an_option_stands_for_its_kind(given: object, expected: object) -> None:
    assert Space({"x": given}).options["x"] == expected


def test_rising_and_falling_numbers_keep_their_order() -> None:
    assert Ordinal([1, 2, 3]).values == (1, 2, 3)
    assert Ordinal([3, 2, 1]).values == (3, 2, 1)


def test_numbers_in_no_order_are_sorted() -> None:
    assert Ordinal([32, 8, 16]).values == (8, 16, 32)


def test_ordered_strings_keep_the_order_given() -> None:
    assert Ordinal(["low", "high", "highest"]).values == ("low", "high", "highest")


def test_values_are_plain_python_scalars() -> None:
    assert [type(value) for value in Ordinal(np.array([1, 2])).values] == [int, int]
    assert type(Integer(np.int32(1), 3.0).high) is int  # type: ignore[arg-type]
    assert type(Real(0, np.float32(1)).high) is float


def test_sizes_count_the_values() -> None:
    assert [Categorical(["a"]).size, Ordinal([1, 2, 3]).size, Integer(-1, 1).size] == [1, 3, 3]
    assert Real(0, 1).size == math.inf
    assert Real(1, 1).size == 1


def test_options_are_values_that_hash_and_pickle() -> None:
    for option in (Categorical(["a", "b"]), Ordinal([1, 2]), Integer(1, 4, log=True), Real(0.1, 1.0)):
        assert pickle.loads(pickle.dumps(option)) == option
        assert len({option, pickle.loads(pickle.dumps(option))}) == 1


@pytest.mark.parametrize(
    ("given", "error", "facts"),
    [
        ((6, 1), InvalidValueError, ("'cores'", "(6, 1)")),
        ((2.5, 1.0), InvalidValueError, ("'cores'", "(2.5, 1.0)")),
        ((0.0, math.nan), InvalidValueError, ("'cores'", "nan", "finite")),
        ((0, math.inf), InvalidValueError, ("'cores'", "inf", "finite")),
        ((-1e308, 1e308), InvalidValueError, ("'cores'", "(-1e+308, 1e+308)")),
        ((0, 10**13), InvalidValueError, ("'cores'", "10**12")),
        ([], InvalidValueError, ("'cores'", "no values")),
        ([1, 2, 1], InvalidValueError, ("'cores'", "1 twice")),
        (["a", "a"], InvalidValueError, ("'cores'", "'a' twice")),
        ([1, True], InvalidValueError, ("'cores'", "True twice")),
        ([1.0, math.nan], InvalidValueError, ("'cores'", "nan", "finite")),
        (
            [None, 1],
            InvalidTypeError,
            ("'cores'", "None"),
        ),
        ([[1], [2]], InvalidTypeError, ("'cores'", "[1]")),
        ((1, 2, 3), InvalidTypeError, ("'cores'", "(1, 2, 3)")),
        (("a", "b"), InvalidTypeError, ("'cores'", "('a', 'b')")),
        ((True, False), InvalidTypeError, ("'cores'", "(True, False)")),
        (5, InvalidTypeError, ("'cores'", "5", "Categorical")),
        ("abc", InvalidTypeError, ("'cores'", "'abc'")),
        ({1, 2}, InvalidTypeError, ("'cores'", "{1, 2}")),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_by_name(
    given: object, error: type[Exception], facts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=".*".join(map(re.escape, facts))):
        Space({"cores": given})


@pytest.mark.parametrize(
    ("given", "log"),
    [
        ((1e-4, 0.1), True),  # 0.1 / 1e-4 is not exactly 1,000
        ((1e-4, 0.0999), False),
        ((1.0, 1000), True),
        ((np.float32(1e-3), np.float32(1.0)), True),
        ((1, 1000), False),  # whole numbers
        ((0.0, 1000.0), False),
        ((-5, 5000), False),
        (Real(1e-300, 1e300, log=False), False),
        (Real(1e-300, 1e300), True),
        (Integer(1, 10**12), False),
        (Integer(1, 10, log=True), True),
        (Real(1.0, 2.0, log=True), True),
    ],
)
def test_a_range_of_real_numbers_over_three_decades_is_logarithmic_unless_it_says_otherwise(
    given: object, log: bool
) -> None:
    option = Space({"rate": given}).options["rate"]
    assert isinstance(option, Integer | Real)
    assert option.log is log
    again = Space.from_dict(json.loads(json.dumps(Space({"rate": given}).to_dict()))).options["rate"]
    assert again == option


@pytest.mark.parametrize("kind", [Integer, Real])
@pytest.mark.parametrize("low", [0, -1])
def test_a_log_scale_needs_a_positive_lower_bound(kind: type[Integer] | type[Real], low: int) -> None:
    with pytest.raises(InvalidValueError, match="log scale"):
        kind(low, 10, log=True)


def test_a_log_scale_needs_bounds_it_can_tell_apart() -> None:
    with pytest.raises(InvalidValueError, match="log scale"):
        Real(1e10, math.nextafter(1e10, math.inf), log=True)


@pytest.mark.parametrize("bound", ["1", None, True, 1.5, math.nan, math.inf])
def test_an_integer_refuses_bounds_that_are_not_whole_numbers(bound: object) -> None:
    with pytest.raises(InvalidTypeError, match="Integer"):
        Integer(0, bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", ["1", None, True])
def test_a_real_refuses_bounds_that_are_not_numbers(bound: object) -> None:
    with pytest.raises(InvalidTypeError, match="Real"):
        Real(0, bound)  # type: ignore[arg-type]


def test_values_must_come_in_a_list() -> None:
    with pytest.raises(InvalidTypeError, match="'abc'"):
        Categorical("abc")


def test_a_bound_too_large_for_a_float_is_refused() -> None:
    for bounds in ((0.0, 10**400), (-(10**400), 0.0)):
        with pytest.raises(InvalidValueError, match="10000"):
            Real(*bounds)


@pytest.mark.parametrize("kind", [Integer, Real])
def test_an_array_is_no_flag(kind: type[Integer] | type[Real]) -> None:
    with pytest.raises(InvalidTypeError, match="log"):
        kind(1, 10, log=np.array([True, False]))
    assert kind(1, 10, log=np.bool_(True)).log is True
