"""Measuring in this process: readings, costs, time limits, and the reasons of failures."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.executors.questions import ERROR, one, question

from flexibo import Design, Objective
from flexibo.errors import DesignError, MachineError
from flexibo.executors.measure import (
    MOST_PRINTED,
    InlineExecutor,
    WrongValueError,
    current_evaluation,
    exit_description,
    failure,
    measured,
    note_printed,
)
from flexibo.history.events import FailureKind


def clock_of(*times: float) -> Callable[[], float]:
    ticks = iter(times)
    return lambda: next(ticks)


def in_turn(*results: Any) -> Callable[[Design], Any]:
    rest = iter(results)
    return lambda design: next(rest)


def raising(error: Exception) -> Callable[[Design], Any]:
    def measure(design: Design) -> float:
        raise error

    return measure


def test_an_executor_in_this_process_measures_in_turn_when_it_is_asked_for_outcomes() -> None:
    executor = InlineExecutor(clock=clock_of(0.0, 2.0, 5.0, 9.0))
    calls: list[object] = []
    for number in range(2):
        executor.submit(question(number), ERROR, lambda design: calls.append(design["x"]) or 1.0)
    assert (calls, executor.has_room(ERROR), executor.is_busy()) == ([], False, True)
    assert [(outcome.evaluation.number, outcome.cost) for outcome in executor.finished(0)] == [(0, 2.0), (1, 4.0)]
    assert calls == [0, 1]
    executor.submit(question(), ERROR, lambda design: calls.append("never") or 1.0)
    executor.close()
    assert (list(executor.finished()), calls) == ([], [0, 1])


def test_the_median_is_of_the_values_that_every_reading_gave() -> None:
    readings = in_turn({"error": 1.0, "late": 1.0}, {"error": 9.0}, {"error": 2.0, "late": 3.0})
    outcome = measured(question(), Objective("error", repeats=3), readings)
    assert outcome.values == {"error": 2.0}


def test_costs_that_were_given_add_up_even_if_a_later_reading_fails() -> None:
    outcome = measured(question(), Objective("error", repeats=3), in_turn((1.0, 2.5), (1.0, 4.0), ("none", 1.0)))
    assert (outcome.values, outcome.cost, outcome.timed) == (None, 7.5, False)
    assert "'none'" in outcome.reason


@pytest.mark.parametrize(
    ("result", "facts"),
    [
        ((1.0, 2.0, 3.0), "'error' .*3 items"),
        ((1.0, -1.0), r"'error' .*cost -1\.0"),
        ((1.0, True), "'error' .*cost True"),
        ((1.0, "2"), "'error' .*cost '2'"),
        ((1.0, float("nan")), "'error' .*cost nan"),
        ({"other": 1.0}, "'error' .*no value of 'error'"),
        (None, "'error'.*None"),
        (float("inf"), "'error'.*inf"),
    ],
)
def test_a_result_that_cannot_be_used_is_the_reason_of_a_failure(result: object, facts: str) -> None:
    outcome = measured(question(), ERROR, lambda design: result, clock=clock_of(10.0, 13.0))
    assert (outcome.values, outcome.cost, outcome.impossible) == (None, 3.0, False)
    assert re.search(facts, outcome.reason)


def test_all_values_that_an_evaluation_yields_must_be_given() -> None:
    both = replace(question(), yields=("error", "size"))
    assert "no value of 'size'" in measured(both, ERROR, lambda design: {"error": 1.0}).reason
    more = measured(both, ERROR, lambda design: {"error": 1, "size": 2.5, "beside": 3})
    assert more.values == {"error": 1.0, "size": 2.5, "beside": 3.0}


def test_a_design_that_cannot_be_built_is_impossible_and_a_fault_of_the_machine_is_raised() -> None:
    def unbuildable(design: Design) -> float:
        raise DesignError("Too large.")

    def unplugged(design: Design) -> float:
        raise MachineError("No meter.")

    outcome = measured(question(), ERROR, unbuildable)
    assert (outcome.impossible, outcome.reason) == (True, "Too large.")
    with pytest.raises(MachineError, match=r"^No meter\.$"):
        measured(question(), ERROR, unplugged)
    assert current_evaluation() is None


@pytest.mark.parametrize(
    ("cost", "expected", "timed"),
    [(0.25, 0.25, False), (0.0, 0.0, False), (None, 7.0, True), (-1.0, 7.0, True), (float("nan"), 7.0, True)],
)
def test_a_design_that_cannot_be_measured_costs_what_its_error_says_or_the_time_it_took(
    cost: float | None, expected: float, timed: bool
) -> None:
    refused = raising(DesignError("Too large.", cost=cost))
    outcome = measured(question(), ERROR, refused, clock=clock_of(10.0, 17.0))
    assert (outcome.cost, outcome.timed, outcome.impossible) == (expected, timed, True)
    assert outcome.seconds == 7.0


def test_a_function_can_ask_which_evaluation_it_measures_and_evaluations_may_nest() -> None:
    seen: list[object] = []

    def inner(design: Design) -> float:
        seen.append(current_evaluation())
        return 1.0

    def outer(design: Design) -> float:
        measured(question(2), ERROR, inner)
        seen.append(current_evaluation())
        return 1.0

    measured(question(1), ERROR, outer)
    assert seen == [question(2), question(1)]
    assert current_evaluation() is None


def test_the_reason_of_an_error_says_where_it_was_raised() -> None:
    def broken(design: Design) -> float:
        raise KeyError("weights")

    line = broken.__code__.co_firstlineno + 1
    assert measured(question(), ERROR, broken).reason == f"KeyError: 'weights' (test_measure.py, line {line})"
    assert failure(KeyError("weights")) == "KeyError: 'weights'"
    assert failure(TimeoutError("late")) == "late"


def test_a_function_is_interrupted_at_its_timeout_and_the_alarm_is_put_back() -> None:
    def hang(design: Design) -> float:
        signal.pause()
        return 1.0

    before = signal.getsignal(signal.SIGALRM)
    outcome = measured(question(), Objective("error", timeout=0.01), hang)
    assert outcome.values is None
    assert "timeout of 0.01 s" in outcome.reason
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_where_nothing_can_interrupt_a_function_it_fails_once_it_returns_too_late() -> None:
    found: list[Any] = []
    late = Objective("error", timeout=5.0)

    def work() -> None:
        found.append(measured(question(), late, one, clock=clock_of(0.0, 5.5)))
        found.append(measured(question(), late, one, clock=clock_of(0.0, 4.5)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    too_late, in_time = found
    assert (too_late.values, too_late.cost) == (None, 5.5)
    assert "timeout of 5 s" in too_late.reason
    assert in_time.values == {"error": 1.0}


def test_how_a_process_ended_is_said_in_words() -> None:
    assert "SIGKILL" in exit_description(-9)
    assert "SIGSEGV" in exit_description(-11)
    assert "signal 99" in exit_description(-99)
    assert "status 3" in exit_description(3)
    assert "lost" in exit_description(None)


def raises(error: BaseException) -> Callable[[Design], Any]:
    def measure(design: Design) -> Any:
        raise error

    return measure


@pytest.mark.parametrize(
    ("measure", "kind"),
    [
        (raises(ValueError("broken")), FailureKind.ERROR),
        (raises(TimeoutError("of a socket")), FailureKind.ERROR),
        (raises(WrongValueError("no number")), FailureKind.VALUE),
        (in_turn(float("nan")), FailureKind.VALUE),
        (in_turn("fast"), FailureKind.VALUE),
        (in_turn((1.0, -1.0)), FailureKind.VALUE),
    ],
)
def test_a_failure_has_a_kind(measure: Callable[[Design], Any], kind: FailureKind) -> None:
    assert measured(question(), ERROR, measure).kind is kind


def test_what_took_too_long_has_a_kind_of_its_own() -> None:
    slow = Objective("error", timeout=5)
    outcome = measured(question(), slow, in_turn(1.0), clock=clock_of(0.0, 7.0))
    assert (outcome.values, outcome.cost, outcome.kind) == (None, 7.0, FailureKind.TIMEOUT)


@pytest.mark.parametrize(
    ("measure", "is_mistake"),
    [
        (lambda design: 1 / 0, True),
        (lambda design: None, True),
        (lambda design: float("nan"), False),
        (raising(MemoryError("full")), False),
        (raising(DesignError("no such kernel")), False),
        (raising(TimeoutError("too long")), False),
    ],
)
def test_an_error_that_says_nothing_of_the_design_is_a_mistake_with_its_traceback(
    measure: Callable[[Design], Any], is_mistake: bool
) -> None:
    outcome = measured(question(), ERROR, measure, clock=clock_of(0.0, 2.5))
    assert bool(outcome.mistake) == (outcome.error is not None) == is_mistake
    assert outcome.seconds == 2.5


def test_what_a_program_printed_comes_with_the_outcome_as_far_as_it_is_short() -> None:
    def chatty(design: Design) -> float:
        note_printed("begin" + "x" * MOST_PRINTED)
        note_printed("the end")
        return 1.0

    printed = measured(question(), ERROR, chatty).printed
    assert printed.endswith("the end")
    assert len(printed) == MOST_PRINTED
    note_printed("nobody measures")
