"""What is taken over from another recording: readings and times, from its journal or its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.record_earlier import READ, TIMES, Known, earlier, same_trainings
from benchmarks.record_recipes import plan_of as recipe_plan
from benchmarks.record_recipes import recipe_of
from tests.unit.systems.recording.small_plan import HEADING, FakeSystem, plan_of

from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.platforms import NvidiaGpu
from flexibo.systems.recorded import FOLDER, recorded_table
from flexibo.systems.recording.journal import RecordingJournal
from flexibo.systems.recording.measuring import record, recorded
from flexibo.systems.recording.plan import Plan
from flexibo.systems.recording.table import write_table

MADE_WITH = {"date": "2026-01-02", "meter": "a counter", "machine": "a board", "versions": {"torch": "2"}}
NAME = "lenet-here.csv.gz"
AT_FIRST, LONGER = plan_of(again=0, epochs=2, task="a"), plan_of(again=0, epochs=3, task="b")


class CurvedSystem(FakeSystem):
    """Networks with curves and times, and deployed errors."""

    def error(self, network: Mapping[str, Any]) -> Mapping[str, Any]:
        error = super().error(network)
        curve = {"epoch_errors": [90.0, error["error_percent"]], "epoch_seconds": 1.2, "test_seconds": 0.1}
        return {**error, **curve, "timed_steps": 50}

    def reading(self, network: Mapping[str, Any], deployment: Mapping[str, Any]) -> Mapping[str, Any]:
        further = {"energy_spread": 0.01, "windows": 2.0, "deployed_error_percent": 4.0}
        return {**super().reading(network, deployment), **further}


@pytest.fixture
def journal(tmp_path: Path) -> RecordingJournal:
    """Of `AT_FIRST`, with its table beside it."""
    journal = RecordingJournal(tmp_path / f"{NAME}.partial", AT_FIRST, {**HEADING, **MADE_WITH})
    record(AT_FIRST, journal, CurvedSystem())
    write_table(tmp_path / NAME, recorded(AT_FIRST, journal))
    return journal


def from_table(folder: Path, plan: Plan = LONGER) -> Known | None:
    (folder / f"{NAME}.partial").unlink()
    return earlier(folder, plan)


def test_a_table_has_the_readings_of_its_journal_and_no_errors(tmp_path: Path, journal: RecordingJournal) -> None:
    known = from_table(tmp_path)
    assert known is not None
    assert tuple(known.networks) == AT_FIRST.networks
    assert {place for place, reading in journal.readings.items() if "failed" not in reading} == set(known.readings)
    assert len(known.readings) < len(journal.readings), "a reading that failed is no reading"
    for place, reading in known.readings.items():
        assert set(reading) <= set(READ)
        expected = {name: value for name, value in journal.readings[place].items() if name in READ}
        assert reading == pytest.approx(expected, rel=1e-6)
    assert not {"deployed_error_percent", "error_percent", "training_seconds"} & set(READ)


def test_a_table_has_the_times_of_its_journal_but_not_the_steps_that_were_timed(
    tmp_path: Path, journal: RecordingJournal
) -> None:
    known = from_table(tmp_path)
    assert known is not None
    for n, outcome in journal.errors.items():
        assert known.errors[n] == {name: outcome[name] for name in TIMES[:2] if name in outcome}
    assert any("failed" in outcome for outcome in journal.errors.values())


def test_a_journal_is_preferred_to_its_table(tmp_path: Path, journal: RecordingJournal) -> None:
    known = earlier(tmp_path, LONGER)
    assert known is not None
    assert known.errors == journal.errors
    assert known.readings == journal.readings


def test_the_machine_and_the_date_are_those_of_the_first_of_several_recordings(
    tmp_path: Path, journal: RecordingJournal
) -> None:
    known = from_table(tmp_path)
    assert known is not None
    assert known.made_with == MADE_WITH
    later = {**known.heading, "date": "2026-02-03", "earlier": known.made_with}
    assert Known((), (), {}, {}, later).made_with == MADE_WITH


@pytest.mark.parametrize("how", ["itself", "window", "deployments"])
def test_what_was_read_otherwise_is_not_taken_over(tmp_path: Path, journal: RecordingJournal, how: str) -> None:
    plans = {
        "itself": AT_FIRST,
        "window": plan_of(again=0, epochs=3, task="b", window_seconds=0.2),
        "deployments": replace(LONGER, deployments=({**LONGER.deployments[0], "batch": 2},)),
    }
    assert earlier(tmp_path, plans[how]) is None
    assert from_table(tmp_path, plans[how]) is None


def test_readings_of_the_deployments_in_common_are_taken_over(tmp_path: Path, journal: RecordingJournal) -> None:
    third, new = AT_FIRST.deployments[2], {**AT_FIRST.deployments[0], "batch": 2}
    known = earlier(tmp_path, replace(LONGER, deployments=(new, third)))
    assert known is not None
    assert known.reading(0, third) == journal.readings[0, 2]
    assert known.reading(0, new) is None


def test_an_option_that_an_older_recording_lacks_was_off() -> None:
    known = Known(({"filters": 16},), ({"precision": "fp32"},), {}, {(0, 0): {"energy_joules": 2.0}}, {})
    assert known.reading(0, {"precision": "fp32", "cuda_graphs": False}) == {"energy_joules": 2.0}
    assert known.reading(0, {"precision": "fp32", "cuda_graphs": True}) is None
    assert known.reading(1, {"precision": "fp32"}) is None


def test_trainings_are_taken_over_if_only_the_deployments_differ(tmp_path: Path, journal: RecordingJournal) -> None:
    plan = replace(AT_FIRST, networks=AT_FIRST.networks[1:], deployments=AT_FIRST.deployments[:1])
    known = same_trainings(tmp_path, plan)
    assert known is not None
    assert known.outcomes(plan.networks) == {n: journal.errors[n + 1] for n in range(len(plan.networks))}
    assert known.outcomes([{"filters": 1, "filter_size": 1}]) == {}
    failed = {n for n, outcome in known.outcomes(plan.networks).items() if "failed" in outcome}
    assert set(known.outcomes(plan.networks, ["fp16"])) == failed, "what was not tested in it is trained anew"
    assert same_trainings(tmp_path, AT_FIRST) is None, "that is the recording itself"
    assert same_trainings(tmp_path, replace(LONGER, deployments=plan.deployments)) is None
    (tmp_path / f"{NAME}.partial").unlink()
    assert same_trainings(tmp_path, plan) is None, "a table does not have the whole outcome"


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_recipes_draw_the_networks_of_the_recorded_tables(name: str) -> None:
    system = SYSTEMS[name]
    settings = {**recorded_table(f"{name}-h200-curves").heading["settings"], "epochs": 1}
    plan = recipe_plan(system, recipe_of(system, "small", NvidiaGpu()), count=48, seed=0, settings=settings)
    known = earlier(FOLDER, plan)
    assert known is not None
    assert tuple(known.networks) == plan.networks
    assert set(known.readings) == {(n, d) for n in range(48) for d in range(8)}
    assert all(set(times) == set(TIMES[:2]) for times in known.errors.values())
