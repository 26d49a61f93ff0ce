"""Runs of a study: one at a time, and whatever ends them, nothing stays claimed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.unit.study.small_studies import FUNCTIONS, opened

from flexibo import Study
from flexibo.errors import DesignError, InvalidTypeError, InvalidValueError
from flexibo.executors import Executor, InlineExecutor
from flexibo.history.events import Forgiven, Released, Stopped
from flexibo.optimizer import StopKind
from flexibo.space import Design
from flexibo.study._runs import Runs

Functions = dict[str, Callable[[Design], tuple[float, float]]]
Make = Callable[..., Study]


def begun(runs: Runs, study: Study, executor: Executor | str = "inline") -> Any:
    return runs.begun(study.history, FUNCTIONS, executor, some=False)


def test_a_second_run_waits_for_nobody_and_is_refused() -> None:
    runs, study = Runs(), opened(None)
    with begun(runs, study) as means:
        assert set(means.functions) == {"a", "b"}
        with pytest.raises(InvalidValueError, match="being run already"), begun(runs, study):
            pass
    with begun(runs, study):
        pass


def test_an_error_during_a_run_lets_the_next_begin() -> None:
    runs, study = Runs(), opened(None)
    with pytest.raises(ZeroDivisionError), begun(runs, study):
        raise ZeroDivisionError
    with begun(runs, study):
        pass


def test_an_executor_of_the_user_stays_open() -> None:
    closed: list[int] = []

    class Watched(InlineExecutor):
        def close(self) -> None:
            closed.append(1)

    with begun(Runs(), opened(None), Watched()) as means:
        assert isinstance(means.executor, Watched)
    assert closed == []


def test_what_is_no_executor_is_refused_before_anything_is_asked() -> None:
    study = opened(None)
    with pytest.raises(InvalidTypeError):
        study.run(FUNCTIONS, executor=InlineExecutor)  # type: ignore[arg-type]
    assert study.history.asked == []


def test_a_study_object_is_run_once_at_a_time() -> None:
    study = opened(None, budget=30, method="random")

    def nested(design: Any) -> Any:
        with pytest.raises(InvalidValueError, match="being run already"):
            study.run(FUNCTIONS)
        return FUNCTIONS["a"](design)

    study.run({"a": nested, "b": FUNCTIONS["b"]})
    assert study.spent > 20


def test_an_interrupt_keeps_what_was_measured_and_prints_the_front(
    make_study: Make, functions: Functions, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study()

    def interrupted(name: str, design: Design) -> tuple[float, float]:
        if len(study.trace()) == 10:
            raise KeyboardInterrupt
        return functions[name](design)  # type: ignore[no-any-return]

    study.run({name: partial(interrupted, name) for name in functions})
    assert study.stop_kind is StopKind.INTERRUPTED
    assert len(study.trace()) == 10
    assert study.pending == ()
    assert [type(event) for event in study.events[-2:]] == [Released, Stopped]
    assert "Confirmed front" in capsys.readouterr().err
    assert study.ask() is not None


def test_a_study_that_gave_up_on_failures_begins_anew_when_it_is_run_again() -> None:
    def broken(design: Any) -> float:
        raise RuntimeError("The board is off.")

    study = opened(None, budget=60, method="random")
    study.run({"a": FUNCTIONS["a"], "b": broken}, raise_first=False)
    assert study.stop_kind is StopKind.FAILING
    study.run(FUNCTIONS)
    assert Forgiven() in study.events
    assert study.spent > 50


def test_the_error_of_the_first_call_of_a_function_is_raised_and_nothing_is_counted() -> None:
    def broken(design: Any) -> float:
        raise KeyError("batch")

    study = opened(None, budget=60)
    with pytest.raises(KeyError, match="batch") as caught:
        study.run({"a": FUNCTIONS["a"], "b": broken})
    if sys.version_info >= (3, 11):
        assert all(name in caught.value.__notes__[0] for name in study.space.names)
    assert not study.history.failed_attempts["b"]
    assert not study.history.pending
    study.run(FUNCTIONS)
    assert study.spent > 50


@pytest.mark.parametrize("error", [MemoryError("full"), DesignError("no such kernel"), TimeoutError("too long")])
def test_what_the_first_call_says_of_its_design_is_a_failure(error: Exception) -> None:
    calls: list[Design] = []

    def fragile(design: Design) -> tuple[float, float]:
        calls.append(design)
        if len(calls) == 1:
            raise error
        return FUNCTIONS["b"](design)

    study = opened(None, budget=60, stop={"max_evaluations": 6})
    study.run({"a": FUNCTIONS["a"], "b": fragile})
    assert study.history.failed_attempts["b"] == 1


def test_a_function_that_worked_before_fails_its_evaluation_when_it_is_run_again() -> None:
    study = opened(None, budget=60, stop={"max_evaluations": 4})
    study.run(FUNCTIONS)
    study.stop = {"max_evaluations": 6}

    def broken(design: Any) -> float:
        raise RuntimeError("The board is off.")

    study.run({"a": broken, "b": broken})
    assert sum(study.history.failed_attempts.values()) > 0
