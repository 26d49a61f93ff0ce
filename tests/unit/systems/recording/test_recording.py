from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.errors import DesignError, FlexiBOError, InvalidValueError
from flexibo.systems.build import SystemRequest, build_runner
from flexibo.systems.recording._train_ahead import check_jobs, train_ahead
from flexibo.systems.recording.journal import RecordingJournal, left_behind, opened
from flexibo.systems.recording.measuring import complete, record, recorded
from flexibo.systems.recording.plan import Plan, capped, largest_values, narrowed, plan_from, planned, wanted_values
from flexibo.systems.recording.session import finished
from flexibo.systems.recording.table import RecordedTable, read_table, write_table

NETWORK = {"filters": (16, 32, 64), "filter_size": (1, 3)}
DEPLOYMENT = {"batch": (1, 4), "precision": ("fp32", "bf16"), "cuda_graphs": (False, True)}
HEADING = {"machine": "a board", "date": "2026-01-02"}


def plan_of(networks: int = 4, deployments: int = 3, again: int = 2, seed: int = 0, **settings: Any) -> Plan:
    return planned(
        "lenet",
        NETWORK,
        DEPLOYMENT,
        networks=networks,
        deployments=deployments,
        again=again,
        settings=settings,
        seed=seed,
    )


class FakeBench:
    """Counts what it measures; a network of 64 filters cannot be trained, a batch of 4 of them not be run."""

    def __init__(self) -> None:
        self.trained: list[Mapping[str, Any]] = []
        self.read: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    def error(self, network: Mapping[str, Any]) -> Mapping[str, float | str]:
        self.trained.append(network)
        if network["filters"] == 64:
            raise DesignError("The loss is NaN after epoch 1.")
        machine = "a board" if network["filters"] == 16 else "another board"
        return {"error_percent": 100 / network["filters"], "training_seconds": 2.5, "trained_on": machine}

    def reading(self, network: Mapping[str, Any], deployment: Mapping[str, Any]) -> Mapping[str, float]:
        self.read.append((network, deployment))
        if network["filters"] == 64 and deployment["batch"] == 4:
            raise DesignError("There is not enough memory.")
        joules = network["filters"] * network["filter_size"] / deployment["batch"] + 0.001 * len(self.read)
        return {"energy_joules": joules, "latency_ms": 1.0, "power_watts": 100.0, "reading_seconds": 2.1}


def test_a_plan_has_different_networks_and_deployments_from_the_options() -> None:
    plan = plan_of()
    assert len({tuple(network.items()) for network in plan.networks}) == 4
    assert len({tuple(deployment.items()) for deployment in plan.deployments}) == 3
    assert all(network[name] in NETWORK[name] for network in plan.networks for name in NETWORK)
    assert len(plan.again) == 2


def test_a_plan_takes_everything_where_there_is_no_more() -> None:
    plan = plan_of(networks=100, deployments=100)
    assert (len(plan.networks), len(plan.deployments)) == (6, 8)


def test_a_plan_is_decided_by_its_arguments() -> None:
    assert plan_of() == plan_of()
    assert plan_of().fingerprint == plan_of().fingerprint
    others = [plan_of(seed=1), plan_of(networks=5), plan_of(deployments=2), plan_of(again=1), plan_of(data="abc")]
    assert len({plan.fingerprint for plan in (plan_of(), *others)}) == 6


@pytest.mark.parametrize("wrong", [{"networks": 0}, {"deployments": 0}, {"again": -1}])
def test_a_plan_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidValueError, match="it must be at least"):
        plan_of(**wrong)


def test_values_above_the_largest_that_is_wanted_are_not_drawn() -> None:
    assert capped(NETWORK, {"filters": 40}) == {"filters": (16, 32), "filter_size": (1, 3)}
    assert capped(NETWORK, {}) == NETWORK
    with pytest.raises(InvalidValueError, match="no value of at most 8; its least is 16"):
        capped(NETWORK, {"filters": 8})
    with pytest.raises(InvalidValueError, match="Unknown option of the network 'filter'; did you mean 'filters'"):
        capped(NETWORK, {"filter": 8})


@pytest.mark.parametrize("wrong", ["filters", "filters=", "filters=many", "=x"])
def test_a_largest_value_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match="write OPTION=VALUE"):
        largest_values([wrong])


def test_only_the_wanted_values_are_drawn() -> None:
    wanted = wanted_values(["batch=4", "cuda_graphs=true,False", "other=1"])
    assert narrowed(DEPLOYMENT, wanted) == {"batch": (4,), "precision": ("fp32", "bf16"), "cuda_graphs": (False, True)}
    with pytest.raises(InvalidValueError, match="Unknown value of option 'precision' 'bf32'; did you mean 'fp32'"):
        narrowed(DEPLOYMENT, {"precision": ("bf32",)})


