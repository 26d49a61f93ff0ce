from __future__ import annotations

import pytest
from tests.unit.compare.spied_problem import SPACE

from flexibo.compare.problems.base import Problem


def test_the_error_of_the_true_front_is_zero_and_no_front_has_less(problem: Problem) -> None:
    designs = SPACE.enumerate()
    losses = problem.losses(designs)
    on_front = [design for design, row in zip(designs, losses, strict=True) if (row == problem.front).all(axis=1).any()]
    assert problem.error(on_front) == pytest.approx(0.0, abs=1e-12)
    assert problem.error(list(designs)) == pytest.approx(0.0, abs=1e-12)
    assert problem.error(on_front[1:]) > 1e-6
    assert problem.error([]) == 1.0
