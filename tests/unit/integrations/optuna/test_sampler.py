from __future__ import annotations

import math
import subprocess
import sys
import warnings
from typing import Any

import optuna
import pytest
from optuna.samplers import PartialFixedSampler, RandomSampler
from optuna.trial import TrialState

from flexibo import FlexiBOError
from flexibo.errors import InvalidTypeError
from flexibo.integrations.optuna import FlexiBOSampler
from flexibo.integrations.optuna._informed_study import designs_of
from flexibo.integrations.optuna._search_space import SearchSpace


def sampler(**more: Any) -> FlexiBOSampler:
    return FlexiBOSampler(**{"seed": 0, "n_startup_trials": 4, "candidates": 100} | more)


def two_objectives(trial: optuna.Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x**2 + y, (x - 1) ** 2 + y


def params(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def test_it_finds_a_front_and_a_minimum() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    study.optimize(two_objectives, n_trials=16)
    assert sum(trial.params["y"] < 0.05 for trial in study.trials[4:]) >= 8
    single = optuna.create_study(direction="maximize", sampler=sampler())
    single.optimize(lambda trial: -((trial.suggest_float("x", -10, 10) - 2) ** 2), n_trials=16)
    assert single.best_params["x"] == pytest.approx(2, abs=0.2)


def test_the_same_seed_proposes_the_same_and_a_copy_of_the_trials_continues_it() -> None:
    whole = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    whole.optimize(two_objectives, n_trials=8)
    again = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    again.optimize(two_objectives, n_trials=6)
    assert params(again) == params(whole)[:6]
    continued = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    continued.add_trials(again.trials)
    continued.optimize(two_objectives, n_trials=2)
    assert params(continued) == params(whole)
    other = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler(seed=1))
    other.optimize(two_objectives, n_trials=2)
    assert params(other) != params(whole)[:2]


def test_running_trials_are_proposed_different_parameters() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    study.optimize(two_objectives, n_trials=5)
    running = [study.ask() for _ in range(4)]
    proposed = [(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)) for trial in running]
    assert len(set(proposed)) == 4


def test_several_jobs_share_a_sampler() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    study.optimize(two_objectives, n_trials=10, n_jobs=3)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 10


def test_very_many_steps_are_searched_without_repetition() -> None:
    study = optuna.create_study(sampler=sampler())
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1, step=1e-6), n_trials=7)
    assert len({trial.params["x"] for trial in study.trials}) == 7


def test_trials_that_began_at_the_same_time_are_proposed_different_parameters() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    study.optimize(two_objectives, n_trials=1)
    first, second = study.ask(), study.ask()
    later = second.suggest_float("x", 0, 1)  # the first has no proposal yet
    assert later != first.suggest_float("x", 0, 1)


def test_two_jobs_that_choose_at_the_same_moment_get_different_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = trial.suggest_int("x", 0, 9)
        return x, -x

    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    study.optimize(objective, n_trials=2)
    waiting = [study.ask() for _ in range(3)]

    def first_free(self: FlexiBOSampler, study: Any, trial: Any, others: Any, found: SearchSpace) -> dict[str, int]:
        """What nobody had when the others were read; meanwhile another job chooses."""
        taken = designs_of(others, found)
        if waiting:
            objective(waiting.pop())
        return next({"x": x} for x in range(10) if found.design({"x": x}) not in taken)

    monkeypatch.setattr(FlexiBOSampler, "_proposal", first_free)
    objective(waiting.pop())
    assert len({trial.params["x"] for trial in study.trials}) == 5


def test_conditional_parameters_are_proposed() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["sgd", "adam"]) == "sgd":
            return (trial.suggest_float("momentum", 0, 1) - 0.3) ** 2
        return 1 + trial.suggest_float("beta", 0, 1)

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=16)
    assert study.best_value < 0.01
    assert study.best_params["kind"] == "sgd"


def test_constraints_are_stored_and_kept() -> None:
    def constraints(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [0.5 - trial.params["x"]]

    study = optuna.create_study(sampler=sampler(constraints_func=constraints))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=14)
    assert all(trial.system_attrs["constraints"] for trial in study.trials)
    assert min(x for one in study.trials if (x := one.params["x"]) >= 0.5) < 0.55


@pytest.mark.parametrize("returned", [["a"], None, [math.nan], 3.0])
def test_constraints_that_are_no_numbers_are_refused(returned: Any) -> None:
    study = optuna.create_study(sampler=sampler(constraints_func=lambda trial: returned))
    with pytest.raises(FlexiBOError, match="constraints_func"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)