@pytest.mark.parametrize("wrong", ["batch", "batch=", "=4", "batch=,"])
def test_wanted_values_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match="write OPTION=VALUE,VALUE"):
        wanted_values([wrong])


def test_a_plan_is_made_again_from_its_plain_values() -> None:
    plan = plan_of(data="abc")
    assert plan_from(json.loads(json.dumps(plan.plain))) == plan


def test_several_at_a_time_need_a_folder_that_keeps_the_models() -> None:
    request = SystemRequest("lenet", Path("data"), models=None)
    check_jobs(1, request)
    check_jobs(2, replace(request, models=Path("models")))
    with pytest.raises(InvalidValueError, match="give --models"):
        check_jobs(2, request)
    with pytest.raises(InvalidValueError, match="at least 1"):
        check_jobs(0, request)


@pytest.mark.slow
@pytest.mark.torch
def test_networks_trained_ahead_are_found_in_the_store(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for part, count in (("train", 64), ("t10k", 16)):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (count, 28, 28), dtype=np.uint8))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", (np.arange(count) % 10).astype(np.uint8))
    request = SystemRequest(
        "lenet", tmp_path, platform="linux-cpu", dataset="mnist", epochs=1, models=tmp_path / "models"
    )
    networks = [
        {f"{what}_{layer}": value for layer in range(1, 5) for what, value in (("filters", 16), ("filter_size", size))}
        for size in (1, 3, 5)
    ]
    train_ahead(request, networks, 2, lambda: False)
    runner = build_runner(replace(request, objectives=("error_percent",)))
    assert all(runner.store.get(runner.task, network, seed=0) is not None for network in networks)
    train_ahead(replace(request, seed=1), networks, 2, lambda: True)
    assert all(runner.store.get(runner.task, network, seed=1) is None for network in networks)


def write_idx(path: Path, values: np.ndarray) -> None:
    """The file format of MNIST: two zero bytes, the type, the number of axes, their lengths, the bytes."""
    lengths = b"".join(length.to_bytes(4, "big") for length in values.shape)
    path.write_bytes(gzip.compress(bytes([0, 0, 8, values.ndim]) + lengths + values.tobytes()))


def test_every_network_is_trained_once_and_read_in_every_deployment(tmp_path: Path) -> None:
    plan, runner = plan_of(again=0), FakeBench()
    assert record(plan, RecordingJournal(tmp_path / "j", plan, HEADING), runner)
    assert runner.trained == list(plan.networks)
    assert runner.read == [(network, deployment) for network in plan.networks for deployment in plan.deployments]


def test_chosen_combinations_are_read_twice(tmp_path: Path) -> None:
    plan, runner = plan_of(networks=2, deployments=2, again=3), FakeBench()
    journal = RecordingJournal(tmp_path / "j", plan, HEADING)
    record(plan, journal, runner)
    twice = {cell for cell, outcome in journal.readings.items() if "energy_joules_again" in outcome}
    assert twice <= plan.again
    assert twice == {cell for cell in plan.again if "failed" not in journal.readings[cell]}
    for cell in twice:
        assert journal.readings[cell]["energy_joules_again"] > journal.readings[cell]["energy_joules"]


def test_a_recording_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    plan, runner = plan_of(again=0), FakeBench()
    left = iter([False] * 6 + [True])
    assert not record(plan, RecordingJournal(tmp_path / "j", plan, HEADING), runner, is_over=lambda: next(left))
    assert len(runner.trained) + len(runner.read) == 6
    again = RecordingJournal(tmp_path / "j", plan, {"machine": "another"})
    assert again.heading == HEADING
    assert record(plan, again, runner)
    assert runner.trained == list(plan.networks)
    assert len(runner.read) == len(plan.networks) * len(plan.deployments)


def stopped(folder: Path, n_measurements: int) -> tuple[Plan, RecordingJournal]:
    plan = plan_of(again=0)
    journal, left = (
        RecordingJournal(folder / "t.csv.gz.partial", plan, HEADING),
        iter([False] * n_measurements + [True]),
    )
    record(plan, journal, FakeBench(), is_over=lambda: next(left))
    return plan, journal


def test_networks_that_are_named_are_measured_and_no_others(tmp_path: Path) -> None:
    plan, runner = plan_of(again=0), FakeBench()
    journal = RecordingJournal(tmp_path / "j", plan, HEADING)
    assert record(plan, journal, runner, among=[3, 1])
    assert runner.trained == [plan.networks[1], plan.networks[3]]
    assert complete(plan, journal) == [1, 3]


def test_a_network_is_complete_when_nothing_of_it_is_left(tmp_path: Path) -> None:
    assert complete(*stopped(tmp_path, 4 + 4 + 3)) == [0, 1]


