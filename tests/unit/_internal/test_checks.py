from __future__ import annotations

import math
import re

import numpy as np
import pytest

from flexibo._internal.checks import checked_delta, checked_flag, checked_unicode, whole_number
from flexibo.errors import InvalidTypeError, InvalidValueError


@pytest.mark.parametrize("given", [2, 7, np.int64(2), np.uint8(7)])
def test_a_whole_number_comes_back_as_an_int(given: object) -> None:
    found = whole_number("points", given, least=2)
    assert found == given
    assert type(found) is int


@pytest.mark.parametrize("given", [1, -2, 2.0, np.float64(3.0), "3", None, True, np.bool_(True), [3], np.array([3])])
def test_what_is_no_whole_number_or_too_small_is_refused(given: object) -> None:
    shown = repr(given.item() if isinstance(given, np.generic) else given)
    with pytest.raises(InvalidValueError, match=rf"points is {re.escape(shown)};.* 2 ") as error:
        whole_number("points", given, least=2)
    assert error.value.argument == "points"


def test_zero_is_a_whole_number_where_zero_is_the_least() -> None:
    assert whole_number("seed", 0, least=0) == 0
    with pytest.raises(InvalidValueError, match="seed is False"):
        whole_number("seed", False, least=0)


@pytest.mark.parametrize("given", [0.05, 5e-324, 1 - 2**-53, np.float32(0.5)])
def test_a_delta_between_zero_and_one_comes_back_as_a_float(given: object) -> None:
    found = checked_delta(given)
    assert found == given
    assert type(found) is float


@pytest.mark.parametrize("given", [0, 1, 0.0, 1.0, -0.1, 1.5, math.nan, math.inf, True, "0.1", None, [0.1]])
def test_any_other_delta_is_refused(given: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"delta is {re.escape(repr(given))};") as error:
        checked_delta(given)
    assert error.value.argument == "delta"


def test_a_whole_number_may_have_a_greatest_value() -> None:
    assert whole_number("points", 7, least=1, most=7) == 7
    with pytest.raises(InvalidValueError, match=r"points is 8; .* 7"):
        whole_number("points", 8, least=1, most=7)


def test_text_is_valid_unicode() -> None:
    assert checked_unicode("A name is", "größer \U0001f600") == "größer \U0001f600"
    with pytest.raises(InvalidValueError, match=r"^A name is 'x.udfff'; its character 2 \(U\+DFFF\)"):
        checked_unicode("A name is", "x\udfff")


@pytest.mark.parametrize("given", [True, False, np.bool_(True), 0, 1])
def test_a_flag_comes_back_as_a_bool(given: object) -> None:
    found = checked_flag("log", given)
    assert type(found) is bool
    assert found == given


@pytest.mark.parametrize("given", [np.array([True, False]), np.array([True]), "no", 2, 1.0, None])
def test_what_is_no_flag_is_refused_with_its_name(given: object) -> None:
    with pytest.raises(InvalidTypeError, match=r"^log "):
        checked_flag("log", given)
