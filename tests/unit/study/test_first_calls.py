"""First calls of functions: a mistake is found early, and nothing that was measured is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import FUNCTIONS, opened

from flexibo import Objective, Study
from flexibo.errors import DesignError, FunctionError, MachineError
from flexibo.executors import InlineExecutor, ProcessExecutor
from flexibo.history.events import Asked, Released
from flexibo.objectives import Objective as Measured
from flexibo.optimizer import StopKind
from flexibo.study.first_calls import MOST_DESIGNS, untried

SPACE = {"x": (0.0, 1.0), "kind": ["p", "q"]}
Function = Callable[[Any], Any]


def study_of(**settings: Any) -> Study:
    return Study(SPACE, [Objective("error", cost=60.0), Objective("joules", cost=2.0)], budget=600, seed=0, **settings)


def works(design: Any) -> tuple[float, float]:
    return float(design["x"]) + 1.0, 2.0


def broken(design: Any) -> float:
    raise KeyError("batch")


def test_each_objective_is_tried_once_of_one_design_the_cheapest_first() -> None:
    study = study_of()
    outcomes = study.try_out({"error": works, "joules": works})
    assert [outcome.evaluation.objective for outcome in outcomes] == ["joules", "error"]
    assert len({outcome.evaluation.design for outcome in outcomes}) == 1
    assert all(outcome.values is not None and outcome.evaluation.initial for outcome in outcomes)
    assert study.stop_kind is StopKind.TRIED


def test_nothing_of_the_start_is_lost_by_trying() -> None:
    tried, direct = (study_of(stop={"max_evaluations": 24}) for _ in range(2))
    tried.try_out({"error": works, "joules": works})
    for study in (tried, direct):
        study.run({"error": works, "joules": works})
    assert {(e.objective, e.design) for e in list(tried.history.asked)[:8]} == {
        (e.objective, e.design) for e in list(direct.history.asked)[:8]
    }
    assert tried.spent == direct.spent


def test_objectives_without_a_declared_cost_keep_their_order_behind_those_with_one() -> None:
    objectives = [Objective("a"), Objective("b", cost=3.0), Objective("c"), Objective("d", cost=1.0)]
    study = Study({"x": [1, 2]}, objectives)
    assert untried(study.history, ["a", "b", "c", "d"]) == ["d", "b", "a", "c"]
    assert untried(study.history, ["c", "b"]) == ["b", "c"]


@pytest.mark.parametrize("function", [broken, lambda design: None, lambda design: float("nan"), lambda design: "no"])
def test_a_broken_one_ends_the_trial_before_the_others_and_is_not_counted(function: Function) -> None:
    study = study_of()
    outcomes = study.try_out({"error": works, "joules": function})
    assert [outcome.values for outcome in outcomes] == [None]
    assert outcomes[0].evaluation.objective == "joules"
    assert outcomes[0].reason
    assert (study.spent, study.pending, study.history.failed_attempts["joules"]) == (0.0, (), 0)
    released = study.events[-1]
    assert isinstance(released, Released)
    assert released.reason == outcomes[0].reason
    again = study.try_out({"error": works, "joules": works})
    assert again[0].evaluation.design == outcomes[0].evaluation.design
    assert len(again) == 2


def test_what_has_a_value_is_not_tried_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with study_of(storage=url) as study:
        assert len(study.try_out({"error": broken, "joules": works})) == 2
    with Study.load(url) as study:
        [outcome] = study.try_out({"error": works, "joules": broken})
        assert outcome.evaluation.objective == "error"
        assert study.try_out({"error": broken, "joules": broken}) == ()


def test_a_result_from_elsewhere_does_not_show_that_a_function_works() -> None:
    study = study_of()
    study.add({"x": 0.5, "kind": "p"}, {"error": 1.0, "joules": 2.0}, cost={"error": 60.0, "joules": 2.0})
    assert len(study.try_out({"error": works, "joules": works})) == 2


@pytest.mark.parametrize("error", [DesignError("no such kernel"), TimeoutError("too long")])
def test_a_design_that_cannot_be_measured_is_a_failure_and_another_one_is_tried(error: Exception) -> None:
    calls: list[Any] = []

    def fragile(design: Any) -> tuple[float, float]:
        calls.append(design)
        if len(calls) == 1:
            raise error
        return works(design)

    study = Study(SPACE, [Objective("error", timeout=60.0), Objective("joules")], budget=600, seed=0)
    outcomes = study.try_out({"error": fragile, "joules": works})
    if isinstance(error, TimeoutError):  # of the function itself: it is no time limit of the study
        assert [outcome.values for outcome in outcomes] == [None]
        return
    assert [outcome.evaluation.objective for outcome in outcomes] == ["error", "error", "joules"]
    assert study.history.failed_attempts["error"] == 1
    assert calls[0] != calls[1]


def test_an_objective_that_no_design_has_a_value_of_ends_the_trial() -> None:
    def impossible(design: Any) -> float:
        raise DesignError("no such kernel")

    study = study_of()
    outcomes = study.try_out({"error": works, "joules": impossible})
    assert len(outcomes) == MOST_DESIGNS
    assert study.history.failed_attempts["joules"] == MOST_DESIGNS
    assert not study.history.told["error"]


def test_a_machine_that_is_at_fault_is_reported_as_ever() -> None:
    def dead(design: Any) -> float:
        raise MachineError("The board is off.")

    study = study_of()
    with pytest.raises(MachineError):
        study.try_out({"error": works, "joules": dead})
    assert study.pending == ()


def test_an_interrupt_ends_the_trial_and_keeps_what_was_measured() -> None:
    def interrupted(design: Any) -> float:
        raise KeyboardInterrupt

    study = study_of()
    assert len(study.try_out({"error": interrupted, "joules": works})) == 1
    assert study.stop_kind is StopKind.INTERRUPTED
    assert (study.spent, study.pending) == (2.0, ())


def test_what_a_stop_rule_does_not_allow_is_not_tried() -> None:
    study = study_of(stop={"max_evaluations": 1})
    assert [outcome.evaluation.objective for outcome in study.try_out({"error": works, "joules": works})] == ["joules"]
    assert len([event for event in study.events if isinstance(event, Asked)]) == 1


def test_one_objective_is_tried_after_the_other_however_many_could_run_at_a_time() -> None:
    class Wide(InlineExecutor):
        most = 0

        def has_room(self, objective: Measured) -> bool:
            return len(self._waiting) < 4

        def submit(self, *question: Any) -> None:
            super().submit(*question)
            self.most = max(self.most, len(self._waiting))

    executor = Wide()
    assert len(study_of().try_out({"error": works, "joules": works}, executor=executor)) == 2
    assert executor.most == 1


def test_what_runs_in_other_processes_is_tried_and_raised_too() -> None:
    with ProcessExecutor(2) as executor:
        study = study_of()
        [outcome] = study.try_out({"error": works, "joules": broken}, executor=executor)
        assert "KeyError" in outcome.reason
        assert "broken" in outcome.mistake
        with pytest.raises(FunctionError, match="KeyError") as caught:
            study.run({"error": works, "joules": broken}, executor=executor)
    if sys.version_info >= (3, 11):
        trace, note = caught.value.__notes__
        assert "broken" in trace
        assert all(name in note for name in SPACE)
    assert not study.history.failed_attempts["joules"]


def test_a_first_call_that_returns_no_number_is_raised() -> None:
    study = opened(None, budget=60)
    with pytest.raises(TypeError, match="None"):
        study.run({"a": FUNCTIONS["a"], "b": lambda design: None})
    assert study.pending == ()