def test_what_is_complete_of_a_stopped_recording_becomes_a_table_on_any_machine(tmp_path: Path) -> None:
    plan, _ = stopped(tmp_path, 4 + 4 + 3)
    assert finished(tmp_path / "t.csv.gz") == (2, 4)
    table = read_table(tmp_path / "t.csv.gz")
    assert len(table.rows) == 2 * len(plan.deployments)
    assert {tuple(row[name] for name in NETWORK) for row in table.rows} == {
        tuple(network.values()) for network in plan.networks[:2]
    }
    assert (table.heading["networks_planned"], table.heading["machine"]) == (4, "a board")
    places = [place for places in table.heading["trained_on"].values() for place in places]
    assert set(places) <= {0, 1}
    # It can still be gone on with.
    plan_again, journal = left_behind(tmp_path / "t.csv.gz.partial")
    assert record(plan_again, journal, FakeBench())


def test_a_table_of_some_networks_names_them_by_their_place_in_it(tmp_path: Path) -> None:
    plan = plan_of(networks=6, again=0)
    journal = RecordingJournal(tmp_path / "t.csv.gz.partial", plan, HEADING)
    chosen = [n for n, network in enumerate(plan.networks) if network["filters"] == 32]
    assert chosen != [0, 1]
    record(plan, journal, FakeBench(), among=chosen)
    finished(tmp_path / "t.csv.gz")
    assert read_table(tmp_path / "t.csv.gz").heading["trained_on"] == {"another board": [0, 1]}


