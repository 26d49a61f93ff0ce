from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from flexibo import Study
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Family, Problem
from flexibo.compare.problems.recorded_systems import FAMILIES, recorded_system, system_problem, timed_calls
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.objectives import Reading
from flexibo.systems.recorded import newest_recording, recorded_table, recordings
from flexibo.systems.recording.table import RecordedTable, write_table

HEADING = {
    "system": "bert-imdb",
    "date": "2026-01-02",
    "meter": "NVML, a GPU",
    "machine": {"gpus": ["a GPU"]},
    "settings": {"dataset": "movie-reviews"},
    "network_options": ["batch_size", "dropout", "fixed"],
    "deployment_options": ["precision", "cuda_graphs"],
    "training_only": ["dropout"],
    "values": {
        "batch_size": [6, 12],
        "dropout": [0.1, 0.5],
        "fixed": [3],
        "precision": ["bf16", "fp32"],
        "cuda_graphs": [False, True],
    },
}


def row(batch: int, dropout: float, precision: str, graphs: bool, **measured: Any) -> dict[str, Any]:
    options = {"batch_size": batch, "dropout": dropout, "fixed": 3, "precision": precision, "cuda_graphs": graphs}
    values = {
        "error_percent": 10 * dropout + batch,
        "training_seconds": 100.0 * batch,
        "energy_joules": (2 if precision == "fp32" else 1) / batch / (2 if graphs else 1),
        "latency_ms": 1.0,
        "power_watts": 300.0,
        "reading_seconds": 2.0,
        "energy_joules_again": None,
    }
    return {**options, **values, **measured}


def problem(folder: Path, **changed: Any) -> Problem:
    rows = [
        row(batch, dropout, precision, graphs)
        for batch in (6, 12)
        for dropout in (0.1, 0.5)
        for precision in ("fp32", "bf16")
        for graphs in (False, True)
    ]
    rows[3] |= changed
    write_table(folder / "bert-imdb-h200.csv.gz", RecordedTable(HEADING, tuple(rows)))
    return system_problem("bert-imdb-h200", folder=folder)


def test_a_table_becomes_a_pool_without_options_that_never_vary(tmp_path: Path) -> None:
    found = problem(tmp_path)
    assert found.space.names == ("batch_size", "dropout", "precision", "cuda_graphs")
    assert found.space.size == 16


def test_values_and_costs_are_those_of_the_table(tmp_path: Path) -> None:
    found = problem(tmp_path)
    design = {"batch_size": 12, "dropout": 0.5, "precision": "bf16", "cuda_graphs": "yes"}
    designs = found.space.designs([design])
    assert found.values(designs).tolist() == [[17.0, pytest.approx(1000 / 24)]]
    assert found.costs(designs).tolist() == [[1200.0, 2.0]]


def test_a_training_is_paid_for_once_per_network(tmp_path: Path) -> None:
    metered = MeteredProblem(problem(tmp_path), seed=0)
    design = {"batch_size": 6, "dropout": 0.1, "precision": "bf16", "cuda_graphs": "no"}
    assert metered.measure(design, "error_percent").cost == 600.0
    assert metered.measure({**design, "precision": "fp32"}, "error_percent").cost == 0.0
    assert metered.measure({**design, "dropout": 0.5}, "error_percent").cost == 600.0


def test_what_changes_the_training_alone_is_read_once(tmp_path: Path) -> None:
    metered = MeteredProblem(problem(tmp_path), seed=0)
    design = {"batch_size": 6, "dropout": 0.1, "precision": "bf16", "cuda_graphs": "no"}
    assert metered.measure(design, "energy_millijoules").cost == 2.0
    assert metered.measure({**design, "dropout": 0.5}, "energy_millijoules").cost == 0.0


def test_readings_of_the_same_thing_have_one_value(tmp_path: Path) -> None:
    found = problem(tmp_path, energy_joules=0.5)  # of batch 6, dropout 0.1, bf16, with graphs
    design = {"batch_size": 6, "dropout": 0.1, "precision": "bf16", "cuda_graphs": "yes"}
    both = found.values(found.space.designs([design, {**design, "dropout": 0.5}]))[:, 1]
    assert both.tolist() == [pytest.approx((500 + 1000 / 12) / 2)] * 2