def test_failed_trials_are_learned_from() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        values = two_objectives(trial)
        if sum(trial.params.values()) < 0.7:  # what looks best
            raise ValueError("cannot be measured")
        return values

    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler(n_startup_trials=6))
    study.optimize(objective, n_trials=20, catch=(ValueError,))
    assert sum(trial.state == TrialState.FAIL for trial in study.trials) <= 8


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_only_failures_are_survived(value: float) -> None:
    study = optuna.create_study(sampler=sampler())
    study.optimize(lambda trial: value + trial.suggest_float("x", 0, 1), n_trials=6)
    assert len({trial.params["x"] for trial in study.trials}) == 6


def test_pruned_trials_are_not_proposed_again() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", [1, 2, 3, 4, 5, 6])
        trial.report(x, 0)
        if x > 3:
            raise optuna.TrialPruned
        return float(x)

    study = optuna.create_study(sampler=sampler(n_startup_trials=2, deterministic_objective=True))
    study.optimize(objective, n_trials=6)
    assert {trial.params["x"] for trial in study.trials} == {1, 2, 3, 4, 5, 6}


def test_enqueued_and_added_trials_count() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    study.enqueue_trial({"x": 0.5})
    study.enqueue_trial({"x": 0.25, "y": 0.125})
    study.optimize(two_objectives, n_trials=2)
    assert study.trials[0].params["x"] == 0.5
    assert study.trials[1].params == {"x": 0.25, "y": 0.125}
    study.add_trial(optuna.create_trial(values=[0.0, 1.0]))
    study.optimize(two_objectives, n_trials=4)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


def test_a_narrower_range_is_searched_within_its_bounds() -> None:
    study = optuna.create_study(sampler=sampler())
    study.optimize(lambda trial: trial.suggest_float("x", 0, 10), n_trials=8)
    study.optimize(lambda trial: trial.suggest_float("x", 4, 6), n_trials=6)
    assert all(4 <= trial.params["x"] <= 6 for trial in study.trials[8:])
    assert min(trial.params["x"] for trial in study.trials[8:]) < 4.1


def test_a_small_space_that_is_searched_completely_goes_on_at_random() -> None:
    study = optuna.create_study(sampler=sampler(deterministic_objective=True))
    study.optimize(lambda trial: trial.suggest_categorical("x", [1, 2, 3]), n_trials=9)
    assert {trial.params["x"] for trial in study.trials} == {1, 2, 3}


def test_it_works_inside_of_a_sampler_that_fixes_parameters() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        fixed = PartialFixedSampler({"y": 0.5}, sampler())
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=fixed)
    study.optimize(two_objectives, n_trials=7)
    assert {trial.params["y"] for trial in study.trials} == {0.5}


def test_an_independent_sampler_of_the_user_is_used() -> None:
    class Middle(RandomSampler):  # type: ignore[misc]
        reseeded = 0

        def sample_independent(self, *_: Any) -> float:
            return 0.5

        def reseed_rng(self) -> None:
            self.reseeded += 1

    middle = Middle()
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler(independent_sampler=middle))
    study.optimize(two_objectives, n_trials=2)
    assert study.trials[0].params == {"x": 0.5, "y": 0.5}
    study.sampler.reseed_rng()
    assert middle.reseeded == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": "a"},
        {"method": "nonsense"},
        {"method": 3},
        {"n_startup_trials": -1},
        {"deterministic_objective": "yes"},
        {"constraints_func": 3},
        {"candidates": 0},
        {"independent_sampler": "random"},
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(FlexiBOError, match=name):
        FlexiBOSampler(**wrong)


def test_a_method_for_fewer_objectives_is_refused_with_its_name() -> None:
    study = optuna.create_study(directions=["minimize"] * 7, sampler=sampler(method="flexibo"))
    study.optimize(lambda trial: [trial.suggest_float("x", 0, 1)] * 7, n_trials=1)
    with pytest.raises(FlexiBOError, match="'flexibo'"):
        study.optimize(lambda trial: [trial.suggest_float("x", 0, 1)] * 7, n_trials=1)


def test_without_optuna_the_extra_is_named() -> None:
    code = "import sys; sys.modules['optuna'] = None; import flexibo.integrations.optuna"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "flexibo[optuna]" in done.stderr.splitlines()[-1]


def test_importing_the_integrations_imports_no_other_library() -> None:
    code = "import sys, flexibo.integrations; print('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_a_sampler_of_another_library_is_no_sampler() -> None:
    with pytest.raises(InvalidTypeError, match="independent_sampler"):
        FlexiBOSampler(independent_sampler=RandomSampler)
