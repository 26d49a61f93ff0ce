"""What a history derives from its events."""

from __future__ import annotations

import pytest

from flexibo import Design, Objective, Space, Study
from flexibo.history import History
from flexibo.history.events import Added, Asked, Dequeued, Enqueued, Evaluation, Event, Failed, Released, Told

SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def test_what_is_measured_together_is_not_paid_again_if_it_came_in_pieces() -> None:
    objectives = [Objective("a"), Objective("b", measured_with="a"), Objective("c")]
    study = Study(SPACE, objectives, n_initial=1)
    design = SPACE.design({"x": 0.5, "y": 0.5})
    study.add(design, {"b": 2.0})
    assert not study.history.is_measured(0, design)
    study.add(design, {"a": 1.0})
    assert study.history.is_measured(0, design)
    assert study.history.is_closed(0, design)
    assert not study.history.is_measured(1, design)


HERE, THERE = SPACE.design({"x": 0.5, "y": 0.5}), SPACE.design({"x": 0.5, "y": 0.75})


def history_of(*events: Event) -> History:
    """A history of an objective that depends on x alone, and a noisy one."""
    history = History(SPACE, [Objective("a", options=["x"]), Objective("b", noisy=True)])
    for event in events:
        history.append(event)
    return history


def asked(history: History, objective: str, design: Design = HERE, **more: object) -> int:
    number = len(history.asked)
    evaluation = Evaluation(design, objective, None, 1.0, "", number, (objective,), **more)  # type: ignore[arg-type]
    history.append(Asked(evaluation))
    return number


def lacking(history: History) -> list[tuple[int, tuple[str, ...]]]:
    return [(queued.number, queued.objectives) for queued in history.queue]


def test_a_queued_design_stays_in_the_queue_until_it_has_all_its_readings() -> None:
    history = history_of(Enqueued(HERE, ("b", "a"), readings=2))
    number = asked(history, "b", queued=0)
    assert lacking(history) == [(0, ("b", "a"))], "what is being measured may come back"
    history.append(Told(number, {"b": 1.0}, 1.0))
    assert lacking(history) == [(0, ("b", "a"))], "a noisy objective needs two readings"
    assert [history.readings_missing(p, HERE, 2) for p in (0, 1)] == [1, 1]
    history.append(Told(asked(history, "b", queued=0), {"b": 1.5}, 1.0))
    assert lacking(history) == [(0, ("a",))]
    history.append(Told(asked(history, "a", queued=0), {"a": 1.0}, 1.0))
    assert lacking(history) == [], "an exact objective needs one"


def test_a_value_that_comes_from_elsewhere_shortens_the_queue_too() -> None:
    history = history_of(Enqueued(HERE, ("a", "b")))
    history.append(Told(asked(history, "a", THERE), {"a": 1.0}, 1.0))
    assert lacking(history) == [(0, ("b",))], "the other design must have the same value"
    history.append(Added(HERE, {"b": 1.0}, {}))
    assert lacking(history) == []


def test_what_fails_for_good_leaves_the_queue_and_what_is_released_stays() -> None:
    history = history_of(Enqueued(HERE, ("a",)), Enqueued(THERE, ("b",)))
    number = asked(history, "b", THERE, queued=1)
    history.append(Released(number))
    assert lacking(history) == [(0, ("a",)), (1, ("b",))]
    assert history.follow_ups == [], "the queue asks it again"
    history.append(Failed(asked(history, "a", queued=0), "too wide", 1.0, impossible=True))
    assert lacking(history) == [(1, ("b",))]


def test_a_withdrawn_design_leaves_the_queue_and_its_number_is_not_used_again() -> None:
    history = history_of(Enqueued(HERE, ("a",)), Dequeued(0), Enqueued(HERE, ("b",)))
    assert lacking(history) == [(1, ("b",))]
    assert history.is_queued(1, HERE)
    assert not history.is_queued(0, HERE)
    assert not history.is_queued(1, THERE)


@pytest.mark.parametrize("queued", [None, 0])
def test_a_queued_question_is_not_one_that_the_method_chose(queued: int | None) -> None:
    history = history_of(Enqueued(HERE, ("a", "b")))
    asked(history, "a", queued=queued)
    assert (history.chosen, len(history.scored)) == ((0, 0) if queued is not None else (1, 1))


def test_a_queued_question_does_not_end_the_rest_of_a_bundle_of_its_design() -> None:
    history = history_of(Enqueued(HERE, ("b",), readings=2))
    history.append(Told(asked(history, "b", then=("a",), initial=True), {"b": 1.0}, 1.0))
    asked(history, "b", queued=0)
    assert [follow_up.objectives for follow_up in history.follow_ups] == [("a",)]


def test_an_equivalent_design_is_in_the_queue_too() -> None:
    assert history_of(Enqueued(HERE, ("a",))).is_queued(0, THERE)