@pytest.mark.parametrize("failed", ["error_percent", "energy_joules", "training_seconds", "reading_seconds"])
def test_a_row_with_a_failed_measurement_is_left_out(tmp_path: Path, failed: str) -> None:
    assert problem(tmp_path, **{failed: None}).space.size == 15


@pytest.mark.parametrize("machine", [{"gpus": "a GPU"}, {"gpus": ["a GPU"]}, "a GPU"])
def test_a_machine_is_named_in_full(tmp_path: Path, machine: Any) -> None:
    rows = (row(6, 0.1, "bf16", True), row(12, 0.1, "bf16", True))
    write_table(tmp_path / "x-y.csv.gz", RecordedTable({**HEADING, "machine": machine}, rows))
    found = system_problem("x-y", folder=tmp_path)
    assert re.search(r"bert-imdb.*movie-reviews.* a GPU$", found.summary)
    assert re.search(r"2026-01-02.*bert-imdb.*movie-reviews.*NVML, a GPU\b", found.source)


def test_the_true_front_has_no_error(tmp_path: Path) -> None:
    found = problem(tmp_path)
    assert found.error(list(found.space.enumerate())) == 0.0


def test_tables_are_found_by_system(tmp_path: Path) -> None:
    problem(tmp_path)
    assert recordings("bert-imdb", tmp_path) == ["bert-imdb-h200"]
    assert recordings("lenet", tmp_path) == []
    assert recorded_system("bert-imdb-h200", folder=tmp_path).name == "bert-imdb-h200"
    with pytest.raises(UnknownNameError, match=r"'bert-imdb-h100'.*'bert-imdb-h200'"):
        recorded_table("bert-imdb-h100", tmp_path)


def with_curves(folder: Path, errors: list[list[float] | None], *, more: dict[str, float] | None = None) -> Problem:
    """The problem of a table with the errors of two networks after each epoch of 10 and 20 s, tested in 1 s.

    In bf16 the error is as much `more` as is given for the batch size, as text.
    """
    rows = [
        row(
            *(batch, 0.1, precision, True),
            error_percent=errors[n][-1] if errors[n] else 50.0,
            training_seconds=10.0 * (n + 1) * len(errors[n] or ()) + 1.0,
            latency_ms=3.0 * batch,
            **({"energy_spread": 0.1, "windows": 2} if precision == "bf16" else {"windows": 1}),
        )
        for n, batch in enumerate((6, 12))
        for precision in ("fp32", "bf16")
    ]
    for one in rows if more else ():
        one["deployed_error_percent"] = (
            one["error_percent"] + (one["precision"] == "bf16") * more[str(one["batch_size"])]
        )
        one["latency_spread"] = 0.2 if one["precision"] == "bf16" else None
    curves = {"epoch_errors": errors, "epoch_seconds": [10.0, 20.0], "test_seconds": [1.0, 1.0]}
    heading = {**HEADING, "date": "2026-01-03", **curves}
    write_table(folder / "bert-imdb-h200-curves.csv.gz", RecordedTable(heading, tuple(rows)))
    return system_problem("bert-imdb-h200-curves", folder=folder)


def test_the_third_objective_is_the_latency_which_a_reading_yields_too(tmp_path: Path) -> None:
    with_curves(tmp_path, [[80.0, 60.0], [90.0, 40.0]])
    found = system_problem("bert-imdb-h200-curves", n=3, folder=tmp_path)
    assert found.name == "bert-imdb-h200-curves:n=3"
    metered, design = MeteredProblem(found, seed=0), {"batch_size": 12, "precision": "bf16"}
    assert metered.measure(design, "latency_ms").values == {
        "energy_millijoules": pytest.approx(1000 / 24),
        "latency_ms": 36.0,
    }
    assert metered.price(design, "energy_millijoules") == 0.0
    assert metered.spent == 2.0


SMALL, LARGE = {"batch_size": 6}, {"batch_size": 12}
MORE = {"6": 2.0, "12": -1.0}


