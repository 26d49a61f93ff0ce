"""Confirming: what promising designs lack is queued, within the budget, and measured if there are functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.unit.study.small_studies import LINE, asked, half_measured, snapshot

from flexibo import Design, Objective, Study
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history.events import Dequeued, Enqueued, Failed
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage
from flexibo.study._confirm import Wish, chosen_rows, confirming_events, unpaid_events


def test_what_promising_designs_lack_is_measured_and_nothing_else() -> None:
    study = half_measured(budget=100.0)
    promising = study.promising()
    assert promising
    found = study.confirm(LINE)
    assert len(found) == len(promising)
    assert study.queue == ()
    assert all(e.queued is not None for e in study.history.asked)
    assert study.promising() == ()
    assert len(study.front()) == 11
    assert study.spent == len(promising)
    assert study.stop_kind is StopKind.QUEUE


def test_chosen_rows_alone_are_confirmed() -> None:
    study = half_measured()
    row = study.promising()[1]
    (queued,) = study.confirm(LINE, rows=[row.number])
    assert queued.design == row.design
    assert str(row.number) in queued.why
    assert study.history.is_measured(0, row.design)


def test_without_functions_it_is_only_queued() -> None:
    study = half_measured(storage=MemoryStorage())
    row = study.promising()[0]
    study.confirm(rows=[row.number])
    with pytest.raises(InvalidValueError, match="queued"):
        study.confirm(rows=[row.number])
    with pytest.raises(InvalidValueError, match="queued"):
        study.check_confirm(rows=[row.number], runs=False)
    study.check_confirm(rows=[row.number])
    assert asked(study).design == row.design
    assert study.confirm(LINE, rows=[row.number]) == (), "now it is being measured by whoever asked"


def test_the_queue_of_a_killed_process_is_continued() -> None:
    storage = MemoryStorage()
    killed = half_measured(storage=storage)
    killed.confirm(budget=8.0)
    asked(killed)
    killed.close()
    again = Study.load(storage)
    again.confirm(LINE, rows=[again.promising()[0].number])
    assert again.queue == ()
    assert again.pending == ()


def test_a_budget_limits_the_confirming_to_the_most_valuable_designs() -> None:
    study = half_measured(budget=100.0)
    found = study.confirm(LINE, budget=8.5)
    assert len(found) == 2, "each is expected to cost 4"
    assert study.budget == 100.0
    assert study.spent == 2.0, "each did cost 1"


def test_a_study_that_has_spent_its_budget_is_confirmed_with_more() -> None:
    study = half_measured(budget=4.0)
    study.tell(asked(study), 1.0, cost=4.0)
    before = snapshot(study)
    with pytest.raises(InvalidValueError, match=r"4.*0"):
        study.confirm(LINE)
    assert snapshot(study) == before
    study.confirm(LINE, budget=5.0)
    assert (study.budget, study.spent) == (9.0, 5.0)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"rows": [99]}, InvalidValueError),
        ({"rows": [1]}, InvalidValueError),
        ({"rows": [0]}, InvalidValueError),
        ({"rows": "4"}, InvalidTypeError),
        ({"rows": [1.5]}, InvalidValueError),
        ({"rows": []}, InvalidTypeError),
        ({"budget": 0.0}, InvalidValueError),
        ({"budget": 3.0}, InvalidValueError),
        ({"rows": [4, 5], "budget": 5.0}, InvalidValueError),
        ({"readings": 0}, InvalidValueError),
        ({"budget": math.nan}, InvalidValueError),
    ],
)
def test_a_mistake_changes_nothing(given: Mapping[str, Any], error: type[Exception]) -> None:
    study = half_measured(budget=50.0)
    before = snapshot(study)
    for refuses in (study.check_confirm, partial(study.confirm, LINE)):
        with pytest.raises(error):
            refuses(**given)
    assert snapshot(study) == before


def test_the_budget_of_a_confirm_pays_for_what_is_queued_before_it() -> None:
    study = half_measured()
    study.enqueue({"x": 0.1}, ["a"])
    with pytest.raises(InvalidValueError, match=r"6.*4.*2.*4"):
        study.confirm(LINE, rows=[study.promising()[-1].number], budget=6.0)
    assert len(study.confirm(LINE, budget=9.0)) == 1
    assert study.queue == ()


def test_more_readings_are_taken_of_confirmed_designs_too() -> None:
    study = Study({"x": [0, 1]}, [Objective("a", cost=5.0), Objective("b", noisy=True, cost=1.0)], n_initial=1, seed=0)
    for x in (0, 1):
        study.add({"x": x}, {"a": float(x), "b": 1.0 - x})
    assert study.confirm(rows=None) == ()
    found = study.confirm(LINE, readings=3)
    assert [queued.objectives for queued in found] == [("b",), ("b",)]
    assert study.history.count(1) == 6


def lucky_study() -> Study:
    """Three designs that differ in a noisy objective alone; the first one was read once, by luck, and is the front."""
    study = Study({"x": [0, 1, 2]}, [Objective("a", cost=5.0), Objective("b", noisy=True, cost=1.0)], budget=50, seed=0)
    for x, b in ((0, 0.1), (1, 0.5), (2, 0.9)):
        study.add({"x": x}, {"a": 1.0, "b": b})
    return study


def later_readings(design: Design) -> tuple[float, float]:
    return {0: 2.0, 1: 0.6, 2: 0.9}[design["x"]], 1.0


def test_what_joins_the_front_by_further_readings_is_read_again_too() -> None:
    study = lucky_study()
    found = study.confirm({"b": later_readings, "a": LINE["a"]}, readings=3)
    assert [queued.design["x"] for queued in found] == [0, 1]
    assert [(row.design["x"], row.readings["b"]) for row in study.front()] == [(1, 3)]


def test_further_readings_end_with_the_budget_that_was_given_for_them() -> None:
    study = lucky_study()
    found = study.confirm({"b": later_readings, "a": LINE["a"]}, readings=3, budget=3.0)
    assert [queued.design["x"] for queued in found] == [0]
    assert study.spent == 2.0
    assert study.queue == ()


def test_a_row_that_costs_too_much_is_one_row() -> None:
    with pytest.raises(InvalidValueError, match=r"this row .* cost"):
        lucky_study().confirm(rows=[1], readings=3, budget=0.5)


def test_equivalent_designs_share_a_measurement() -> None:
    objectives = [Objective("a", options=["x"]), Objective("b")]
    study = Study({"x": [0.0, 0.5, 1.0], "y": [0, 1]}, objectives, n_initial=1, seed=0)
    study.add({"x": 0.0, "y": 0}, {"a": 0.0, "b": 1.0}, cost={"a": 1.0, "b": 1.0})
    designs = [study.space.design({"x": 0.5, "y": y}) for y in (0, 1)]
    wish = Wish((1, 2), None, 1)
    events = confirming_events(study.history, study.predictor.costs, dict(enumerate(designs, 1)), wish)
    assert [event.objectives for event in events if isinstance(event, Enqueued)] == [("a", "b"), ("b",)]


def test_two_processes_that_confirm_at_once_share_the_work() -> None:
    storage = MemoryStorage()
    first, second = half_measured(storage=storage), Study.load(storage)
    queued = first.confirm()
    assert second.confirm() == ()
    turns = [first, second]
    for i in range(len(queued)):
        turns[i % 2].tell(asked(turns[i % 2]), 0.5, cost=1.0)
    assert second.ask_queued_or_stop().kind is StopKind.QUEUE  # type: ignore[union-attr]
    assert len({e.design for e in second.history.asked}) == len(queued)


def test_a_failure_ends_the_attempts_and_not_the_confirming() -> None:
    def broken(design: Any) -> tuple[float, float]:
        raise RuntimeError("no")

    study = half_measured()
    study.confirm({"a": broken, "b": LINE["b"]}, rows=[study.promising()[0].number])
    assert study.queue == ()
    assert any(isinstance(event, Failed) for event in study.events)


def test_rows_are_chosen_by_number_in_the_order_of_the_wish() -> None:
    found = half_measured().hand_over(include="possible")
    numbers = tuple(row.number for row in found.promising)[:2]
    reference, objectives = np.array([2.0, 2.0]), [Objective("a"), Objective("b")]
    chosen = chosen_rows(found, objectives, reference, Wish(numbers[::-1], None, 1))
    assert list(chosen) == [*numbers[::-1]]
    assert set(chosen_rows(found, objectives, reference, Wish(None, None, 1))) == {r.number for r in found.promising}
    assert chosen_rows(found, objectives, None, Wish(None, None, 1)) == {}


def test_what_is_being_measured_is_not_withdrawn() -> None:
    study = half_measured()
    found = study.confirm()
    held = asked(study)
    withdrawn = unpaid_events(study.history, found)
    assert len(withdrawn) == len(found) - 1
    assert held.queued not in [event.number for event in withdrawn if isinstance(event, Dequeued)]