def test_a_recording_with_too_little_to_make_a_table_of_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="cannot be read: No such file"):
        finished(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz.partial").write_text("hello\n")
    with pytest.raises(InvalidValueError, match="does not say what was planned"):
        finished(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz.partial").unlink()
    stopped(tmp_path, 5)
    with pytest.raises(InvalidValueError, match=r"1 networks in .* are complete; a table needs at least two"):
        finished(tmp_path / "t.csv.gz")


def test_a_line_that_a_kill_cut_short_is_measured_again(tmp_path: Path) -> None:
    plan, runner, path = plan_of(again=0), FakeBench(), tmp_path / "j"
    record(plan, RecordingJournal(path, plan, HEADING), runner)
    path.write_bytes(path.read_bytes()[:-9])
    assert record(plan, RecordingJournal(path, plan, HEADING), runner)
    assert len(runner.read) == len(plan.networks) * len(plan.deployments) + 1
    assert len(RecordingJournal(path, plan, HEADING).readings) == 12


def test_a_journal_of_another_plan_is_refused(tmp_path: Path) -> None:
    RecordingJournal(tmp_path / "j", plan_of(), HEADING)
    with pytest.raises(InvalidValueError, match="other networks, deployments, data or settings"):
        RecordingJournal(tmp_path / "j", plan_of(seed=1), HEADING)


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("hello\n")
    with pytest.raises(InvalidValueError, match="no recording that is under way"):
        RecordingJournal(tmp_path / "j", plan_of(), HEADING)
    assert (tmp_path / "j").read_text() == "hello\n"


def test_a_fault_of_the_machine_is_raised_and_tried_again(tmp_path: Path) -> None:
    class Broken(FakeBench):
        def reading(self, network: Mapping[str, Any], deployment: Mapping[str, Any]) -> Mapping[str, float]:
            raise FlexiBOError("The meter is gone.")

    plan = plan_of(networks=1, deployments=1, again=0)
    with pytest.raises(FlexiBOError, match="The meter is gone"):
        record(plan, RecordingJournal(tmp_path / "j", plan, HEADING), Broken())
    again = RecordingJournal(tmp_path / "j", plan, HEADING)
    assert (len(again.errors), len(again.readings)) == (1, 0)
    assert record(plan, again, FakeBench())


@pytest.mark.parametrize("left", [b"", b'{"plan":"f00'])
def test_a_first_line_that_was_cut_short_is_a_new_recording(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "j").write_bytes(left)
    assert record(plan_of(), RecordingJournal(tmp_path / "j", plan_of(), HEADING), FakeBench())
    assert len(RecordingJournal(tmp_path / "j", plan_of(), HEADING).readings) == 12


def test_entries_that_belong_to_nothing_do_not_count(tmp_path: Path) -> None:
    plan, path = plan_of(again=0), tmp_path / "j"
    RecordingJournal(path, plan, HEADING)
    strange = ['{"network":50,"outcome":{}}', '{"network":0}', '{"network":0,"deployment":9,"outcome":{}}', "[" * 9999]
    with open(path, "a") as file:
        file.write("\n".join(strange) + "\n")
    found = RecordingJournal(path, plan, HEADING)
    assert (found.errors, found.readings) == ({}, {})


def test_one_process_records_at_a_time(tmp_path: Path) -> None:
    second = opened(tmp_path / "sub" / "j", plan_of(), HEADING)
    first = opened(tmp_path / "sub" / "j", plan_of(), HEADING)
    with first, pytest.raises(InvalidValueError, match="Another process is recording"):
        second.__enter__()
    with opened(tmp_path / "sub" / "j", plan_of(), HEADING) as journal:
        assert journal.heading == HEADING


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "j", tmp_path / "folder"):
        with pytest.raises(InvalidValueError, match="cannot be written"):
            opened(path, plan_of(), HEADING).__enter__()


def _table(tmp_path: Path) -> RecordedTable:
    plan = plan_of(networks=6)
    journal = RecordingJournal(tmp_path / "j", plan, HEADING)
    record(plan, journal, FakeBench())
    return recorded(plan, journal)


def test_what_failed_is_empty_and_the_rest_is_there(tmp_path: Path) -> None:
    rows = _table(tmp_path).rows
    assert len(rows) == 18
    for row in rows:
        assert (row["error_percent"] is None) == (row["filters"] == 64)
        assert (row["energy_joules"] is None) == (row["filters"] == 64 and row["batch"] == 4)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = _table(tmp_path)
    write_table(tmp_path / "t.csv.gz", table)
    again = read_table(tmp_path / "t.csv.gz")
    assert again.heading == table.heading
    assert (again.network_options, again.deployment_options) == (tuple(NETWORK), tuple(DEPLOYMENT))
    for row, other in zip(table.rows, again.rows, strict=True):
        close = {n: pytest.approx(v, rel=1e-6) if isinstance(v, float) else v for n, v in row.items()}
        assert close == other
        assert {name: type(value) for name, value in row.items()} == {n: type(v) for n, v in other.items()}


def test_a_table_says_which_networks_were_trained_on_which_machine(tmp_path: Path) -> None:
    table = _table(tmp_path)
    write_table(tmp_path / "t.csv.gz", table)
    trained_on = read_table(tmp_path / "t.csv.gz").heading["trained_on"]
    networks = list(dict.fromkeys((row["filters"], row["filter_size"]) for row in table.rows))
    assert {machine: {networks[n][0] for n in places} for machine, places in trained_on.items()} == {
        "a board": {16},
        "another board": {32},
    }
    assert sum(map(len, trained_on.values())) == 4  # those of 64 filters were not trained


def test_equal_tables_are_equal_files(tmp_path: Path) -> None:
    table = _table(tmp_path)
    write_table(tmp_path / "a", table)
    write_table(tmp_path / "b", table)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "j"]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda whole, text: whole[:-20], "no table that 'flexibo record' wrote"),
        (lambda whole, text: whole[:40] + b"\xff" * 40 + whole[80:], "no table that 'flexibo record' wrote"),
        (lambda whole, text: gzip.compress(text.replace('"values"', '"worth"').encode()), "no table that"),
        (lambda whole, text: b"hello", "no table that 'flexibo record' wrote"),
        (lambda whole, text: gzip.compress(b"a,b\n1,2\n"), "no table that 'flexibo record' wrote"),
        (lambda whole, text: gzip.compress(text.replace("latency_ms", "latency_s").encode()), "has the columns"),
        (
            lambda whole, text: gzip.compress(text.replace("\n16,", "\n17,").encode()),
            "has '17' in the column",
        ),
        (lambda whole, text: gzip.compress(text.rstrip("\n").rpartition(",")[0].encode()), "has a row of 11 cells"),
        (lambda whole, text: gzip.compress(text.replace(",2.1,", ",fast,").encode()), "has 'fast' in the column"),
    ],
    ids=[
        "cut short",
        "damaged",
        "no values",
        "not compressed",
        "no heading",
        "another column",
        "unknown value",
        "short row",
        "no number",
    ],
)
def test_a_damaged_table_is_a_sentence(tmp_path: Path, damage: Any, sentence: str) -> None:
    path = tmp_path / "t.csv.gz"
    write_table(path, _table(tmp_path))
    whole = path.read_bytes()
    path.write_bytes(damage(whole, gzip.decompress(whole).decode()))
    with pytest.raises(InvalidValueError, match=sentence):
        read_table(path)


def test_progress_is_told(tmp_path: Path) -> None:
    plan, progress = plan_of(networks=1, deployments=1, again=0), []
    plan = replace(plan, networks=({"filters": 16, "filter_size": 3},))
    record(
        plan, RecordingJournal(tmp_path / "j", plan, HEADING), FakeBench(), progress=lambda *what: progress.append(what)
    )
    assert [(done, total) for done, total, _ in progress] == [(1, 2), (2, 2)]
    assert progress[0][2] == "trained filters=16, filter_size=3: error_percent 6.25, training_seconds 2.5"
