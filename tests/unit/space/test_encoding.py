"""Codes of single options, and their encoding."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from flexibo.space import Categorical, Integer, Option, Ordinal, Real
from flexibo.space.encoding import (
    HASHED,
    MOST_NEIGHBOURS,
    MOST_ONE_HOT,
    code_of,
    codes_of,
    decode,
    draw,
    encode,
    expected,
    legal_codes,
    levels,
    log_weight,
    near,
    stepped,
    value_of,
    values_of,
    width,
)

KERNELS = Categorical(["1x1", "3x3", "5x5"])
FILTERS = Ordinal([16, 32, 64])
CORES = Integer(1, 5)
GHZ = Real(0.5, 2.5)
RATE = Real(1e-4, 1e-2, log=True)
UNITS = Integer(1, 100, log=True)


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        (KERNELS, "3x3", 1.0),
        (KERNELS, "7x7", None),
        (KERNELS, ["3x3"], None),
        (FILTERS, 64, 2.0),
        (FILTERS, 64.0, 2.0),
        (FILTERS, np.int64(16), 0.0),
        (FILTERS, "16", None),
        (Ordinal([0, 1]), True, None),  # True equals 1, but is no number
        (Categorical([False, True]), True, 1.0),
        (CORES, 5, 5.0),
        (CORES, 5.0, 5.0),
        (CORES, 2.5, None),
        (CORES, 6, None),
        (CORES, True, None),
        (GHZ, 2, 2.0),
        (GHZ, 2.6, None),
        (GHZ, math.nan, None),
        (GHZ, None, None),
    ],
)
def test_a_code_is_the_position_or_the_number_of_a_legal_value(
    option: Option, value: object, code: float | None
) -> None:
    assert code_of(option, value) == code


@pytest.mark.parametrize(
    ("option", "value", "facts"),
    [
        (CORES, 9, ["1", "5"]),
        (CORES, 2.5, ["whole", "1", "5"]),
        (GHZ, "fast", ["number", "0.5", "2.5"]),
        (KERNELS, 3, ["'1x1'", "'3x3'", "'5x5'"]),
        (Ordinal(range(99)), 100, ["0, 1, 2, 3, 4, 5, 6, 7, ...", "99 values"]),
    ],
)
def test_what_is_expected_names_the_legal_values_but_not_too_many(
    option: Option, value: object, facts: list[str]
) -> None:
    assert re.search(".*".join(map(re.escape, facts)), expected(option, value))


@pytest.mark.parametrize(
    ("option", "values"),
    [(KERNELS, ["5x5", "1x1"]), (FILTERS, [64, 16]), (CORES, [5, 1]), (GHZ, [2.5, 0.75])],
)
def test_values_and_codes_are_each_others_inverse(option: Option, values: list[object]) -> None:
    codes = codes_of(option, values)  # type: ignore[arg-type]
    assert values_of(option, codes) == values
    assert [value_of(option, code) for code in codes.tolist()] == values
    assert [type(value) for value in values_of(option, codes)] == [type(value) for value in values]
    assert values_of(option, np.array([np.nan, codes[0]])) == [None, values[0]]
    assert value_of(option, math.nan) is None


def test_the_levels_of_a_finite_option_start_at_its_lower_bound() -> None:
    assert levels(CORES, np.arange(5.0)).tolist() == [1, 2, 3, 4, 5]
    assert levels(FILTERS, np.arange(3.0)).tolist() == [0, 1, 2]
    assert levels(Real(0.5, 0.5), np.zeros(1)).tolist() == [0.5]


@pytest.mark.parametrize("option", [KERNELS, FILTERS, CORES, Integer(1, 12, log=True)])
def test_draws_have_the_weights_that_are_said(option: Option) -> None:
    every = levels(option, np.arange(float(option.size)))
    weights = np.exp(log_weight(option, every))
    assert weights.sum() == pytest.approx(1.0)
    drawn = draw(option, 20_000, np.random.default_rng(0))
    shares = np.array([(drawn == code).mean() for code in every])
    assert np.abs(shares - weights).max() < 0.015


def test_on_a_log_scale_one_has_the_weight_of_its_half_unit_on_both_sides() -> None:
    weights = np.exp(log_weight(UNITS, np.array([1.0, 100.0, np.nan])))
    total = math.log(100.5 / 0.5)
    assert weights == pytest.approx([math.log(3.0) / total, math.log(100.5 / 99.5) / total, 1.0])


@pytest.mark.parametrize(
    ("option", "codes", "columns"),
    [
        (KERNELS, [1.0, np.nan], [[0.0, math.sqrt(0.5), 0.0], [0.0, 0.0, 0.0]]),
        (FILTERS, [0.0, 1.0, 2.0, np.nan], [[0.0], [0.5], [1.0], [0.5]]),
        (CORES, [1.0, 2.0, 5.0], [[0.0], [0.25], [1.0]]),
        (GHZ, [0.5, 1.0], [[0.0], [0.25]]),
        (RATE, [1e-4, 1e-3, 1e-2], [[0.0], [0.5], [1.0]]),
        (UNITS, [1.0, 10.0, 100.0], [[0.0], [0.5], [1.0]]),
        (Ordinal([7]), [0.0, 0.0], [[], []]),
        (Categorical(["only"]), [0.0], [[]]),
    ],
)
def test_the_encoding_is_the_place_on_the_scale_or_one_hot(
    option: Option, codes: list[float], columns: list[list[float]]
) -> None:
    if option.size > 1:
        X = encode(option, np.array(codes))
        np.testing.assert_allclose(X, columns, atol=1e-15)
        active = ~np.isnan(codes)
        np.testing.assert_allclose(decode(option, X)[active], np.array(codes)[active], rtol=1e-12)
    assert width(option) == len(columns[0])


def test_decoding_clips_and_rounds_to_legal_values() -> None:
    assert decode(CORES, np.array([[-0.3], [0.3], [1.7]])).tolist() == [1.0, 2.0, 5.0]
    assert decode(GHZ, np.array([[-0.3], [1.7]])).tolist() == [0.5, 2.5]
    assert decode(KERNELS, np.array([[0.1, 0.0, 0.3]])).tolist() == [2.0]
    assert decode(Integer(7, 7), np.empty((2, 0))).tolist() == [7.0, 7.0]


@pytest.mark.parametrize(
    ("option", "code", "steps", "expected_codes"),
    [
        (KERNELS, 1.0, 1, [0, 2]),
        (FILTERS, 0.0, 1, [1]),
        (FILTERS, 1.0, 5, [0, 2]),
        (CORES, 5.0, 2, [3, 4]),
        (Integer(7, 7), 7.0, 1, []),
    ],
)
def test_neighbours_of_a_value_are_legal_and_other_values(
    option: Option, code: float, steps: int, expected_codes: list[float]
) -> None:
    assert near(option, code, np.random.default_rng(0), steps=steps, draws=4).tolist() == expected_codes


def test_a_wide_interval_also_has_random_neighbours() -> None:
    around = near(Integer(1, 1000), 500.0, np.random.default_rng(0), steps=1, draws=50)
    assert {499.0, 501.0} < set(around.tolist())
    assert len(around) > 40
    assert (np.abs(around - 500) > 50).any()
    assert len(near(GHZ, 1.5, np.random.default_rng(0), steps=1, draws=50)) == 50


def test_a_step_always_leaves_a_listed_value_except_at_an_end() -> None:
    rng, tiny = np.random.default_rng(0), np.full(200, 1e-9)
    assert set(stepped(KERNELS, np.ones(200), tiny, rng).tolist()) == {0.0, 2.0}
    assert set(stepped(FILTERS, np.ones(200), tiny, rng).tolist()) == {0.0, 2.0}
    assert set(stepped(CORES, np.full(200, 5.0), tiny, rng).tolist()) == {4.0, 5.0}
    assert stepped(Integer(7, 7), np.full(2, 7.0), tiny[:2], rng).tolist() == [7.0, 7.0]


def test_a_step_from_an_inactive_value_stays_inactive() -> None:
    rng = np.random.default_rng(0)
    for option in (KERNELS, FILTERS, CORES, GHZ):
        assert np.isnan(stepped(option, np.full(3, np.nan), np.full(3, 0.1), rng)).all()


def test_an_option_with_very_many_values_has_few_columns_in_which_all_are_about_equally_far_apart() -> None:
    option = Categorical([f"text {number}" for number in range(100_000)])
    codes = np.random.default_rng(0).choice(100_000, size=200, replace=False).astype(float)
    X = encode(option, codes)
    assert X.shape == (200, width(option)) == (200, HASHED)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)[~np.eye(200, dtype=bool)]
    assert squares.min() > 0.5
    assert squares.max() < 1.5
    assert squares.mean() == pytest.approx(1.0, abs=0.02)
    assert not encode(option, np.array([math.nan])).any(), "inactive"


def test_values_of_a_very_large_option_are_found_again() -> None:
    option = Categorical([str(number) for number in range(MOST_ONE_HOT + 1)])
    codes = np.arange(option.size, dtype=float)
    assert np.array_equal(decode(option, encode(option, codes)), codes)


def test_few_values_of_a_very_large_option_are_neighbours() -> None:
    option = Categorical([str(number) for number in range(10_000)])
    found = near(option, 5.0, np.random.default_rng(0), steps=1, draws=4)
    assert 0 < len(found) <= MOST_NEIGHBOURS
    assert 5.0 not in found


@pytest.mark.parametrize("option", [KERNELS, FILTERS, CORES, Real(0.5, 2.0), Categorical([True, False, "x"])])
@pytest.mark.parametrize(
    "value", ["1x1", 16, 16.0, 1, 1.0, 0.5, 2, 9, 1.5, True, None, "y", math.nan, math.inf, 10**400, [1], b"x"]
)
def test_codes_of_a_column_are_those_of_its_values(option: Option, value: object) -> None:
    known = list(option.values) if isinstance(option, (Categorical, Ordinal)) else [option.low, option.high]
    code = code_of(option, value) if not isinstance(value, list) else None
    found = legal_codes(option, [*known, value])
    assert (found is None) == (code is None)
    if found is not None:
        assert found.tolist() == [code_of(option, one) for one in (*known, value)]
