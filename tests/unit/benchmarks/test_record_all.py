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
from benchmarks.record_earlier import READ, earlier  # noqa: E402
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
    assert recorded(tmp_path / "second", "--resume", str(tmp_path / "first"), "--seconds", "240") == 0
    lines = (tmp_path / "second" / journal.name).read_text().splitlines()
    assert recorded(tmp_path / "second", "--seconds", "240") == 0
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
    assert recorded(tmp_path / "short", "--seconds", "240") == 0
    monkeypatch.setattr(record_all, "recipe_of", lambda *given: replace(recipe_of(*given), epochs=3))
    own, _ = left_behind(tmp_path / "short" / "lenet-h200.csv.gz.partial")
    assert earlier(tmp_path / "short", own) is None, "a recording is not earlier than itself"
    assert recorded(tmp_path / "short", "--seconds", "240", "--earlier", str(tmp_path / "short"), "--suffix", "3") == 0

    short, long = (left_behind(tmp_path / "short" / f"lenet-{name}.csv.gz.partial")[1] for name in ("h200", "3"))
    assert all(len(outcome["epoch_errors"]) == 3 for outcome in long.errors.values())
    for n, outcome in long.errors.items():
        assert outcome["epoch_seconds"] == short.errors[n]["epoch_seconds"]
        assert outcome["training_seconds"] > short.errors[n]["training_seconds"]
    for place, outcome in long.readings.items():
        assert outcome["energy_joules"] == short.readings[place]["energy_joules"]
        assert outcome["deployed_error_percent"] == long.errors[place[0]]["error_percent"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_longer_trainings_take_the_readings_of_a_table_and_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_all, "_loaded", few_images)
    monkeypatch.setattr(record_all, "ALONE_SECONDS", 0.01)
    assert recorded(tmp_path, "--seconds", "240") == 0
    (tmp_path / "lenet-h200.csv.gz.partial").unlink()
    monkeypatch.setattr(record_all, "recipe_of", lambda *given: replace(recipe_of(*given), epochs=3))
    monkeypatch.setattr(record_all.Session, "_asked", None)  # nothing is measured
    more = ["--seconds", "240", "--earlier", str(tmp_path), "--share", "1"]
    with monkeypatch.context() as killed:
        killed.setattr(record_all.Session, "read", lambda *_: None)
        assert recorded(tmp_path / "long", *more) == 3
    journal = tmp_path / "long" / "lenet-h200.csv.gz.partial"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))  # one training is left to do
    monkeypatch.setattr(record_all, "READ_SECONDS", 1e9)  # what must be read leaves no time for trainings
    assert recorded(tmp_path / "late", *more, "--resume", str(tmp_path / "long"), "--seconds", "0") == 3
    late = (tmp_path / "late" / journal.name).read_text().splitlines()
    assert len(late) == 2 + 1 + 4, "the times and readings of a trained network need no time"
    assert recorded(tmp_path / "long", *more) == 0

    short, long = (read_table(folder / "lenet-h200.csv.gz") for folder in (tmp_path, tmp_path / "long"))
    assert short.heading["settings"]["epochs"] == 2
    assert {len(curve) for curve in long.curves} == {3}
    made_with = {name: short.heading[name] for name in ("date", "meter", "machine", "versions")}
    assert long.heading["earlier"] == {**made_with, "deployments": 4}
    for name in ("epoch_seconds", "test_seconds"):
        assert long.heading[name] == short.heading[name]
    for n, (old, new) in enumerate(zip(short.rows, long.rows, strict=True)):
        for name in (*READ, *long.network_options, *long.deployment_options):
            assert new.get(name) == old.get(name)
        epoch, test = (long.heading[name][n // 4] for name in ("epoch_seconds", "test_seconds"))
        assert new["training_seconds"] == pytest.approx(3 * epoch + test)
        assert new["deployed_error_percent"] == new["error_percent"]  # that of the new training


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_recording_of_other_deployments_takes_the_trainings_and_the_readings_in_common(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_all, "_loaded", few_images)
    monkeypatch.setattr(record_all, "ALONE_SECONDS", 0.01)
    assert recorded(tmp_path, "--seconds", "240") == 0
    _, old = left_behind(tmp_path / "lenet-h200.csv.gz.partial")

    def with_other_batches(*given: Any) -> Any:
        recipe = recipe_of(*given)
        return replace(recipe, deployments={**recipe.deployments, "batch": (1, 16)})

    monkeypatch.setattr(record_all, "recipe_of", with_other_batches)
    monkeypatch.setattr(record_all.Session, "train", lambda *_: None)  # nothing is trained
    assert recorded(tmp_path / "new", "--seconds", "240", "--earlier", str(tmp_path)) == 0
    plan, new = left_behind(tmp_path / "new" / "lenet-h200.csv.gz.partial")
    assert new.errors == old.errors
    for (n, d), reading in new.readings.items():
        assert bool(reading.get("shared")) == (plan.deployments[d]["batch"] == 1), "what was not read is read now"
        assert reading["deployed_error_percent"] == old.errors[n]["error_percent"]
    heading = read_table(tmp_path / "new" / "lenet-h200.csv.gz").heading
    assert (heading["earlier"]["deployments"], heading["trained_earlier"]["networks"]) == (2, 2)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_folders_that_are_of_no_use_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record_all, "_loaded", few_images)
    assert recorded(tmp_path / "out", "--earlier", str(tmp_path / "none")) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
    (tmp_path / "lenet-x.csv.gz.partial").write_text("hello\n")
    assert recorded(tmp_path / "out", "--earlier", str(tmp_path)) == 2
    assert "lenet-x.csv.gz.partial" in capsys.readouterr().err
    (tmp_path / "lenet-x.csv.gz.partial").unlink()
    recorded(tmp_path / "out", "--earlier", str(tmp_path), "--seconds", "0")
    assert "no recording of the same system" in capsys.readouterr().out


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