def deployed(folder: Path) -> Problem:
    with_curves(folder, [[80.0, 60.0], [90.0, 40.0]], more=MORE)
    return system_problem("bert-imdb-h200-curves", deployed=True, folder=folder)


def test_a_problem_may_have_the_error_in_the_precision_of_the_design(tmp_path: Path) -> None:
    found, usual = deployed(tmp_path), system_problem("bert-imdb-h200-curves", folder=tmp_path)
    assert (found.name, usual.name) == ("bert-imdb-h200-curves:deployed", "bert-imdb-h200-curves")
    pool = found.space.enumerate()
    expected = {(6, "fp32"): 60.0, (6, "bf16"): 62.0, (12, "fp32"): 40.0, (12, "bf16"): 39.0}
    assert found.values(pool)[:, 0].tolist() == [expected[one["batch_size"], one["precision"]] for one in pool]
    assert found.error(list(pool)) == 0.0
    assert sorted(set(usual.values(pool)[:, 0].tolist())) == [40.0, 60.0]
    three = system_problem("bert-imdb-h200-curves", n=3, deployed=True, folder=tmp_path)
    assert three.name == "bert-imdb-h200-curves:n=3:deployed"


def test_each_precision_of_a_network_costs_a_training_in_a_problem_and_its_last_step_is_the_deployed_error(
    tmp_path: Path,
) -> None:
    metered, design = MeteredProblem(deployed(tmp_path), seed=0), {**LARGE, "precision": "bf16"}
    first = metered.measure(design, "error_percent", 1)
    assert (first.values, first.cost) == ({"error_percent": 90.0}, 21.0)
    last = metered.measure(design, "error_percent")
    assert (last.values, last.cost) == ({"error_percent": 39.0}, 20.0)
    assert metered.measure({**LARGE, "precision": "fp32"}, "error_percent").cost == 41.0


def test_a_table_without_errors_in_precision_makes_no_problem_of_them(tmp_path: Path) -> None:
    problem(tmp_path)
    with pytest.raises(InvalidValueError, match=r"'bert-imdb-h200'.*precision.*:deployed"):
        system_problem("bert-imdb-h200", deployed=True, folder=tmp_path)


@pytest.mark.parametrize("family", [one for one in FAMILIES if one.group == "curves"], ids=lambda family: family.name)
def test_a_shipped_table_with_curves_has_both_problems_and_the_usual_one_is_not_changed(family: Family) -> None:
    usual, found = family.make(), family.make(**family.parsed("deployed"))
    assert found.name == family.full_name({"deployed": True}) == f"{family.name}:deployed"
    assert found.error(list(found.space.enumerate())) == 0.0
    assert "precision" in (found.objectives[0].options or ())
    assert "precision" not in (usual.objectives[0].options or ())
    assert found.objectives[0].reuse == (), "each precision costs a training"
    pool = usual.space.enumerate()
    assert (found.values(pool)[:, 0] != usual.values(pool)[:, 0]).sum() > 100
    assert found.fingerprint() != usual.fingerprint()


def test_a_replay_charges_a_training_once_and_a_test_for_another_precision(tmp_path: Path) -> None:
    deployed(tmp_path)
    first = recorded_system("bert-imdb", folder=tmp_path)
    train = first.functions["error_percent"]
    assert train({**LARGE, "precision": "fp32"}) == (40.0, 41.0)
    assert train({**LARGE, "precision": "bf16"}) == (39.0, 1.0)
    assert train({**SMALL, "precision": "bf16"}) == (62.0, 21.0)
    assert any("precision of the design" in note for note in first.notes)
    assert first.objectives[0].reuse == ("batch_size",)
    later = recorded_system("bert-imdb", trained=[{**LARGE, "precision": "fp32"}], folder=tmp_path)
    train = later.functions["error_percent"]
    assert train({**LARGE, "precision": "bf16"}) == (39.0, 1.0)
    assert train({**SMALL, "precision": "bf16"}) == (62.0, 21.0)


