"""The reference point that a study finds itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.optimizer.small_history import SPACE, at

from flexibo import Objective
from flexibo.history import History
from flexibo.history.events import Added
from flexibo.objectives import LARGEST
from flexibo.optimizer.reference import widened, worst_readings

FIRST = np.array([2.0, 20.0])


def measured(
    *rows: tuple[int, float, float], objectives: tuple[Objective, ...] = (Objective("a"), Objective("b"))
) -> History:
    """A history with readings a and b of the designs x; there may be several of a design."""
    history = History(SPACE, objectives)
    for x, a, b in rows:
        history.append(Added(at(x), {"a": a, "b": b}, {}))
    return history


def test_a_point_beyond_the_confirmed_front_stays() -> None:
    assert widened(FIRST, measured()) is FIRST
    assert widened(FIRST, measured((0, 1.0, 10.0), (1, 1.5, 5.0))) is FIRST


def test_it_is_moved_where_a_design_of_the_front_lies_beyond_it_and_nowhere_else() -> None:
    history = measured((0, 1.0, 10.0), (1, 5.0, 2.0))
    assert widened(FIRST, history) == pytest.approx([5.0 + 0.1 * 4.0, 20.0])
    again = widened(FIRST, history)
    assert widened(again, history) is again


def test_a_design_at_the_point_adds_nothing_so_it_is_moved() -> None:
    assert widened(FIRST, measured((0, 1.0, 10.0), (1, 2.0, 2.0))) == pytest.approx([2.1, 20.0])


def test_a_dominated_design_moves_nothing() -> None:
    assert widened(FIRST, measured((0, 1.0, 1.0), (1, 5.0, 30.0))) is FIRST


def test_a_design_that_breaks_a_limit_or_is_not_complete_moves_nothing() -> None:
    limited = (Objective("a"), Objective("b", at_most=9.0, optimise=True))
    assert widened(FIRST, measured((0, 1.0, 8.0), (1, 0.5, 30.0), objectives=limited)) is FIRST
    history = measured((0, 1.0, 10.0))
    history.append(Added(at(1), {"a": 5.0}, {}))
    assert widened(FIRST, history) is FIRST


def test_a_noisy_objective_counts_with_the_mean_of_its_readings() -> None:
    noisy = (Objective("a", noisy=True), Objective("b"))
    assert widened(FIRST, measured((0, 1.0, 10.0), (1, 2.5, 2.0), (1, 1.3, 2.0), objectives=noisy)) is FIRST
    found = widened(FIRST, measured((0, 1.0, 10.0), (1, 5.0, 2.0), (1, 1.0, 2.0), objectives=noisy))
    assert found == pytest.approx([3.0 + 0.1 * 2.0, 20.0])


def test_a_maximised_objective_is_moved_towards_smaller_values() -> None:
    history = measured((0, 0.4, 10.0), (1, 1.0, 50.0), objectives=(Objective("a"), Objective("b", "max")))
    assert widened(np.array([2.0, -20.0]), history) == pytest.approx([2.0, -10.0 + 0.1 * 40.0])


def test_the_largest_values_have_a_point_that_can_be_stored() -> None:
    history = measured((0, LARGEST, 1.0), (1, 1.0, LARGEST))
    assert worst_readings(history, stretched=True).tolist() == [LARGEST, LARGEST]
    found = widened(FIRST, history)
    assert found.tolist() == [LARGEST, LARGEST]
    assert widened(found, history).tolist() == found.tolist()
