"""A stopped recording resumes, and its complete part becomes a table."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.hardware.fake_linux import linux
from tests.unit.systems.recording.small_plan import NETWORK, FakeSystem, stopped

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import LinuxMachine, os_knobs
from flexibo.systems.build import SystemRequest
from flexibo.systems.recording.journal import left_behind
from flexibo.systems.recording.measuring import record
from flexibo.systems.recording.session import RecordingGrid, finished, plan_of
from flexibo.systems.recording.table import read_table


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
    assert record(plan_again, journal, FakeSystem())


def test_a_recording_with_too_little_to_make_a_table_of_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=rf"t\.csv\.gz\.partial .*: {os.strerror(errno.ENOENT)}"):
        finished(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz.partial").write_text("hello\n")
    with pytest.raises(InvalidValueError, match=r"t\.csv\.gz\.partial has no plan"):
        finished(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz.partial").unlink()
    stopped(tmp_path, 5)
    with pytest.raises(InvalidValueError, match=r"^1 networks in .*t\.csv\.gz\.partial .*two"):
        finished(tmp_path / "t.csv.gz")


def edited(path: Path, line: int, text: str, other: str) -> None:
    lines = path.read_text().splitlines(keepends=True)
    assert text in lines[line]
    lines[line] = lines[line].replace(text, other)
    path.write_text("".join(lines))


@pytest.mark.parametrize(
    ("line", "text", "other", "facts"),
    [
        (1, '"error_percent":6.25', '"error_percent":NaN', "line 2.*NaN"),
        (1, '"error_percent":6.25', '"error_percent":-6.25', "line 2.*network 0.* -6.25"),
        (1, '"error_percent":6.25', '"error_percent":6.25,"epoch_errors":[9.0,7.0]', "line 2.*network 0.* 7.* 6.25"),
        (2, '"reading_seconds":2.1', '"reading_seconds":1e999', "line 3.*1e999"),
        (0, '"heading":{', '"heading":[],"more":{', "not an unfinished"),
        (0, '"heading":{', '"heading":{"settings":3,"values":4,"more":3},"more":{', "table.* 'date'"),
        (0, '"date":"2026-01-02"', '"date":20260102', "table.* 'date'"),
    ],
)
def test_what_cannot_be_is_not_finished_and_nothing_is_changed(
    tmp_path: Path, line: int, text: str, other: str, facts: str
) -> None:
    stopped(tmp_path, 4 + 4 + 3)
    out, partial = tmp_path / "t.csv.gz", tmp_path / "t.csv.gz.partial"
    finished(out)
    edited(partial, line, text, other)
    before = {path: path.read_bytes() for path in (out, partial)}
    with pytest.raises(InvalidValueError, match=facts) as caught:
        finished(out)
    assert str(caught.value).isprintable()
    assert str(out) in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_finishing_does_not_change_the_journal(tmp_path: Path) -> None:
    stopped(tmp_path, 4 + 4 + 3)
    partial = tmp_path / "t.csv.gz.partial"
    for content in (partial.read_bytes(), partial.read_bytes()[:-9]):
        partial.write_bytes(content)
        finished(tmp_path / "t.csv.gz")
        assert partial.read_bytes() == content
    first = partial.read_bytes().split(b"\n")[0]
    partial.write_bytes(first)
    with pytest.raises(InvalidValueError, match=r"^0 networks"):
        finished(tmp_path / "t.csv.gz")
    assert partial.read_bytes() == first


def test_a_table_in_a_place_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    stopped(tmp_path, 4 + 4 + 3)
    monkeypatch.setattr("flexibo.systems.recording.table.write_atomically", full)
    with pytest.raises(InvalidValueError, match=rf"^{tmp_path}/t.csv.gz .*No space.*--out"):
        finished(tmp_path / "t.csv.gz")


def test_knobs_are_options_of_the_recorded_deployments(tmp_path: Path) -> None:
    swappiness = os_knobs(LinuxMachine(linux(tmp_path)))[0]
    runner: Any = SimpleNamespace(
        system=SimpleNamespace(name="lenet", options={"filters": (16, 32)}, traits=None),
        platform=SimpleNamespace(name="a board", options=lambda traits: {"batch": (1, 4)}),
        task=SimpleNamespace(data=SimpleNamespace(name="digits", train=[0], test=[0]), fingerprint="f"),
        knobs=(swappiness,),
    )
    grid = RecordingGrid(networks=2, deployments=99, again=0, only={"swappiness": ("10", "60")})
    plan = plan_of(runner, grid, SystemRequest("lenet", tmp_path), {})
    assert sorted((one["batch"], one["swappiness"]) for one in plan.deployments) == [(1, 10), (1, 60), (4, 10), (4, 60)]
