"""What a history derives from its events: who measures what, what was paid for, and what is asked next."""

from __future__ import annotations

import pytest

from flexibo import Evaluation, Objective, Space
from flexibo.history import History
from flexibo.history.events import Added, Asked, Event, Failed, Reissued, Released, Spent, Told
from flexibo.history.measurements import Assignment, Charge, FollowUp, Measurement

SPACE = Space({"x": (0.0, 1.0)})
DESIGN, OTHER = SPACE.design({"x": 0.25}), SPACE.design({"x": 0.75})


def after(*events: Event) -> History:
    history = History(SPACE, [Objective("a"), Objective("b")])
    for event in events:
        history.append(event)
    return history


def question(number: int = 0, objective: str = "a", then: tuple[str, ...] = (), x: float = 0.25) -> Evaluation:
    return Evaluation(SPACE.design({"x": x}), objective, None, 1.0, "", number, (objective,), then=then)


def test_an_evaluation_is_assigned_until_it_is_answered_or_given_back() -> None:
    asked = Asked(question(), "ada", 3.0)
    assert after(asked).assignments == {0: Assignment("ada", 3.0)}
    assert after(asked, Reissued(0, "bob", 7.0, 0.0)).assignments == {0: Assignment("bob", 7.0)}
    for end in (Told(0, {"a": 1.0}, 1.0), Failed(0, "", 1.0), Released(0)):
        assert after(asked, end).assignments == {}


def test_the_late_answer_of_a_lost_worker_replaces_what_was_assumed() -> None:
    history = after(Asked(question(), "ada"), Reissued(0, "bob", 0.0, 100.0), Told(0, {"a": 1.0}, 60.0, "ada"))
    assert history.charges == [Charge(1, "a", 100.0), Charge(2, "a", -40.0)]
    assert history.spent == 60.0
    history.append(Spent(0, 7.0, "bob"))
    assert history.spent == sum(charge.cost for charge in history.charges) == 67.0


def test_a_second_answer_changes_nothing() -> None:
    history = after(Asked(question()), Told(0, {"a": 1.0}, 2.0), Told(0, {"a": 9.0}, 5.0), Failed(0, "", 5.0))
    assert history.measurements == [Measurement(DESIGN, {"a": 1.0}, 2.0, 0)]
    assert history.spent == 2.0
    assert history.failed_attempts["a"] == 0


def test_a_result_from_before_the_study_has_no_number_and_costs_nothing() -> None:
    history = after(Added(DESIGN, {"a": 1.0, "b": 2.0}, {"a": 5.0}))
    assert history.measurements == [Measurement(DESIGN, {"a": 1.0, "b": 2.0}, None, None)]
    assert (history.spent, history.charges) == (0.0, [])
    assert history.costs(0)[1].tolist() == [5.0], "but it says what such an evaluation costs"


def test_the_rest_of_a_bundle_is_asked_next_until_it_is_asked() -> None:
    first = Asked(question(then=("b",)))
    assert after(first).follow_ups == [FollowUp(DESIGN, ("b",), initial=False)]
    assert after(first, Asked(question(1, "a", x=0.75))).follow_ups == [FollowUp(DESIGN, ("b",), initial=False)]
    assert after(first, Asked(question(1, "b"))).follow_ups == []
    assert after(first, Added(DESIGN, {"b": 1.0}, {}), Asked(question(1, "a", x=0.75))).follow_ups == []


@pytest.mark.parametrize("is_late", [False, True])
def test_the_part_of_a_bundle_that_was_given_back_is_asked_again_unless_it_is_answered(is_late: bool) -> None:
    events: list[Event] = [Asked(question(then=("b",))), Told(0, {"a": 1.0}, 1.0), Asked(question(1, "b"))]
    if is_late:
        events += [Told(1, {"b": 1.0}, 1.0)]
    history = after(*events, Released(1))
    assert history.follow_ups == ([] if is_late else [FollowUp(DESIGN, ("b",), initial=False)])
    assert history.is_scored(question(2, "b")) == is_late
