"""Tests of the benchmark of questions with steps."""

from __future__ import annotations

from benchmarks.step_asks import LAST, STOPS, asking_seconds, error, told


def test_a_third_of_the_designs_is_complete_and_the_others_stopped_early() -> None:
    study = told(6, steps=True)
    reached = study.history.all_reached(0, study.history.designs)
    assert sorted(reached.tolist()) == [STOPS[0], STOPS[0], STOPS[1], STOPS[1], LAST, LAST]
    assert study.history.count(0) == 2
    assert told(6, steps=False).history.count(0) == 6


def test_questions_of_both_kinds_are_timed_and_answered() -> None:
    for steps in (False, True):
        study = told(12, steps=steps)
        assert asking_seconds(study, 1) > 0.0
        assert len(study.history.asked) == 2
    design = dict.fromkeys(study.space.names, 0.4)
    assert error(design, 81) < error(design, 9)
