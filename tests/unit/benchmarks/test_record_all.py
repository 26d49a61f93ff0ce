"""Recording all systems in pieces: a call that is cut short is continued, and a table has curves and error bars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from benchmarks import record_all  # noqa: E402
from benchmarks.record_recipes import RECIPES, deployments_of, plan_of, recipe_of  # noqa: E402

from flexibo.systems.catalogue import SYSTEMS  # noqa: E402
from flexibo.systems.data.base import Images  # noqa: E402
from flexibo.systems.data.subsets import dataset  # noqa: E402
from flexibo.systems.platforms import LinuxCpu, NvidiaGpu  # noqa: E402
from flexibo.systems.recording.journal import left_behind  # noqa: E402
from flexibo.systems.recording.table import read_table  # noqa: E402


def few_images(*_: Any, **__: Any) -> Any:
    rng = np.random.default_rng(0)
    parts = [
        Images(rng.integers(0, 256, (n, 3, 8, 8), dtype=np.uint8), np.arange(n) % 2, ("cat", "dog")) for n in (16, 8)
    ]
    return dataset("cifar-10", *parts, "")


def recorded(folder: Path, *more: str) -> int:
    fixed = ["--size", "tiny", "--networks", "2", "--jobs", "1", "--platform", "linux-cpu", "--estimate", "20"]
    return record_all.main(
        ["--out", str(folder), "--systems", "lenet", "--window", "0.02", "--data", ".", *fixed, *more]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_recording_that_is_cut_short_is_continued_and_nothing_is_measured_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_all, "_loaded", few_images)
    monkeypatch.setattr(record_all, "ALONE_SECONDS", 0.01)
    assert recorded(tmp_path / "first", "--seconds", "5") == 3  # no time is left after the spare seconds
    journal = tmp_path / "first" / "lenet-h200.csv.gz.partial"
    assert len(journal.read_text().splitlines()) == 1
    assert recorded(tmp_path / "second", "--resume", str(tmp_path / "first"), "--seconds", "60") == 0
    lines = (tmp_path / "second" / journal.name).read_text().splitlines()
    assert recorded(tmp_path / "second", "--seconds", "60") == 0
    assert (tmp_path / "second" / journal.name).read_text().splitlines() == lines

    table = read_table(tmp_path / "second" / "lenet-h200.csv.gz")
    assert len(table.rows) == 2 * 4
    assert table.heading["timed_alone"] is True
    for (curve, errors), row in zip(
        zip(table.curves, table.heading["epoch_errors"], strict=True), table.rows[::4], strict=True
    ):
        assert [error for _, error in curve] == errors
        assert curve[0][0] < curve[1][0] == pytest.approx(row["training_seconds"], rel=1e-5)
        assert curve[-1][1] == pytest.approx(row["error_percent"], abs=1e-3)
        assert row["deployed_error_percent"] == row["error_percent"]  # the precision of the training
        assert row["windows"] >= 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_longer_trainings_take_the_readings_of_shorter_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_all, "_loaded", few_images)
    monkeypatch.setattr(record_all, "ALONE_SECONDS", 0.01)
    assert recorded(tmp_path / "short", "--seconds", "60") == 0
    monkeypatch.setattr(record_all, "recipe_of", lambda *given: replace(recipe_of(*given), epochs=3))
    own, _ = left_behind(tmp_path / "short" / "lenet-h200.csv.gz.partial")
    assert record_all._earlier(tmp_path / "short", own) is None, "a recording is not earlier than itself"
    assert recorded(tmp_path / "short", "--seconds", "60", "--earlier", str(tmp_path / "short"), "--suffix", "3") == 0

    short, long = (left_behind(tmp_path / "short" / f"lenet-{name}.csv.gz.partial")[1] for name in ("h200", "3"))
    assert all(len(outcome["epoch_errors"]) == 3 for outcome in long.errors.values())
    for n, outcome in long.errors.items():
        assert outcome["epoch_seconds"] == short.errors[n]["epoch_seconds"]
        assert outcome["training_seconds"] > short.errors[n]["training_seconds"]
    for place, outcome in long.readings.items():
        assert outcome["energy_joules"] == short.readings[place]["energy_joules"]
        assert outcome["deployed_error_percent"] == long.errors[place[0]]["error_percent"]


def test_every_recipe_has_eight_deployments_and_forty_eight_networks() -> None:
    for name, system in SYSTEMS.items():
        plan = plan_of(system, recipe_of(system, "small", NvidiaGpu()), count=48, seed=0, settings={})
        assert (len(plan.networks), len(plan.deployments)) == (48, 8), name
        for option, values in RECIPES[name].networks.items():
            assert set(values) <= set(system.options[option])
        offered = NvidiaGpu().options(system.traits)
        for option, values in RECIPES[name].deployments.items():
            assert set(values) <= set(offered[option])
        assert set(RECIPES[name].deployments) == set(offered)


def test_no_deployment_of_a_fraction_has_every_second_value() -> None:
    chosen = deployments_of(dict.fromkeys("abcd", (0, 1)))
    assert {sum(one.values()) for one in chosen} == {1, 3}


def test_a_processor_has_deployments_of_its_own() -> None:
    recipe = recipe_of(SYSTEMS["lenet"], "tiny", LinuxCpu(cores=2))
    assert [one["batch"] for one in deployments_of(recipe.deployments)] == [1, 1, 4, 4]
