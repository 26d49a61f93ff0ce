"""The queue of a study: designs that users put next in line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.study.small_studies import FUNCTIONS, SPACE, answered, asked, opened, snapshot

from flexibo import Objective, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.history.events import BudgetSet
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage

HERE = {"x": 0.25, "k": 2}
NOISY = [Objective("a", cost=5.0), Objective("b", noisy=True, cost=1.0)]


def noisy(**settings: Any) -> Study:
    return Study(SPACE, NOISY, **({"seed": 3, "n_initial": 2, "candidates": 30, "method": "random"} | settings))


class TestEnqueue:
    def test_a_queued_design_is_asked_before_the_initial_designs_and_those_are_asked_after_it(self) -> None:
        study = opened(None, budget=60)
        assert study.enqueue(HERE).objectives == ("a", "b")
        first = [asked(study), asked(study)]
        assert [(e.objective, e.queued, e.initial) for e in first] == [("a", 0, False), ("b", 0, False)]
        assert all(dict(e.design) == HERE for e in first)
        assert study.pending == tuple(first)
        answered(study, first[0])
        assert asked(study).initial

    def test_the_queue_is_asked_before_the_method_chooses_and_decides_no_question_after_it(self) -> None:
        study = opened(None, budget=100)
        study.run(FUNCTIONS)
        study.budget = 130
        study.enqueue({"x": 0.5, "k": 1}, ["b"])
        question = asked(study)
        assert (question.objective, question.queued) == ("b", 0)
        answered(study, question)
        assert asked(study).queued is None
        assert study.reference is not None

    def test_only_the_named_objectives_are_measured_in_their_order(self) -> None:
        objectives = [Objective("a"), Objective("b"), Objective("c", measured_with="b")]
        study = Study(SPACE, objectives, n_initial=2, seed=0)
        assert study.enqueue(HERE, ["c", "b", "a"]).objectives == ("b", "a"), "b yields c too"
        assert asked(study).yields == ("b", "c")

    def test_the_queue_is_stored_with_the_study_and_asked_by_whoever_can_measure_it(self) -> None:
        storage = MemoryStorage()
        opened(storage).enqueue(HERE, why="from the paper")
        other = Study.load(storage)
        assert other.queue[0].why == "from the paper"
        question = asked(other, only=["b"])
        assert (question.objective, question.why) == ("b", "from the paper")
        assert asked(Study.load(storage), only=["a"]).queued == 0

    @pytest.mark.parametrize("executor", ["inline", "processes"])
    def test_a_run_measures_the_queue_first(self, executor: str) -> None:
        study = noisy(budget=30)
        study.enqueue(HERE, readings=3)
        study.run({"a": _first, "b": _second}, executor=executor, progress=False)
        assert study.queue == ()
        assert [e.objective for e in study.history.asked if e.queued == 0] == ["a", "b", "b", "b"]
        assert [e.queued for e in study.history.asked[:2]] == [0, 0]

    def test_more_readings_are_taken_of_a_noisy_objective_and_only_of_it(self) -> None:
        study = noisy()
        study.add(HERE, {"a": 1.0, "b": 1.0})
        with pytest.raises(InvalidValueError, match=r"'a'.*'b'.*readings"):
            study.enqueue(HERE)
        assert study.enqueue(HERE, readings=3).objectives == ("b",)
        for value in (1.1, 1.2):
            study.tell(asked(study), value)
        assert study.queue == ()
        assert study.history.count(1) == 3

    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ({"design": {"x": 0.25}}, InvalidValueError),
            ({"design": {"x": 7.0, "k": 2}}, InvalidValueError),
            ({"design": {**HERE, "z": 1}}, UnknownNameError),
            ({"design": "x=1"}, (InvalidTypeError, InvalidValueError)),
            ({"objectives": ["c"]}, UnknownNameError),
            ({"objectives": "a"}, InvalidTypeError),
            ({"objectives": []}, InvalidTypeError),
            ({"objectives": [None]}, UnknownNameError),
            ({"readings": 0}, InvalidValueError),
            ({"readings": 10**20}, InvalidValueError),
            ({"readings": 1.5}, InvalidValueError),
            ({"why": 3}, InvalidTypeError),
            ({"budget": -1.0}, InvalidValueError),
            ({"budget": 5.0}, InvalidValueError),
        ],
    )
    def test_a_mistake_changes_nothing(self, given: Mapping[str, Any], error: Any) -> None:
        study = noisy(budget=50)
        before = snapshot(study)
        with pytest.raises(error):
            study.enqueue(**({"design": HERE} | given))
        assert snapshot(study) == before

    def test_what_is_queued_being_measured_measured_or_hopeless_is_refused_in_one_sentence(self) -> None:
        study = opened(None)
        study.enqueue(HERE, ["a"])
        for state in ("queued", "queued"):  # while it is being measured it is still in the queue
            with pytest.raises(InvalidValueError, match=f"'a'.*{state}"):
                study.enqueue(HERE, ["a"])
            evaluation = asked(study) if not study.pending else study.pending[0]
        study.dequeue()
        with pytest.raises(InvalidValueError, match=r"'a'.*being measured"):
            study.enqueue(HERE, ["a"])
        answered(study, evaluation)
        with pytest.raises(InvalidValueError, match=r"'a'.*measured already"):
            study.enqueue(HERE, ["a", "b"])
        study.enqueue(HERE)
        study.fail(asked(study), "too wide", impossible=True)
        assert study.queue == ()
        with pytest.raises(InvalidValueError, match=r"'b'.*for good"):
            study.enqueue(HERE, ["b"])

    def test_two_processes_do_not_queue_the_same_twice(self) -> None:
        storage = MemoryStorage()
        first, second = opened(storage), opened(storage)
        first.enqueue(HERE)
        with pytest.raises(InvalidValueError, match="queued"):
            second.enqueue(HERE)
        assert len(second.queue) == 1

    def test_a_budget_that_is_too_small_is_refused_unless_more_is_granted(self) -> None:
        study = noisy(budget=12)
        study.enqueue(HERE)
        before = snapshot(study)
        with pytest.raises(InvalidValueError, match=r"a, b.*7.*6"):
            study.enqueue({"x": 0.5, "k": 1}, ["a", "b"], readings=2)
        assert snapshot(study) == before
        study.enqueue({"x": 0.5, "k": 1}, budget=9.0)
        assert study.budget == 12.0 - 6.0 + 9.0, "6 of 12 were left"
        assert isinstance(study.events[-2], BudgetSet)

    def test_what_is_queued_is_reserved_for_those_who_can_measure_it(self) -> None:
        study = noisy(budget=14.5, n_initial=1)
        study.enqueue(HERE, ["a"])
        first = asked(study, only=["b"])
        assert first.queued is None
        study.tell(first, 1.0, cost=8.0)
        assert study.ask(only=["b"]) is None, "6.5 are left: 5 for the queue, and 1.5 do not pay for a reading of 8"
        assert asked(study).queued == 0

    def test_rules_for_stopping_end_the_search_and_not_the_queue(self) -> None:
        study = opened(
            None, stop=[{"max_evaluations": 1, "gain_per_cost": 1e9, "certified_error": 0.5}, lambda _: "no"]
        )
        study.enqueue(HERE)
        study.run(FUNCTIONS)
        assert [e.queued for e in study.history.asked] == [0, 0]
        assert study.stop_kind is StopKind.RULE

    def test_the_time_of_a_process_holds_for_the_queue_too(self) -> None:
        study = opened(None, stop={"max_seconds": 0.0})
        study.enqueue(HERE)
        study.run(FUNCTIONS)
        assert study.history.asked == []
        assert len(study.queue) == 1


class TestDequeue:
    def test_one_or_all_queued_designs_are_withdrawn(self) -> None:
        study = opened(None)
        for k in (1, 2, 3):
            study.enqueue({"x": 0.5, "k": k})
        study.dequeue(1)
        assert [queued.number for queued in study.queue] == [0, 2]
        with pytest.raises(InvalidValueError, match=r"1.*0, 2"):
            study.dequeue(1)
        with pytest.raises(InvalidValueError, match="all"):
            study.dequeue("all")  # type: ignore[arg-type]
        study.dequeue()
        assert study.queue == ()
        assert study.enqueue(HERE).number == 3

    def test_what_is_being_measured_may_still_be_answered(self) -> None:
        study = opened(None)
        study.enqueue(HERE, ["a"])
        evaluation = asked(study)
        study.dequeue(0)
        answered(study, evaluation)
        assert study.history.count(0) == 1


class TestLostWorkers:
    def test_what_a_lost_worker_held_of_the_queue_is_asked_again(self) -> None:
        storage = MemoryStorage()
        first = opened(storage)
        first.enqueue(HERE, ["a"])
        lost = asked(first)
        first.close()
        again = Study.load(storage)
        assert asked(again) == lost
        again.close()
        again = Study.load(storage)
        assert again.ask_queued_or_stop() == lost, "also by one who measures the queue alone"

    def test_what_was_withdrawn_meanwhile_is_given_back(self) -> None:
        storage = MemoryStorage()
        first = opened(storage)
        first.enqueue(HERE, ["a"])
        lost = asked(first)
        first.close()
        again = Study.load(storage)
        again.dequeue()
        assert asked(again).number == lost.number + 1
        assert lost.number not in again.history.pending


def _first(design: Any) -> tuple[float, float]:
    return float(design["x"]), 5.0


def _second(design: Any) -> tuple[float, float]:
    return 1.0 - design["x"], 1.0
