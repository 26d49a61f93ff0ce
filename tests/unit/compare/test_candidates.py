from __future__ import annotations

import numpy as np
import pytest
from tests.unit.compare.spied_problem import SPACE

from flexibo.compare.candidates import MOST, UNIFORM, common_candidates
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem


def test_a_small_space_is_listed_whole(problem: Problem) -> None:
    assert common_candidates(problem).keys().tolist() == SPACE.enumerate().keys().tolist()


@pytest.mark.parametrize(("name", "most"), [("branin-currin", 0.002), ("dnn-stack", 0.02)])
def test_in_a_large_space_the_front_is_among_the_candidates(name: str, most: float) -> None:
    large = find_problem(name)
    found = common_candidates(large)
    assert UNIFORM < len(found) <= MOST
    assert large.error(found) < most < large.error(found[:UNIFORM])
    assert len(set(found.keys().tolist())) == len(found)


def test_candidates_are_the_same_at_every_call() -> None:
    large = find_problem("branin-currin")
    first = common_candidates(large).codes
    common_candidates.cache_clear()
    assert np.array_equal(first, common_candidates(large).codes)
