"""A table is read as it was written, and a damaged one is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from tests.unit.systems.recording.small_plan import DEPLOYMENT, NETWORK, _table

from flexibo.errors import InvalidValueError
from flexibo.systems.recording.table import read_table, write_table


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


def test_equal_tables_are_equal_files(tmp_path: Path) -> None:
    table = _table(tmp_path)
    write_table(tmp_path / "a", table)
    write_table(tmp_path / "b", table)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "j"]


@pytest.mark.parametrize(
    ("damage", "facts"),
    [
        (lambda whole, text: whole[:-20], "no table .*'flexibo record'"),
        (lambda whole, text: whole[:40] + b"\xff" * 40 + whole[80:], "no table .*'flexibo record'"),
        (
            lambda whole, text: gzip.compress(text.replace('"values"', '"worth"').encode()),
            "no table .*'flexibo record'",
        ),
        (lambda whole, text: b"hello", "no table .*'flexibo record'"),
        (lambda whole, text: gzip.compress(b"a,b\n1,2\n"), "no table .*'flexibo record'"),
        (lambda whole, text: gzip.compress(text.replace("latency_ms", "latency_s").encode()), "has the columns"),
        (
            lambda whole, text: gzip.compress(text.replace("\n16,", "\n17,").encode()),
            "'17' .*column",
        ),
        (lambda whole, text: gzip.compress(text.rstrip("\n").rpartition(",")[0].encode()), "row of 11 cells"),
        (lambda whole, text: gzip.compress(text.replace(",2.1,", ",fast,").encode()), "'fast' .*column"),
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
def test_a_damaged_table_is_a_sentence(tmp_path: Path, damage: Any, facts: str) -> None:
    path = tmp_path / "t.csv.gz"
    write_table(path, _table(tmp_path))
    whole = path.read_bytes()
    path.write_bytes(damage(whole, gzip.decompress(whole).decode()))
    with pytest.raises(InvalidValueError, match=facts):
        read_table(path)
