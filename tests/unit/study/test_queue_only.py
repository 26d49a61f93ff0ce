"""The queue of a study as something to run: it is measured alone, and paid from a limit of its own."""

from __future__ import annotations

from tests.unit.study.small_studies import asked, half_measured

from flexibo.executors import Outcome
from flexibo.history.events import Dequeued, Evaluation
from flexibo.optimizer import Stop, StopKind
from flexibo.storage import MemoryStorage
from flexibo.study._queue_only import QueueOnly


def test_what_is_spent_and_being_measured_counts_against_the_limit() -> None:
    study = half_measured()
    study.confirm()
    queue = QueueOnly(study, 8.5)
    first, second = queue.ask_or_stop(), queue.ask_or_stop()
    assert isinstance(first, Evaluation)
    assert isinstance(second, Evaluation)
    stop = queue.ask_or_stop()
    assert isinstance(stop, Stop)
    assert (stop.kind, queue.is_spent) == (StopKind.WAITING, False), "4 and 4 are reserved; they may cost less"
    queue.tell_outcome(Outcome(first, {"a": 0.5}, 1.0))
    third = queue.ask_or_stop()
    assert isinstance(third, Evaluation)
    for evaluation in (second, third):
        queue.tell_outcome(Outcome(evaluation, {"a": 0.5}, 4.0))
    stop = queue.ask_or_stop()
    assert isinstance(stop, Stop)
    assert (stop.kind, queue.is_spent) == (StopKind.QUEUE, True), "9 is spent"


def test_what_was_spent_before_does_not_count() -> None:
    study = half_measured()
    study.confirm()
    study.tell(asked(study), 0.5, cost=100.0)
    assert isinstance(QueueOnly(study, 100.0).ask_or_stop(), Evaluation)


def test_the_limit_holds_for_what_is_really_paid_and_the_rest_is_withdrawn() -> None:
    study = half_measured()
    expensive = {"a": lambda d: (d["x"], 10.0), "b": lambda d: (1 - d["x"], 1.0)}
    found = study.confirm(expensive, budget=12.5)
    assert len(found) == 3
    assert study.spent == 10.0, "2.5 are left, and a reading costs 4 and more"
    assert study.queue == ()
    assert sum(isinstance(event, Dequeued) for event in study.events) == 2


def test_the_queue_alone_waits_for_what_others_must_measure() -> None:
    storage = MemoryStorage()
    study = half_measured(storage=storage)
    study.confirm()
    answer = study.ask_queued_or_stop(["b"])
    assert isinstance(answer, Stop)
    assert (answer.kind, answer.waits) == (StopKind.WAITING, True)
