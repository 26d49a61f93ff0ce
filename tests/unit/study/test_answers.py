"""What is told, failed, released or added: what counts, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.study.small_studies import LINE, SPACE, asked, line, opened, robbed

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.executors import Outcome
from flexibo.history.events import Asked, Failed, Released, Told
from flexibo.storage import MemoryStorage
from flexibo.study.answers import added_event, release_events

Make = Callable[..., Study]


def test_a_second_different_value_of_an_exact_objective_is_refused(make_study: Make) -> None:
    study = make_study()
    design = {"filters": 64, "kernel": "3x3", "cpu_ghz": 1.0, "cores": 2}
    study.add(design, {"error": 0.2})
    study.add(design | {"cores": 3}, {"error": 0.2})
    with pytest.raises(InvalidValueError, match=r"is 0\.2 already"):
        study.add(design | {"cores": 3}, {"error": 0.3})


def test_telling_twice_is_refused_and_nothing_is_lost(make_study: Make) -> None:
    study = make_study()
    evaluation = study.ask()
    assert evaluation is not None
    study.tell(evaluation, 0.5, cost=1.0)
    with pytest.raises(InvalidValueError, match="was answered already"):
        study.tell(evaluation, 0.6, cost=1.0)
    with pytest.raises(InvalidValueError, match="was answered already"):
        study.fail(evaluation, "late")
    assert [row.value for row in study.trace()] == [0.5]


def test_an_evaluation_of_another_study_is_refused(make_study: Make) -> None:
    evaluation = make_study(seed=5).ask()
    study = make_study()
    study.ask()
    assert evaluation is not None
    with pytest.raises(InvalidValueError, match=r"Evaluation 0 \('error'\).*never asked"):
        study.tell(evaluation, 0.5)
    with pytest.raises(InvalidTypeError, match="'first'"):
        study.tell("first", 0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"0\.0"):
        study.tell(replace(evaluation, number=0.0), 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "cost"), [(math.nan, 1.0), (math.inf, 1.0), ("x", 1.0), (0.5, -1.0), (0.5, math.nan)]
)
def test_a_bad_answer_is_refused_and_the_evaluation_stays_pending(make_study: Make, value: object, cost: float) -> None:
    study = make_study()
    evaluation = study.ask()
    assert evaluation is not None
    with pytest.raises((InvalidValueError, InvalidTypeError)):
        study.tell(evaluation, value, cost=cost)
    assert study.pending == (evaluation,)
    study.tell(evaluation, 0.5, cost=0)
    assert study.pending == ()


def test_who_tells_no_value_is_pointed_to_fail_and_a_failed_attempt_is_not(make_study: Make) -> None:
    study = make_study()
    evaluation = study.ask()
    assert evaluation is not None
    with pytest.raises(InvalidValueError, match=rf"{evaluation.objective}.* nan;.*fail\(\)"):
        study.tell(evaluation, math.nan)
    study.release(evaluation)
    study.run({name: lambda design: math.nan for name in study.history.names}, raise_first=False)
    reasons = [event.reason for event in study.events if isinstance(event, Failed)]
    assert reasons
    assert not any("fail(" in reason for reason in reasons)


def test_a_late_answer_to_a_released_evaluation_counts_once() -> None:
    study = line()
    evaluation = study.ask()
    assert evaluation is not None
    study.release(evaluation)
    study.tell(evaluation, 0.5, cost=2.0)
    assert study.spent == 2.0
    with pytest.raises(InvalidValueError, match="answered already"):
        study.tell(evaluation, 0.6, cost=2.0)
    assert sum(isinstance(event, Told) for event in study.events) == 1


def test_a_diverged_value_is_a_failed_measurement() -> None:
    study = line(budget=10)
    study.run({"a": lambda d: (1e200 if d["x"] > 0.5 else d["x"], 1.0), "b": LINE["b"]})
    failed = [row for row in study.trace() if row.value is None]
    assert failed
    assert "at most 1e+100" in failed[0].reason
    assert study.front()


def test_a_reading_beyond_the_bounds_is_refused_and_a_failed_measurement_in_a_run() -> None:
    study = Study({"x": (0.0, 1.0)}, [Objective("a", lower=0, upper=1), "b"], seed=0, n_initial=3, budget=14)
    evaluation = asked(study, only=["a"])
    with pytest.raises(InvalidValueError, match=r"'a'.* 1\.5,.*upper bound 1;"):
        study.tell(evaluation, 1.5, cost=1.0)
    with pytest.raises(InvalidValueError, match=r"'a'.* -2,.*lower bound 0;"):
        study.add({"x": 0.3}, {"a": -2.0})
    assert study.pending == (evaluation,)
    study.tell(evaluation, 0.5, cost=1.0)
    study.run({"a": lambda d: (2.0 if d["x"] > 0.5 else d["x"], 1.0), "b": LINE["b"]})
    failed = [row for row in study.trace() if row.value is None]
    assert failed
    assert "upper bound 1" in failed[0].reason
    assert study.front()


def test_a_reference_may_be_beyond_the_bounds() -> None:
    objectives = [Objective("a", lower=0, upper=1), Objective("b")]
    study = Study({"x": (0.0, 1.0)}, objectives, seed=0, reference={"a": 1.1, "b": 5.0})
    assert study.history.reference is not None


def test_values_that_come_along_are_learned() -> None:
    study = line(stop={"max_evaluations": 3})
    study.run({"a": lambda d: ({"a": d["x"], "b": 1.0 - d["x"]}, 1.0), "b": LINE["b"]})
    assert [row.objective for row in study.trace()] == ["a", "a", "a"]
    assert len(study.front()) == 3


def test_an_unknown_objective_in_an_answer_is_refused() -> None:
    study = line()
    evaluation = study.ask()
    assert evaluation is not None
    with pytest.raises(InvalidValueError, match="Unknown objective 'latency'"):
        study.tell(evaluation, {"a": 1.0, "latency": 2.0})


def test_a_failure_of_one_that_was_robbed_leaves_the_evaluation_to_the_other() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    lost, again = robbed(storage, first, second)
    first.tell_outcome(Outcome(lost, None, 9.0, "It took longer than its timeout of 1 s.", impossible=True))
    second.tell_outcome(Outcome(again, {"a": 0.5}, 3.0))
    assert second.history.count(0) == 1
    assert second.spent == 12.0
    assert not any(isinstance(event, Failed) for event in second.events)


def test_the_second_answer_by_hand_counts_by_its_cost_alone() -> None:
    storage = MemoryStorage()
    first, second = opened(storage), opened(storage)
    lost, again = robbed(storage, first, second)
    first.tell(lost, 0.25, cost=4.0)
    second.tell(again, 0.5, cost=5.0)
    assert second.spent == 9.0
    assert second.history.known(0).popitem()[1] == 0.25
    with pytest.raises(InvalidValueError, match="answered already"):
        first.tell(lost, 0.3, cost=4.0)
    first.tell(lost, 0.25, cost=4.0)
    assert first.spent == 9.0


def test_an_answer_that_the_storage_kept_although_it_failed_counts_once() -> None:
    study = opened(None)
    outcome = Outcome(asked(study), {"a": 0.5}, 3.0)
    study.tell_outcome(outcome)
    study.tell_outcome(outcome)
    assert study.spent == 3.0
    assert [type(event) for event in study.events[-2:]] == [Asked, Told]


def test_an_answer_must_hold_all_values_that_its_measurement_yields() -> None:
    study = Study(SPACE, ["a", Objective("b", measured_with="a"), "c"], seed=0, n_initial=1)
    evaluation = asked(study, only=["b"])
    with pytest.raises(InvalidValueError, match=r"'b'.* a, b"):
        study.tell(evaluation, 0.5)
    study.tell(evaluation, {"a": 0.5, "b": 0.25, "c": 1.0})
    assert [study.history.count(j) for j in range(3)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("values", "cost", "error", "facts"),
    [
        ({}, None, InvalidTypeError, "values is {};"),
        (0.5, None, InvalidTypeError, r"values is 0\.5;"),
        ({"a": 1.0, "b": 2.0}, 3.0, InvalidTypeError, r"cost is 3\.0 for a, b;"),
        ({"a": 1.0}, {"z": 1.0}, UnknownNameError, "'z'"),
        ({"z": 1.0}, None, UnknownNameError, "'z'"),
        ({"a": 1.0}, -1.0, InvalidValueError, r"cost is -1\.0;"),
    ],
)
def test_a_known_result_that_makes_no_sense_is_refused(
    values: Any, cost: Any, error: type[Exception], facts: str
) -> None:
    study = line()
    with pytest.raises(error, match=facts):
        study.add({"x": 0.5}, values, cost=cost)
    assert len(study.history.measurements) == 0


def test_the_cost_of_a_known_value_is_that_of_its_measurement() -> None:
    study = Study(SPACE, ["a", Objective("b", measured_with="a")], seed=0)
    event = added_event(study.history, {"x": 0.5, "k": 1}, {"b": 2.0}, 7.0)
    assert (event.values, event.costs) == ({"b": 2.0}, {"a": 7.0})


def test_an_evaluation_is_released_once_and_not_after_its_answer() -> None:
    study = line()
    evaluation = asked(study)
    assert release_events(study.history, evaluation) == [Released(evaluation.number)]
    study.tell(evaluation, 0.5, cost=1.0)
    assert release_events(study.history, evaluation) == []
    with pytest.raises(InvalidValueError, match="never asked"):
        release_events(study.history, replace(evaluation, number=5))


def test_a_failure_that_was_known_before_is_added_and_never_asked() -> None:
    study = Study(Space({"x": [0, 1, 2]}), [Objective("a"), Objective("b")], n_initial=3, seed=0)
    study.add({"x": 1}, failed={"a": "too large"}, cost=4.0)
    assert (study.spent, study.history.failure_costs(0).tolist()) == (0.0, [4.0])
    while evaluation := study.ask():
        assert (evaluation.design["x"], evaluation.objective) != (1, "a")
        study.tell(evaluation, float(evaluation.design["x"]))
    with pytest.raises(InvalidValueError, match="'a'"):
        study.add({"x": 2}, {"a": 1.0}, failed="a")
    with pytest.raises(UnknownNameError, match="'c'"):
        study.add({"x": 2}, failed="c")
    with pytest.raises(InvalidTypeError):
        study.add({"x": 2})


def given_back(study: Study, evaluation: Any, cost: float = 30.0) -> Outcome:
    return Outcome(evaluation, None, cost, "Its worker sent nothing for 60 s.", released=True)


def test_an_evaluation_whose_machine_was_lost_is_given_back_and_no_failure_of_its_design(make_study: Make) -> None:
    study = make_study()
    evaluation = study.ask()
    assert evaluation is not None
    study.tell_outcome(given_back(study, evaluation))
    assert study.events[-1] == Released(evaluation.number, "Its worker sent nothing for 60 s.", 0.0)
    assert study.pending == ()
    assert not any(isinstance(event, Failed) for event in study.events)
    assert study.history.failed_attempts.total() == 0
    study.tell_outcome(given_back(study, evaluation))  # again, as after a storage that failed while it wrote
    assert sum(isinstance(event, Released) for event in study.events) == 1


@pytest.mark.parametrize(("timed", "charged"), [(True, 30.0), (False, 7.0)])
def test_what_a_lost_machine_cost_is_charged_in_the_units_of_the_objective(
    make_study: Make, timed: bool, charged: float
) -> None:
    study = make_study()
    evaluation = study.ask()
    assert evaluation is not None
    study.history.timed[evaluation.objective] = timed
    study.tell_outcome(given_back(study, replace(evaluation, cost=7.0)))
    assert study.spent == charged


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("design", None),
        ("objective", None),
        ("objective", ["a"]),
        ("yields", None),
        ("yields", ([],)),
        ("token", None),
        ("cost", "1"),
        ("gain", [1.0]),
    ],
)
def test_an_evaluation_that_ask_cannot_have_returned_is_refused(make_study: Make, field: str, value: object) -> None:
    study = make_study()
    evaluation = replace(asked(study), **{field: value})
    with pytest.raises(InvalidTypeError, match=field):
        study.tell(evaluation, 1.0, cost=1.0)
    with pytest.raises(InvalidTypeError, match=field):
        study.fail(evaluation, "burnt")
    assert len(study.pending) == 1
