from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from flexibo import FlexiBOError, Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.integrations.optuna import from_optuna, to_optuna


def objective(trial: optuna.Trial) -> tuple[float, float]:
    width = trial.suggest_int("width", 8, 64, step=8)
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    trial.set_user_attr("seconds", 10.0 * width)
    if trial.suggest_categorical("optimiser", ["sgd", "adam"]) == "sgd":
        trial.suggest_float("momentum", 0.0, 0.9, step=0.1)
    if width == 64:
        raise ValueError("out of memory")
    return 1 / width + rate, 100.0 - width


@pytest.fixture
def finished() -> optuna.Study:
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=2), study_name="finished"
    )
    study.optimize(objective, n_trials=20, catch=(ValueError,))
    study.enqueue_trial({"width": 16})
    study.ask()
    return study


def test_an_optuna_study_is_continued_objective_by_objective(finished: optuna.Study) -> None:
    known = from_optuna(finished, names=["error", "speed"], costs={"error": "seconds", "speed": 1.0})
    assert known.space.conditions == {"momentum": {"optimiser": ("sgd",)}}
    assert [(o.name, o.direction) for o in known.objectives] == [("error", "min"), ("speed", "max")]
    states = [trial.state for trial in finished.trials]
    study = Study(known.space, known.objectives, budget=2000, seed=0)
    assert known.add_to(study) == states.count(TrialState.COMPLETE) + states.count(TrialState.FAIL) == 20
    assert len(study.front()) == len(finished.best_trials)
    assert study.spent == 0
    question = study.ask()
    assert question is not None
    assert not question.initial
    assert len(question.yields) == 1
    assert question.cost > 0


def test_results_are_added_once(finished: optuna.Study) -> None:
    known = from_optuna(finished)
    study = Study(known.space, known.objectives)
    assert known.add_to(study) == len(known.results)
    assert known.add_to(study) == 0


def test_results_go_into_a_stored_study_with_other_details(finished: optuna.Study, tmp_path: Path) -> None:
    known = from_optuna(finished, names=["error", "speed"])
    objectives = [Objective("error", options=["width", "rate"], noisy=True), Objective("speed", "max")]
    url = f"sqlite:///{tmp_path}/study.db"
    with Study(known.space, objectives, storage=url, name="continued") as study:
        known.add_to(study)
    assert len(Study.load(url, "continued").front()) >= 1


def test_metric_names_are_the_names_of_the_objectives(finished: optuna.Study) -> None:
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        finished.set_metric_names(["error", "speed"])
    assert [one.name for one in from_optuna(finished).objectives] == ["error", "speed"]


def test_failures_can_be_left_out_and_never_outweigh_values() -> None:
    unit = {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study()
    for x, value in ((0.5, None), (0.5, 1.0), (0.25, None)):
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        study.add_trial(create_trial(state=state, value=value, params={"x": x}, distributions=unit))
    assert [bool(result.failed) for result in from_optuna(study).results] == [False, True]
    assert [bool(result.failed) for result in from_optuna(study, failures=False).results] == [False]


def test_two_values_of_one_design_are_noise() -> None:
    unit = {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(directions=["minimize", "minimize"])
    for values in ([1.0, 2.0], [1.5, 2.0]):
        study.add_trial(create_trial(values=values, params={"x": 0.5}, distributions=unit))
    known = from_optuna(study)
    assert [one.noisy for one in known.objectives] == [True, False]
    assert known.add_to(Study(known.space, known.objectives)) == 2


def test_pruned_trials_and_values_that_are_not_finite_give_no_values(caplog: pytest.LogCaptureFixture) -> None:
    unit = {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study()
    study.add_trial(create_trial(value=1.0, params={"x": 0.1}, distributions=unit))
    study.add_trial(create_trial(value=math.inf, params={"x": 0.2}, distributions=unit))
    study.add_trial(
        create_trial(state=TrialState.PRUNED, intermediate_values={0: 1.0}, params={"x": 0.3}, distributions=unit)
    )
    with caplog.at_level(logging.WARNING):
        known = from_optuna(study)
    assert [bool(result.failed) for result in known.results] == [False, True]
    assert known.left_out == (2,)
    assert len(caplog.records) == 1


def test_a_space_of_the_user_is_used(finished: optuna.Study) -> None:
    space = Space({"width": [8, 16, 24, 32], "rate": (1e-3, 1.0)})
    known = from_optuna(finished, space=space)
    assert known.space is space
    assert {result.design["width"] for result in known.results} <= {8, 16, 24, 32}
    assert known.left_out


def test_an_optuna_study_without_results_is_refused() -> None:
    study = optuna.create_study(study_name="empty")
    with pytest.raises(InvalidValueError, match="'empty'"):
        from_optuna(study)
    study.add_trial(create_trial(state=TrialState.FAIL))
    with pytest.raises(InvalidValueError, match="'empty'"):
        from_optuna(study)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"names": ["error"]}, "names"),
        ({"names": "ab"}, "names"),
        ({"costs": {"energy": 1.0}}, "energy"),
        ({"costs": {"objective 0": -1.0}}, "objective 0"),
        ({"costs": {"objective 0": math.nan}}, "objective 0"),
    ],
)
def test_wrong_arguments_are_named(finished: optuna.Study, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(FlexiBOError, match=named):
        from_optuna(finished, **wrong)


def test_something_else_than_a_study_is_refused(finished: optuna.Study) -> None:
    with pytest.raises(InvalidTypeError, match="str"):
        from_optuna("study")
    with pytest.raises(InvalidTypeError, match="Study"):
        to_optuna(finished)  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="into"):
        to_optuna(Study({"x": (0.0, 1.0)}, ["a", "b"]), into="study")


