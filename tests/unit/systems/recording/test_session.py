"""A stopped recording resumes, and its complete part becomes a table."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.unit.systems.recording.small_plan import NETWORK, FakeSystem, stopped

from flexibo.errors import InvalidValueError
from flexibo.systems.recording.journal import left_behind
from flexibo.systems.recording.measuring import record
from flexibo.systems.recording.session import finished
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
