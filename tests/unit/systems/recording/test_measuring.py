"""None"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.unit.systems.recording.small_plan import HEADING, FakeSystem, _table, plan_of, stopped

from flexibo.systems.recording.journal import RecordingJournal
from flexibo.systems.recording.measuring import complete, record
from flexibo.systems.recording.session import finished
from flexibo.systems.recording.table import read_table, write_table


def test_every_network_is_trained_once_and_read_in_every_deployment(tmp_path: Path) -> None:
    plan, runner = plan_of(again=0), FakeSystem()
    assert record(plan, RecordingJournal(tmp_path / "j", plan, HEADING), runner)
    assert runner.trained == list(plan.networks)
    assert runner.read == [(network, deployment) for network in plan.networks for deployment in plan.deployments]


def test_chosen_combinations_are_read_twice(tmp_path: Path) -> None:
    plan, runner = plan_of(networks=2, deployments=2, again=3), FakeSystem()
    journal = RecordingJournal(tmp_path / "j", plan, HEADING)
    record(plan, journal, runner)
    twice = {cell for cell, outcome in journal.readings.items() if "energy_joules_again" in outcome}
    assert twice <= plan.again
    assert twice == {cell for cell in plan.again if "failed" not in journal.readings[cell]}
    for cell in twice:
        assert journal.readings[cell]["energy_joules_again"] > journal.readings[cell]["energy_joules"]


def test_a_recording_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    plan, runner = plan_of(again=0), FakeSystem()
    left = iter([False] * 6 + [True])
    assert not record(plan, RecordingJournal(tmp_path / "j", plan, HEADING), runner, is_over=lambda: next(left))
    assert len(runner.trained) + len(runner.read) == 6
    again = RecordingJournal(tmp_path / "j", plan, {"machine": "another"})
    assert again.heading == HEADING
    assert record(plan, again, runner)
    assert runner.trained == list(plan.networks)
    assert len(runner.read) == len(plan.networks) * len(plan.deployments)


def test_networks_that_are_named_are_measured_and_no_others(tmp_path: Path) -> None:
    plan, runner = plan_of(again=0), FakeSystem()
    journal = RecordingJournal(tmp_path / "j", plan, HEADING)
    assert record(plan, journal, runner, among=[3, 1])
    assert runner.trained == [plan.networks[1], plan.networks[3]]
    assert complete(plan, journal) == [1, 3]


def test_a_network_is_complete_when_nothing_of_it_is_left(tmp_path: Path) -> None:
    assert complete(*stopped(tmp_path, 4 + 4 + 3)) == [0, 1]


def test_a_table_of_some_networks_names_them_by_their_place_in_it(tmp_path: Path) -> None:
    plan = plan_of(networks=6, again=0)
    journal = RecordingJournal(tmp_path / "t.csv.gz.partial", plan, HEADING)
    chosen = [n for n, network in enumerate(plan.networks) if network["filters"] == 32]
    assert chosen != [0, 1]
    record(plan, journal, FakeSystem(), among=chosen)
    finished(tmp_path / "t.csv.gz")
    assert read_table(tmp_path / "t.csv.gz").heading["trained_on"] == {"another board": [0, 1]}


def test_what_failed_is_empty_and_the_rest_is_there(tmp_path: Path) -> None:
    rows = _table(tmp_path).rows
    assert len(rows) == 18
    for row in rows:
        assert (row["error_percent"] is None) == (row["filters"] == 64)
        assert (row["energy_joules"] is None) == (row["filters"] == 64 and row["batch"] == 4)


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


def test_progress_is_told(tmp_path: Path) -> None:
    plan, progress = plan_of(networks=1, deployments=1, again=0), []
    plan = replace(plan, networks=({"filters": 16, "filter_size": 3},))
    record(
        plan,
        RecordingJournal(tmp_path / "j", plan, HEADING),
        FakeSystem(),
        progress=lambda *what: progress.append(what),
    )
    assert [(done, total) for done, total, _ in progress] == [(1, 2), (2, 2)]
    assert progress[0][2].endswith("filters=16, filter_size=3: error_percent 6.25, training_seconds 2.5")
