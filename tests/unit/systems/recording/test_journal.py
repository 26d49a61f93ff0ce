"""The journal keeps every outcome, and survives a kill."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.systems.recording.small_plan import HEADING, FakeSystem, plan_of

from flexibo.errors import FlexiBOError, InvalidValueError, MachineError
from flexibo.systems.recording.journal import RecordingJournal, left_behind, opened
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


@pytest.mark.parametrize("left", [b"", b"{", b'{"plan":"f00'])
def test_a_first_line_that_was_cut_short_is_a_new_recording(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "j").write_bytes(left)
    assert record(plan_of(), RecordingJournal(tmp_path / "j", plan_of(), HEADING), FakeSystem())
    assert len(RecordingJournal(tmp_path / "j", plan_of(), HEADING).readings) == 12


DAMAGE = {
    "network out of range": '{"network":50,"outcome":{}}',
    "network of another type": '{"network":true,"outcome":{}}',
    "network is a list": '{"network":[0],"outcome":{}}',
    "no network": '{"outcome":{}}',
    "no outcome": '{"network":0}',
    "outcome is a list": '{"network":0,"outcome":[]}',
    "deployment out of range": '{"network":0,"deployment":9,"outcome":{}}',
    "deployment is null": '{"network":0,"deployment":null,"outcome":{}}',
    "a list": "[1,2]",
    "not an entry": "hello",
    "deep nesting": '{"network":0,"outcome":' + "[" * 99_999,
    "deep nesting that ends": '{"network":0,"outcome":' + "[" * 200 + "]" * 200 + "}",
    "reason is no text": '{"network":0,"outcome":{"failed":3}}',
    "nan": '{"network":0,"outcome":{"error_percent":NaN}}',
    "infinite": '{"network":0,"outcome":{"training_seconds":1e999}}',
    "many digits": '{"network":0,"outcome":{"training_seconds":1%s}}' % ("0" * 400),
    "negative error": '{"network":0,"outcome":{"error_percent":-0.5}}',
    "text for a number": '{"network":0,"outcome":{"error_percent":"3"}}',
    "flag for a number": '{"network":0,"outcome":{"error_percent":true}}',
    "no energy": '{"network":0,"deployment":0,"outcome":{"energy_joules":0}}',
    "negative spread": '{"network":0,"deployment":0,"outcome":{"energy_spread":-1e-9}}',
    "half a window": '{"network":0,"deployment":0,"outcome":{"windows":1.5}}',
    "curve to another error": '{"network":0,"outcome":{"error_percent":5.0,"epoch_errors":[9.0,5.001]}}',
    "curve of nothing": '{"network":0,"outcome":{"error_percent":5.0,"epoch_errors":[]}}',
    "curve is a number": '{"network":0,"outcome":{"error_percent":5.0,"epoch_errors":5.0}}',
    "curve without an error": '{"network":0,"outcome":{"epoch_errors":[5.0]}}',
    "time of no epoch": '{"network":0,"outcome":{"epoch_seconds":0.0}}',
    "no errors by precision": '{"network":0,"outcome":{"deployed":[3]}}',
    "negative error in a precision": '{"network":0,"outcome":{"deployed":{"bf16":-3.0}}}',
}


@pytest.mark.parametrize("line", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_line_is_a_sentence_that_names_it_and_the_journal_stays_as_it_is(tmp_path: Path, line: str) -> None:
    plan, path = plan_of(again=0), tmp_path / "j"
    record(plan, RecordingJournal(path, plan, HEADING), FakeSystem(), among=[0])
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    before = path.read_bytes()
    for read in (lambda: RecordingJournal(path, plan, HEADING), lambda: left_behind(path)):
        with pytest.raises(InvalidValueError, match=f"^{path} .* line 6: ") as caught:
            read()
        assert len(str(caught.value)) < 400
        assert str(caught.value).isprintable()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"[]",
        b"3",
        b'{"plan":"f00',
        b'{"plan":' + b"[" * 99_999,
        b'{"grid":{}}',
        b'{"grid":{"networks":[],"deployments":[],"again":[],"settings":{},"system":"x"}}',
        b'{"grid":{"networks":[[["a",1]]],"deployments":[{"b":1}],"again":[],"settings":{},"system":"x"}}',
        b'{"grid":{"networks":[{"a":1},{"c":1}],"deployments":[{"b":1}],"again":[],"settings":{},"system":"x"}}',
        b'{"grid":{"networks":[{"a":[1]},{"a":2}],"deployments":[{"b":1}],"again":[],"settings":{},"system":"x"}}',
        b'{"grid":{"networks":[{"a":1},{"a":1}],"deployments":[{"b":1}],"again":[],"settings":{},"system":"x"}}',
    ],
)
def test_a_journal_without_a_plan_is_a_sentence_and_stays_as_it_is(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "j").write_bytes(first)
    with pytest.raises(InvalidValueError, match=f"^{tmp_path}/j .*plan"):
        left_behind(tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == first


def test_a_journal_of_a_single_line_is_read_and_not_written_again(tmp_path: Path) -> None:
    RecordingJournal(tmp_path / "j", plan_of(), HEADING)
    for content in ((line := (tmp_path / "j").read_bytes()), line.rstrip()):
        (tmp_path / "j").write_bytes(content)
        assert left_behind(tmp_path / "j")[1].heading == HEADING
        assert RecordingJournal(tmp_path / "j", plan_of(), {"machine": "another"}).heading == HEADING
        with pytest.raises(InvalidValueError, match=r"other .*--out"):
            RecordingJournal(tmp_path / "j", plan_of(seed=1), HEADING)
        assert (tmp_path / "j").read_bytes() == content


def test_numbers_that_cannot_be_are_not_stored(tmp_path: Path) -> None:
    journal = RecordingJournal(tmp_path / "j", plan_of(), HEADING)
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(MachineError, match=r"network 1\b.*error_percent is nan"):
        journal.add_error(1, {"error_percent": float("nan")})
    with pytest.raises(MachineError, match=r"network 1\b.*deployment 2\b.*energy_joules is -1"):
        journal.add_reading(1, 2, {"energy_joules": -1.0})
    assert (tmp_path / "j").read_bytes() == before
    assert (journal.errors, journal.readings) == ({}, {})


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
