"""Why an objective of a design need not be queued."""

from __future__ import annotations

from flexibo import Objective, Study
from flexibo.study.queue_states import MEASURED, QUEUED, closed_because


def test_what_is_known_queued_measured_or_hopeless_need_not_be_queued() -> None:
    study = Study({"x": [1, 2, 3, 4, 5]}, [Objective("a", noisy=True), Objective("b")], seed=0)
    design = {n: study.space.design({"x": n}) for n in range(1, 6)}
    study.add(design[1], {"a": 1.0})
    study.enqueue(design[2], ["a"])
    study.add(design[3], {}, failed="a")
    history = study.history
    assert closed_because(history, "a", design[1]) == MEASURED
    assert closed_because(history, "a", design[1], readings=2) == ""
    assert closed_because(history, "a", design[2]) == QUEUED
    assert closed_because(history, "a", design[3])
    assert closed_because(history, "a", design[4]) == ""
    asked = study.ask()
    assert asked is not None
    assert asked.design == design[2]
    assert closed_because(history, "a", design[2])
