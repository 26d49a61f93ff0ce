from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from flexibo._internal.records import data_frame, write_csv
from flexibo.errors import MissingExtraError

RECORDS = [{"name": 'a "b", c', "loss": 0.1}, {"name": "zwei\nZeilen", "loss": None}]


def test_records_are_read_back_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write_csv(path, RECORDS, ["ignored"])
    with open(path, newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == [
            {"name": 'a "b", c', "loss": "0.1"},
            {"name": "zwei\nZeilen", "loss": ""},
        ]


def test_without_records_the_file_has_the_given_header(tmp_path: Path) -> None:
    write_csv(tmp_path / "rows.csv", [], ["name", "loss"])
    assert (tmp_path / "rows.csv").read_text().split() == ["name,loss"]


def test_a_record_with_another_field_than_the_first_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'cost'"):
        write_csv(tmp_path / "rows.csv", [{"name": "a"}, {"name": "b", "cost": 1.0}], [])


def test_records_become_a_data_frame() -> None:
    pytest.importorskip("pandas")
    frame = data_frame(RECORDS)
    assert list(frame.columns) == ["name", "loss"]
    assert frame["name"].tolist() == ['a "b", c', "zwei\nZeilen"]
    assert frame["loss"][0] == 0.1


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"flexibo\[pandas\]"):
        data_frame(RECORDS)