def measured() -> Study:
    space = Space({"x": (0.0, 1.0), "kind": ["a", "b"], "depth": [1, 2, 4]}, conditions={"depth": {"kind": ["b"]}})
    study = Study(space, [Objective("error"), Objective("speed", "max"), Objective("memory", at_most=8)], name="own")
    study.add({"x": 0.5, "kind": "a"}, {"error": 1.0, "speed": 3.0, "memory": 9.0})
    study.add({"x": 0.25, "kind": "b", "depth": 4}, {"error": 2.0, "speed": 4.0, "memory": 4.0})
    study.add({"x": 0.75, "kind": "a"}, {"error": 1.0})
    study.add({"x": 0.1, "kind": "a"}, {"speed": 1.0}, failed={"error": "out of memory"})
    return study


def test_confirmed_designs_and_failures_are_trials() -> None:
    found = to_optuna(measured())
    assert found.study_name == "own"
    assert found.metric_names == ["error", "speed"]
    assert [direction.name for direction in found.directions] == ["MINIMIZE", "MAXIMIZE"]
    first, second, failed = found.trials
    assert (first.params, first.values) == ({"x": 0.5, "kind": "a"}, [1.0, 3.0])
    assert first.system_attrs["constraints"] == [1.0]
    assert second.params == {"x": 0.25, "kind": "b", "depth": 4}
    assert failed.state == TrialState.FAIL
    assert [trial.values for trial in found.best_trials] == [[2.0, 4.0]]
    assert len(to_optuna(measured(), failures=False).trials) == 2


def test_a_study_without_measurements_has_no_trials() -> None:
    assert to_optuna(Study({"x": (0.0, 1.0)}, ["a", "b"])).trials == []


def test_results_return_to_where_they_came_from_without_repetition(finished: optuna.Study) -> None:
    known = from_optuna(finished)
    study = Study(known.space, known.objectives)
    known.add_to(study)
    design = {"width": 8, "rate": 0.5, "optimiser": "sgd", "momentum": 0.3}
    study.add(design, {"objective 0": 0.625, "objective 1": 92.0})
    before = len(finished.trials)
    assert to_optuna(study, into=finished) is finished
    assert [trial.params for trial in finished.trials[before:]] == [design]
    to_optuna(study, into=finished)
    assert len(finished.trials) == before + 1


def test_a_study_of_other_directions_or_distributions_is_not_added_to() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"])
    study.add({"x": 0.5}, {"a": 1.0, "b": 2.0})
    with pytest.raises(InvalidValueError, match="maximize"):
        to_optuna(study, into=optuna.create_study(directions=["minimize", "maximize"]))
    into = optuna.create_study(directions=["minimize", "minimize"])
    kinds = CategoricalDistribution(["a", "b"])
    into.add_trial(create_trial(values=[1.0, 2.0], params={"x": "a"}, distributions={"x": kinds}))
    with pytest.raises(InvalidValueError, match="'x'"):
        to_optuna(study, into=into)
    assert len(into.trials) == 1


def test_a_wider_range_than_before_can_be_added() -> None:
    study = Study({"n": (0, 20)}, ["a", "b"])
    study.add({"n": 15}, {"a": 1.0, "b": 2.0})
    into = optuna.create_study(directions=["minimize", "minimize"])
    into.add_trial(create_trial(values=[1.0, 2.0], params={"n": 5}, distributions={"n": IntDistribution(0, 10)}))
    assert to_optuna(study, into=into).trials[-1].params == {"n": 15}