def test_a_replay_may_keep_the_error_as_trained(tmp_path: Path) -> None:
    deployed(tmp_path)
    system = recorded_system("bert-imdb", as_trained=True, folder=tmp_path)
    assert system.objectives[0].options == ("batch_size",)
    assert system.functions["error_percent"]({**SMALL, "precision": "bf16"}) == (60.0, 21.0)
    assert not any("precision of the design" in note for note in system.notes)


def test_a_replay_goes_to_worker_processes(tmp_path: Path) -> None:
    import cloudpickle

    deployed(tmp_path)
    train = recorded_system("bert-imdb", folder=tmp_path).functions["error_percent"]
    design = {**LARGE, "precision": "bf16"}
    assert cloudpickle.loads(cloudpickle.dumps(train))(design) == train(design) == (39.0, 41.0)


def test_a_latency_has_the_error_bar_of_the_batches_that_were_timed(tmp_path: Path) -> None:
    deployed(tmp_path)
    read = recorded_system("bert-imdb", beside=["latency_ms", "power_watts"], folder=tmp_path).functions[
        "energy_millijoules"
    ]
    several, _ = read({**SMALL, "precision": "bf16"})
    latency = several["latency_ms"]
    assert isinstance(latency, Reading)
    # Of 18 ms each, 6 fit into a warm-up of 0.1 s; the later 3 were timed.
    assert (latency, latency.repeats) == (18.0, 3)
    assert latency.deviation == pytest.approx(0.2 * 18.0 / 1.349 * 1.2533 / 3**0.5, rel=1e-3)
    assert type(several["power_watts"]) is float
    one, _ = read({**SMALL, "precision": "fp32"})
    assert type(one["latency_ms"]) is float


def test_a_recorded_latency_has_a_spread_where_several_batches_were_timed() -> None:
    rows = recorded_table("deepspeech-h200-curves").rows
    several = [row for row in rows if row["latency_spread"] is not None]
    assert 0 < len(several) < len(rows)
    assert all(timed_calls(row["latency_ms"]) > 1 for row in several)
    # Two batches of 48.7 ms took a little more than the warm-up.
    alone = [row for row in rows if row["latency_spread"] is None]
    assert all(timed_calls(1.03 * row["latency_ms"]) == 1 for row in alone)


def test_a_table_with_the_error_after_each_epoch_is_paid_for_epoch_by_epoch(tmp_path: Path) -> None:
    found = with_curves(tmp_path, [[80.0, 60.0], [90.0, 40.0]])
    assert (found.group, found.curves["error_percent"].steps) == ("curves", 2)
    metered, design = MeteredProblem(found, seed=0), {"batch_size": 12, "precision": "bf16"}
    first = metered.measure(design, "error_percent", 1)
    assert (first.values, first.cost) == ({"error_percent": 90.0}, 21.0)
    last = metered.measure({**design, "precision": "fp32"}, "error_percent")
    assert (last.values, last.cost) == ({"error_percent": 40.0}, 20.0)


def test_steps_of_trainings_of_different_lengths_are_shares_of_them(tmp_path: Path) -> None:
    found = with_curves(tmp_path, [[80.0, 60.0], [90.0, 70.0, 50.0, 40.0]])
    assert (found.group, found.curves["error_percent"].steps) == ("curves", 2)
    metered, design = MeteredProblem(found, seed=0), {"batch_size": 12, "precision": "bf16"}
    first = metered.measure(design, "error_percent", 1)
    assert (first.values, first.cost) == ({"error_percent": 70.0}, 41.0)
    assert metered.measure({**design, "batch_size": 6}, "error_percent", 1).values == {"error_percent": 80.0}
    last = metered.measure(design, "error_percent")
    assert (last.values, last.cost) == ({"error_percent": 40.0}, 40.0)


@pytest.mark.parametrize("other", [None, [90.0, 50.0, 40.0]])
def test_trainings_without_common_steps_have_none(tmp_path: Path, other: list[float] | None) -> None:
    found = with_curves(tmp_path, [[80.0, 60.0], other])
    assert (found.curves, found.group) == ({}, "recorded")


