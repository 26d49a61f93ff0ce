"""Rules that stop a study before its budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import LINE, answered, asked, line, opened

from flexibo import Design, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage
from flexibo.study.stop_rules import RULES, GainPerCost, MaxSeconds, StopCheck, named_limits, stop_rules

Functions = Mapping[str, Callable[[Design], Any]]
Make = Callable[..., Study]


def test_a_study_stops_after_so_many_evaluations(make_study: Make, functions: Functions) -> None:
    study = make_study(stop={"max_evaluations": 7})
    study.run(functions)
    assert len(study.trace()) == 7
    assert "7 evaluations" in study.stopped


def test_a_study_stops_when_the_gain_per_cost_is_too_small(make_study: Make, functions: Functions) -> None:
    study = make_study(stop={"gain_per_cost": 1e9})
    study.run(functions)
    assert study.stop_kind is StopKind.RULE
    assert all(row.gain is None for row in study.trace())


def test_stop_rules_can_be_replaced_and_are_kept_with_the_study(
    tmp_path: Path, make_study: Make, functions: Functions
) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = make_study(stop={"max_evaluations": 5}, storage=storage)
    study.run(functions)
    study.stop = {**study.stop, "max_evaluations": 7, "gain_per_cost": 0.0}
    study.run(functions)
    assert len(study.trace()) == 7
    assert Study.load(storage).stop == study.stop == {"max_evaluations": 7, "gain_per_cost": 0.0}
    study.stop = None
    assert Study.load(storage).stop == {}


def test_a_callable_stops_a_study_and_gives_the_reason(make_study: Make, functions: Functions) -> None:
    study = make_study(stop=lambda study: study.spent > 20 and "enough")
    study.run(functions)
    assert study.stopped == "enough"
    assert 20 < study.spent <= 31


def test_a_study_stops_after_so_many_seconds() -> None:
    study = line(stop={"max_seconds": 0.0})
    study.run(LINE)
    assert study.stop_kind is StopKind.RULE


def test_named_stop_rules_hold_for_all_workers() -> None:
    storage = MemoryStorage()
    opened(storage, stop={"max_evaluations": 4})
    worker = Study.load(storage)
    assert len(worker.ask(9)) == 4
    assert "4 evaluations were asked" in worker.stopped


def test_what_a_vanished_worker_left_counts_once_towards_the_most_evaluations() -> None:
    storage = MemoryStorage()
    first = opened(storage, stop={"max_evaluations": 2})
    assert len(first.ask(9)) == 2
    first.close()
    again = Study.load(storage)
    assert [e.number for e in again.ask(9)] == [0, 1]


def test_a_stop_rule_may_look_at_the_study_while_others_write(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first = opened(url)
    second = opened(url, stop=lambda study: len(study.front()) >= 50)
    think, waiting = second._mind.optimizer.ask, [asked(first)]

    def disturbed(history: Any, **how: Any) -> Any:
        answer = think(history, **how)
        if waiting:
            answered(first, waiting.pop())
        return answer

    second._mind.optimizer.ask = disturbed  # type: ignore[method-assign]
    assert asked(second).number == 1
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("stop", "error", "facts"),
    [
        ({"max_evals": 3}, UnknownNameError, "'max_evals'.*'max_evaluations'"),
        ({"max_seconds": -3}, InvalidValueError, "'max_seconds'.* -3;"),
        ({"max_seconds": True}, InvalidValueError, "'max_seconds'.* True;"),
        ({"gain_per_cost": math.inf}, InvalidValueError, "'gain_per_cost'.* inf;"),
        ({"certified_error": 1}, InvalidValueError, r"'certified_error'.* 1;.* 0\.05"),
        (3, InvalidTypeError, "stop is 3;.*{'max_evaluations': 100}"),
        ("max_evaluations", InvalidTypeError, "stop is 'max_evaluations';"),
        ([{"max_evaluations": 3}, 7], InvalidTypeError, "stop is 7;"),
    ],
)
def test_a_rule_that_is_none_is_refused(stop: object, error: type[Exception], facts: str) -> None:
    with pytest.raises(error, match=facts):
        stop_rules(stop)


def test_rules_may_be_mixed_and_only_those_with_names_can_be_stored() -> None:
    rules = stop_rules([{"max_evaluations": 3}, lambda study: False, {"gain_per_cost": 0.5}])
    assert len(rules) == 3
    assert named_limits(rules) == {"max_evaluations": 3, "gain_per_cost": 0.5}


def test_seconds_count_from_the_moment_the_study_is_opened(make_study: Make) -> None:
    now = [100.0]
    rule = MaxSeconds(5, clock=lambda: now[0])
    study = make_study()
    evaluation = asked(study)
    now[0] = 104.9
    assert rule.reason(study.history, evaluation) == ""
    now[0] = 105.0
    assert " 5 " in rule.reason(study.history, evaluation)


@pytest.mark.parametrize(
    ("gain", "cost", "stops"), [(0.9, 1.0, True), (1.0, 1.0, False), (None, 1.0, False), (0.1, 0.0, False)]
)
def test_a_gain_per_cost_counts_where_both_are_known(
    make_study: Make, gain: float | None, cost: float, stops: bool
) -> None:
    study = make_study()
    evaluation = replace(asked(study), gain=gain, cost=cost)
    assert bool(GainPerCost(1.0).reason(study.history, evaluation)) == stops


def test_the_first_rule_that_is_met_gives_the_reason(make_study: Make) -> None:
    study = make_study()
    evaluation = asked(study)
    rules = stop_rules([lambda study: "", lambda study: "enough", lambda study: "never asked"])
    assert StopCheck(rules, study).reason(evaluation) == "enough"
    assert StopCheck(stop_rules(lambda study: True), study).reason(evaluation) != ""
    assert StopCheck(rules, study).limit_reason(evaluation) == "", "callables may be slow"


@pytest.mark.parametrize("name", RULES)
def test_a_limit_too_large_for_a_float_is_refused(name: str) -> None:
    with pytest.raises(InvalidValueError, match=name):
        stop_rules({name: 10**400})
