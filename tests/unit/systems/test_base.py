"""A system has what a study needs to know about it."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo import Objective, Space
from flexibo.errors import InvalidValueError
from flexibo.systems.base import System

SPACE = Space({"x": (0.0, 1.0)})
ERROR, SIZE, BESIDE = Objective("error"), Objective("size"), Objective("beside", measured_with="error")


def measure(design: Any) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("functions", "named"),
    [
        ((), ""),
        (("error",), "error"),
        (("error", "size", "more"), "error, more, size"),
        (("size", "other"), "other, size"),
    ],
)
def test_a_system_needs_one_function_per_objective(functions: tuple[str, ...], named: str) -> None:
    with pytest.raises(InvalidValueError, match=f"'digits' .*error, size .*functions for {named};"):
        System("digits", SPACE, (ERROR, SIZE), dict.fromkeys(functions, measure))


def test_an_objective_that_is_measured_with_another_has_no_function_of_its_own() -> None:
    system = System("digits", SPACE, (ERROR, BESIDE), {"error": measure})
    assert (system.notes, system.identity) == ((), "")
    with pytest.raises(InvalidValueError, match=r" beside, error;"):
        System("digits", SPACE, (ERROR, BESIDE), {"error": measure, "beside": measure})
