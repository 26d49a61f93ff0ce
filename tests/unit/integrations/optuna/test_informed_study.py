from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from optuna.distributions import FloatDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from flexibo import Study
from flexibo.integrations.optuna._informed_study import Choices, informed_study, seed_of
from flexibo.integrations.optuna._search_space import SearchSpace

UNIT = {"x": FloatDistribution(0.0, 1.0)}
CHOICES = Choices(seed=0, method=None, n_startup_trials=3, noisy=True, candidates=50)
BOTH = (StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE)


def trial(x: float, *values: float, **more: Any) -> FrozenTrial:
    return create_trial(params={"x": x}, distributions=UNIT, values=list(values) or None, **more)


def informed(
    trials: Sequence[FrozenTrial], directions: Sequence[StudyDirection] = BOTH, choices: Choices = CHOICES
) -> Study:
    return informed_study(trials, directions, SearchSpace.of(UNIT, trials), choices, number=7)


def test_a_trial_is_one_evaluation_of_all_objectives() -> None:
    study = informed([trial(0.1, 1.0, 2.0), trial(0.5, 2.0, 3.0)])
    assert [objective.direction for objective in study.objectives] == ["min", "max"]
    question = study.ask()
    assert question is not None
    assert question.yields == tuple(objective.name for objective in study.objectives)
    assert len(study.history.measurements) == 2


def test_a_single_objective_gets_a_constraint_that_always_holds() -> None:
    study = informed([trial(x, x) for x in (0.1, 0.5, 0.9)], BOTH[:1])
    assert [objective.optimise for objective in study.objectives] == [True, False]
    assert study.ask() is not None


def test_the_constraints_of_trials_are_limits() -> None:
    trials = [trial(0.1, 1.0, system_attrs={"constraints": [-0.5]}), trial(0.5, 2.0)]
    study = informed(trials, BOTH[:1])
    assert [(o.name, o.at_most) for o in study.objectives[1:]] == [("constraint 0", 0.0)]


def test_what_runs_is_pending_and_is_not_asked_again() -> None:
    running = create_trial(
        state=TrialState.RUNNING,
        params={},
        distributions={},
        system_attrs={"flexibo:proposed:0": '{"x": 0.25}'},
    )
    study = informed([trial(0.1, 1.0, 2.0), running, running, create_trial(state=TrialState.RUNNING)])
    assert [evaluation.design for evaluation in study.pending] == [{"x": 0.25}]
    question = study.ask()
    assert question is not None
    assert question.design != {"x": 0.25}


def test_failures_are_learned_unless_the_same_design_has_values() -> None:
    trials = [trial(0.1, 1.0, 2.0), trial(0.2, state=TrialState.FAIL), trial(0.1, state=TrialState.FAIL)]
    assert informed(trials).history.hopeless(0).size == 1


def test_an_exact_objective_keeps_the_first_of_several_values() -> None:
    trials = [trial(0.1, 1.0, 2.0), trial(0.1, 1.5, 2.0)]
    assert len(informed(trials).history.measurements) == 2
    (kept,) = informed(trials, choices=replace(CHOICES, noisy=False)).history.measurements
    assert kept.values["objective 0"] == 1.0


def test_the_first_designs_are_spread_and_then_a_model_chooses() -> None:
    known = [trial(x, x, x**2) for x in (0.1, 0.9)]
    first = informed(known).ask()
    assert first is not None
    assert first.initial
    then = informed([*known, trial(0.5, 0.5, 0.25)]).ask()
    assert then is not None
    assert not then.initial


def test_the_start_fills_the_space_around_what_is_known() -> None:
    asked = informed([trial(0.1, 1.0, 2.0)], choices=replace(CHOICES, n_startup_trials=9)).ask(8)
    assert all(question.initial for question in asked)
    assert {int(4 * question.design["x"]) for question in asked} >= {0, 1, 2, 3}


def test_a_start_that_scripts_ignore_is_drawn_anew() -> None:
    proposal = {"flexibo:proposed:0": '{"x": 0.75}'}
    first = informed([trial(0.1, 1.0, 2.0)]).ask()
    again = informed([trial(0.1, 1.0, 2.0, system_attrs=proposal)]).ask()
    assert first is not None
    assert again is not None
    assert first.design != again.design


def test_many_objectives_have_a_method_that_takes_them() -> None:
    values = [float(j) for j in range(8)]
    study = informed([trial(x, *values) for x in (0.1, 0.5, 0.9)], [StudyDirection.MINIMIZE] * 8)
    assert study.method.name == "parego"
    assert study.ask() is not None


@pytest.mark.parametrize("numbers", [(0,), (0, 1), (2**40, 5)])
def test_seeds_are_whole_numbers_that_differ(numbers: tuple[int, ...]) -> None:
    assert seed_of(*numbers) == seed_of(*numbers) != seed_of(*numbers, 1)
