"""The journal keeps every outcome, and survives a kill."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.systems.recording.small_plan import HEADING, FakeSystem, plan_of

from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.systems.recording.journal import RecordingJournal, opened
from flexibo.systems.recording.measuring import record


def test_a_line_that_a_kill_cut_short_is_measured_again(tmp_path: Path) -> None:
    plan, runner, path = plan_of(again=0), FakeSystem(), tmp_path / "j"
    record(plan, RecordingJournal(path, plan, HEADING), runner)
    path.write_bytes(path.read_bytes()[:-9])
    assert record(plan, RecordingJournal(path, plan, HEADING), runner)
    assert len(runner.read) == len(plan.networks) * len(plan.deployments) + 1
    assert len(RecordingJournal(path, plan, HEADING).readings) == 12


def test_a_journal_of_another_plan_is_refused(tmp_path: Path) -> None:
    RecordingJournal(tmp_path / "j", plan_of(), HEADING)
    with pytest.raises(InvalidValueError, match=f"{tmp_path}/j .*other .*--out"):
        RecordingJournal(tmp_path / "j", plan_of(seed=1), HEADING)


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("hello\n")
    with pytest.raises(InvalidValueError, match=f"{tmp_path}/j .*no.* recording.*--out"):
        RecordingJournal(tmp_path / "j", plan_of(), HEADING)
    assert (tmp_path / "j").read_text() == "hello\n"


def test_a_fault_of_the_machine_is_raised_and_tried_again(tmp_path: Path) -> None:
    class Broken(FakeSystem):
        def reading(self, network: Mapping[str, Any], deployment: Mapping[str, Any]) -> Mapping[str, float]:
            raise FlexiBOError("The meter is gone.")

    plan = plan_of(networks=1, deployments=1, again=0)
    with pytest.raises(FlexiBOError, match="meter is gone"):
        record(plan, RecordingJournal(tmp_path / "j", plan, HEADING), Broken())
    again = RecordingJournal(tmp_path / "j", plan, HEADING)
    assert (len(again.errors), len(again.readings)) == (1, 0)
    assert record(plan, again, FakeSystem())


@pytest.mark.parametrize("left", [b"", b'{"plan":"f00'])
def test_a_first_line_that_was_cut_short_is_a_new_recording(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "j").write_bytes(left)
    assert record(plan_of(), RecordingJournal(tmp_path / "j", plan_of(), HEADING), FakeSystem())
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
    with first, pytest.raises(InvalidValueError, match=f"Another process .*{tmp_path}/sub/j"):
        second.__enter__()
    with opened(tmp_path / "sub" / "j", plan_of(), HEADING) as journal:
        assert journal.heading == HEADING


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "j", tmp_path / "folder"):
        with pytest.raises(InvalidValueError, match="cannot be written"):
            opened(path, plan_of(), HEADING).__enter__()
