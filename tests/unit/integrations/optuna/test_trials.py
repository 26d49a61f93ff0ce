from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from flexibo.integrations.optuna._trials import (
    LONGEST,
    Result,
    constraints_of,
    is_ahead,
    proposed,
    remember_proposal,
    results,
)

MINIMIZE, MAXIMIZE = StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE


def told(trials: list[FrozenTrial], *directions: StudyDirection) -> list[Result]:
    return [result for _, result in results(trials, directions, ["a", "b"][: len(directions)])]


def complete(*values: float, **more: Any) -> FrozenTrial:
    return create_trial(values=list(values), **more)


def test_a_complete_trial_has_its_values_and_constraints() -> None:
    trial = complete(1.0, 2.0, system_attrs={"constraints": [-1.0, 0.5]})
    assert told([trial], MINIMIZE, MAXIMIZE) == [
        Result({"a": 1.0, "b": 2.0, "constraint 0": -1.0, "constraint 1": 0.5})
    ]
    assert constraints_of(trial) == {"constraint 0": -1.0, "constraint 1": 0.5}


def test_a_failed_trial_and_one_without_a_finite_value_could_not_be_measured() -> None:
    trials = [create_trial(state=TrialState.FAIL), complete(math.inf), complete(1e300), complete(-math.inf)]
    assert all(result.failed and not result.values for result in told(trials, MINIMIZE))
    violated = complete(1.0, system_attrs={"constraints": [math.inf]})
    assert told([violated], MINIMIZE)[0].failed
    kept = complete(1.0, system_attrs={"constraints": [-math.inf]})
    assert told([kept], MINIMIZE) == [Result({"a": 1.0})]


@pytest.mark.parametrize(
    ("direction", "last", "value"),
    [(MINIMIZE, 9.0, 9.0), (MINIMIZE, 0.5, 2.0), (MAXIMIZE, 9.0, 2.0), (MAXIMIZE, 0.5, 0.5)],
)
def test_a_pruned_trial_is_no_better_than_the_median(direction: StudyDirection, last: float, value: float) -> None:
    pruned = create_trial(state=TrialState.PRUNED, intermediate_values={0: 100.0, 5: last})
    assert told([complete(1.0), complete(2.0), complete(3.0), pruned], direction)[-1] == Result({"a": value})


def test_a_pruned_trial_without_a_report_could_not_be_measured() -> None:
    assert told([complete(1.0), create_trial(state=TrialState.PRUNED)], MINIMIZE)[-1].failed
    nan = create_trial(state=TrialState.PRUNED, intermediate_values={0: math.nan})
    assert told([complete(1.0), nan], MINIMIZE)[-1].failed
    assert told([create_trial(state=TrialState.PRUNED, intermediate_values={0: 1.0})], MINIMIZE)[-1].failed


def test_trials_that_are_not_finished_say_nothing() -> None:
    assert told([create_trial(state=TrialState.RUNNING), create_trial(state=TrialState.WAITING)], MINIMIZE) == []


def test_a_proposal_is_kept_in_parts_that_every_storage_holds() -> None:
    kinds, unit = CategoricalDistribution(["a", "b"]), FloatDistribution(0.0, 1.0)
    names = [f"a rather long name of a parameter {i}" for i in range(100)]
    stored: dict[str, str] = {}
    remember_proposal(stored.__setitem__, {"kind": 1.0} | dict.fromkeys(names, 0.25))
    assert len(stored) > 1
    assert max(map(len, stored.values())) <= LONGEST
    trial = create_trial(state=TrialState.RUNNING, system_attrs=stored)
    found = proposed(trial, {"kind": kinds} | dict.fromkeys(names, unit))
    assert found == {"kind": "b"} | dict.fromkeys(names, 0.25)
    remember_proposal(stored.__setitem__, {"kind": 0.0})
    assert len(stored) > 1
    shorter = create_trial(state=TrialState.RUNNING, system_attrs=stored)
    assert proposed(shorter, {"kind": kinds} | dict.fromkeys(names, unit)) == {"kind": "a"}


@pytest.mark.parametrize("text", ["{", json.dumps({"kind": 7.0}), json.dumps({"kind": "x"}), "[1]"])
def test_a_damaged_proposal_is_no_proposal(text: str) -> None:
    trial = create_trial(state=TrialState.RUNNING, system_attrs={"flexibo:proposed:0": text})
    assert proposed(trial, {"kind": CategoricalDistribution(["a", "b"])}) == {}


def test_a_trial_is_ahead_if_it_began_shortly_before_and_has_no_parameters_yet() -> None:
    unit = {"x": FloatDistribution(0.0, 1.0)}
    now = datetime(2026, 1, 1, 12)

    def running(number: int, start: datetime = now, **more: Any) -> FrozenTrial:
        trial = create_trial(state=TrialState.RUNNING, **more)
        trial.number, trial.datetime_start = number, start
        return trial

    trial = running(5)
    assert is_ahead(running(4), trial)
    assert not is_ahead(running(6), trial)
    assert not is_ahead(running(4, now - timedelta(hours=1)), trial)
    assert not is_ahead(running(4, params={"x": 0.5}, distributions=unit), trial)
    assert not is_ahead(running(4, system_attrs={"flexibo:proposed:0": "{}"}), trial)
    assert not is_ahead(complete(1.0), trial)
