from __future__ import annotations

import numpy as np
import pytest
from tests.unit.compare.rivals.small_settings import MIXED, N_INITIAL, POOL, begun, installed, losses, measured, setting

from flexibo.compare.rivals.base import Rival, RivalEntry
from flexibo.compare.rivals.optuna_samplers import GP, LEAST, NSGA2, TPE, OptunaStudy, distribution, parameter
from flexibo.space import Categorical, Integer, Ordinal, Real, Space

pytestmark = pytest.mark.rivals

GRID = Space({"width": [8, 16, 32], "kind": ["a", "b"]})


def library(rival: Rival) -> OptunaStudy:
    found = rival.library  # type: ignore[attr-defined]
    assert isinstance(found, OptunaStudy)
    return found


def states(study: OptunaStudy) -> list[str]:
    return [trial.state.name for trial in study._study.trials]


@pytest.mark.parametrize("option", MIXED.options.values(), ids=MIXED.names)
def test_a_parameter_is_legal_and_stands_for_one_value(option: Categorical | Integer | Ordinal | Real) -> None:
    installed("optuna-tpe")
    (name,) = [name for name, own in MIXED.options.items() if own is option]
    held = distribution(option)
    seen = {}
    for design in MIXED.sample(20, np.random.default_rng(1)):
        coded = parameter(option, design[name])
        assert held._contains(held.to_internal_repr(coded))
        assert seen.setdefault(coded, design[name]) == design[name]
    assert len(seen) == len(set(seen.values()))


def test_bounds_scales_and_ranks_become_those_of_optuna() -> None:
    installed("optuna-tpe")
    rate, batch = distribution(MIXED.options["rate"]), distribution(MIXED.options["batch"])
    assert (rate.low, rate.high, rate.log) == (1e-4, 1e-1, True)
    assert (batch.low, batch.high, batch.log, batch.step) == (1, 512, True, 1)
    assert distribution(MIXED.options["kind"]).choices == ("a", "b", "c")
    width = distribution(MIXED.options["width"])
    assert (width.low, width.high, parameter(MIXED.options["width"], 32)) == (0, 3, 2)


def test_a_design_that_was_asked_for_answers_the_question() -> None:
    rival, _ = begun("optuna-tpe", setting(GRID, n_initial=2))
    rival.tell(GRID.design(rival.ask().design), {"error": 0.5, "joules": 0.25})
    assert states(library(rival)) == ["COMPLETE"] * 3
    assert library(rival)._study.trials[2].values == [0.5, 0.25]


def test_another_design_than_the_suggested_one_takes_its_place_and_the_question_fails() -> None:
    rival, _ = begun("optuna-tpe", setting(GRID, n_initial=2))
    wanted = dict(rival.ask().design)
    other = next(design for design in GRID.enumerate() if dict(design) != wanted)
    rival.tell(other, {"error": 0.5, "joules": 0.25})
    assert states(library(rival)) == ["COMPLETE", "COMPLETE", "FAIL", "COMPLETE"]
    last = library(rival)._study.trials[3]
    assert last.params == {"width": GRID.options["width"].values.index(other["width"]), "kind": other["kind"]}  # type: ignore[union-attr]
    assert last.values == [0.5, 0.25]


@pytest.mark.parametrize(
    ("entry", "field", "expected"),
    [
        (TPE, "_n_startup_trials", 12),
        (GP, "_n_startup_trials", 12),
        (GP, "_deterministic", True),
        (NSGA2, "_population_size", 6),
    ],
)
def test_the_initial_designs_replace_the_random_ones_of_a_sampler(
    entry: RivalEntry, field: str, expected: object
) -> None:
    rival = installed(entry.name).make(setting(GRID, n_initial=12))
    assert getattr(library(rival)._study.sampler, field) == expected


def test_noise_and_few_initial_designs_change_the_sampler() -> None:
    noisy = installed("optuna-gp").make(setting(GRID, noisy=True))
    assert library(noisy)._study.sampler._deterministic is False  # type: ignore[attr-defined]
    few = installed("optuna-nsga2").make(setting(GRID, n_initial=2))
    assert library(few)._study.sampler._population_size == LEAST  # type: ignore[attr-defined]


def test_optuna_breeds_generations_from_the_designs_that_were_measured() -> None:
    given = setting(POOL)
    rival, taken = begun("optuna-nsga2", given)
    measured(rival, given, taken, N_INITIAL)
    done = [t for t in rival.library._study.trials if t.state.name == "COMPLETE"]  # type: ignore[attr-defined]
    generations = [trial.system_attrs["NSGAIISampler:generation"] for trial in done]
    half = N_INITIAL // 2
    assert generations == [0] * half + [1] * half + [2] * half + [3] * half


def test_optunas_processes_predict_losses_of_any_designs_near_what_they_were_told() -> None:
    given = setting(MIXED, n_initial=20)
    rival, _ = begun("optuna-gp", given)
    known = MIXED.sample(20, np.random.default_rng(5))
    told = np.array([list(losses(design).values()) for design in known])
    predicted = rival.predict(known)
    assert predicted is not None
    assert np.abs(predicted - told).max() < 0.1 * np.ptp(told, axis=0).min()
    many = rival.predict(MIXED.sample(1_500, np.random.default_rng(1)))
    assert many is not None
    assert many.shape == (1_500, 2)
    assert np.isfinite(many).all()


def test_optunas_processes_score_a_pool_and_ask_for_what_was_not_measured() -> None:
    given = setting(POOL)
    rival, taken = begun("optuna-gp", given)
    for suggestion, design in measured(rival, given, taken, 3):
        assert dict(suggestion.design) == dict(design)
    few = Space.from_designs([{"a": a, "b": 2 * a} for a in range(9)])
    rival, taken = begun("optuna-gp", setting(few))
    (last,) = set(few.enumerate().keys().tolist()) - taken
    assert few.designs([few.design(rival.ask().design)]).keys().tolist() == [last]


@pytest.mark.parametrize("name", ["optuna-tpe", "optuna-nsga2", "pymoo-nsga2"])
def test_a_library_without_models_of_the_objectives_predicts_nothing(name: str) -> None:
    rival, _ = begun(name, setting(GRID, n_initial=4))
    assert rival.predict(GRID.enumerate()) is None
