"""Studies on measured tables (FLEXIBO_DATA): a pool of real networks with the real price of each evaluation."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from flexibo import Space, Study
from flexibo.pareto import hypervolume

pytestmark = [pytest.mark.data, pytest.mark.slow]

OPERATIONS = [f"op{i}" for i in range(6)]
READING_SECONDS = 20.0


@pytest.fixture
def table(data_folder: Path) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """NAS-Bench-201 on a Jetson TX2: error in percent, energy in mJ, seconds of training, by cell."""
    with open(data_folder / "recorded" / "nb201_cifar10_hw.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["tx2_energy_mJ"]]
    columns = ("test_error_cifar10_pct", "tx2_energy_mJ", "train_time_cifar10_s")
    return {
        tuple(row[name] for name in OPERATIONS): (
            float(row[columns[0]]),
            float(row[columns[1]]),
            float(row[columns[2]]),
        )
        for row in rows
    }


def hypervolume_error(table: dict[tuple[str, ...], tuple[float, float, float]], method: str, seed: int) -> float:
    """Share of the true front's hypervolume that is missed after 10 initial designs and about 20 full evaluations."""
    losses = np.array([values[:2] for values in table.values()])
    mean_price = float(np.mean([values[2] for values in table.values()])) + READING_SECONDS
    space = Space.from_designs([dict(zip(OPERATIONS, cell, strict=True)) for cell in table])
    study = Study(space, ["error", "energy"], method=method, seed=seed, budget=30 * mean_price)

    def values(design: object) -> tuple[float, float, float]:
        return table[tuple(design[name] for name in OPERATIONS)]  # type: ignore[index]

    study.run(
        {
            "error": lambda design: (values(design)[0], values(design)[2]),
            "energy": lambda design: (values(design)[1], READING_SECONDS),
        }
    )
    found = np.array([values(row.design)[:2] for row in study.front()])
    reference = losses.max(axis=0)
    return 1.0 - hypervolume(found, reference) / hypervolume(losses, reference)


@pytest.mark.long
def test_flexibo_finds_a_better_front_than_random_search_for_the_same_money(
    table: dict[tuple[str, ...], tuple[float, float, float]],
) -> None:
    seeds = (0, 1, 2, 3)
    ours = np.mean([hypervolume_error(table, "flexibo", seed) for seed in seeds])
    floor = np.mean([hypervolume_error(table, "random-coupled", seed) for seed in seeds])
    print(f"hypervolume error: flexibo {ours:.3f}, random-coupled {floor:.3f}")
    assert 0 <= ours < 0.7 * floor