def test_a_system_replays_its_newest_table_and_says_which_others_there_are(tmp_path: Path) -> None:
    problem(tmp_path)
    assert newest_recording("bert-imdb", tmp_path) == "bert-imdb-h200"
    assert not any("newest" in note for note in recorded_system("bert-imdb", folder=tmp_path).notes)
    with_curves(tmp_path, [[80.0, 60.0], [90.0, 40.0]])
    assert newest_recording("bert-imdb", tmp_path) == "bert-imdb-h200-curves"
    assert newest_recording("lenet", tmp_path) == ""
    system = recorded_system("bert-imdb", folder=tmp_path)
    assert system.name == "bert-imdb-h200-curves"
    assert any("flexibo run bert-imdb-h200 --recorded" in note for note in system.notes)
    assert recorded_system("bert-imdb-h200", folder=tmp_path).name == "bert-imdb-h200"


@pytest.mark.parametrize(("system", "expected"), [("bert-squad", (91.6, 629)), ("lenet-h200", None)])
def test_a_recorded_system_knows_what_chance_is_if_its_table_does(
    system: str, expected: tuple[float, int] | None
) -> None:
    assert recorded_system(system).chance == (expected and pytest.approx(expected, rel=1e-3))


def test_an_energy_has_the_error_bar_of_its_windows(tmp_path: Path) -> None:
    with_curves(tmp_path, [[80.0, 60.0], [90.0, 40.0]])
    measure = recorded_system("bert-imdb", folder=tmp_path).functions["energy_millijoules"]
    several, _ = measure({"batch_size": 6, "precision": "bf16"})
    assert isinstance(several, Reading)
    # A normal's interquartile range is 1.349 deviations; the median of two has 1.253 / sqrt(2) of them.
    expected = 0.1 * 1000 / 12 / 1.349 * 1.2533 / 2**0.5
    assert (several.deviation, several.repeats) == (pytest.approx(expected, rel=1e-3), 2)
    one, _ = measure({"batch_size": 6, "precision": "fp32"})
    assert type(one) is float


def test_latency_and_power_come_with_a_recorded_energy_for_the_price_of_one_reading(tmp_path: Path) -> None:
    with_curves(tmp_path, [[80.0, 60.0], [90.0, 40.0]])
    system = recorded_system("bert-imdb", beside=["power_watts", "latency_ms"], folder=tmp_path)
    names = ["error_percent", "energy_millijoules", "latency_ms", "power_watts"]
    assert [one.name for one in system.objectives] == names
    assert [one.measured_with for one in system.objectives] == [None, None, *["energy_millijoules"] * 2]
    values, cost = system.functions["energy_millijoules"]({"batch_size": 12, "precision": "bf16"})
    assert values == {"energy_millijoules": pytest.approx(1000 / 24), "latency_ms": 36.0, "power_watts": 300.0}
    assert isinstance(values["energy_millijoules"], Reading)
    assert cost == 2.0
    with pytest.raises(UnknownNameError, match=r"'latency'.*'latency_ms'"):
        recorded_system("bert-imdb", beside=["latency"], folder=tmp_path)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_tells_from_its_name_whether_its_table_has_curves(family: Family) -> None:
    found = family.make()
    assert (found.name, found.group) == (family.name, family.group)
    assert bool(found.curves) == (family.group == "curves")


def test_a_table_of_one_design_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "x-y.csv.gz", RecordedTable(HEADING, (row(6, 0.1, "bf16", True),)))
    with pytest.raises(InvalidValueError, match=r"x-y.*two designs"):
        system_problem("x-y", folder=tmp_path)


def test_a_recorded_system_answers_at_the_recorded_cost(tmp_path: Path) -> None:
    problem(tmp_path)
    system = recorded_system("bert-imdb", folder=tmp_path)
    study = Study(system.space, system.objectives, budget=6000, n_initial=2, seed=0)
    study.run(system.functions)
    assert 1800 <= study.spent <= 6000
    assert study.front()


def test_a_system_that_was_not_recorded_is_a_sentence(tmp_path: Path) -> None:
    problem(tmp_path)
    with pytest.raises(InvalidValueError, match=r"'lenet'.*bert-imdb-h200"):
        recorded_system("lenet", folder=tmp_path)
