"""A table is read as it was written, and a damaged one is refused."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.unit.systems.recording.small_plan import DEPLOYMENT, HEADING, NETWORK, _table

from flexibo.errors import InvalidValueError
from flexibo.systems.recording.columns import FURTHER, MEASURED
from flexibo.systems.recording.table import RecordedTable, read_table, write_table


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
        (lambda whole, text: gzip.compress(text.rstrip("\n").rpartition(",")[0].encode()), "row 18 has 11 cells"),
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


CURVES = {
    "epoch_errors": [[9.0, 6.25], [3.125], None],
    "epoch_seconds": [1.0, 2.0, None],
    "test_seconds": [0.0, 0.1, None],
}
ROWS = [
    {"filters": filters, "filter_size": 3, "batch": batch, "precision": "fp32", "cuda_graphs": True}
    | {"error_percent": error, "training_seconds": 2.5, "energy_joules": 1e-3, "latency_ms": 1.0, "power_watts": 99.0}
    | {"reading_seconds": 2.0, "energy_joules_again": None, "energy_spread": 0.0, "windows": 2}
    for filters, error in ((16, 6.25), (32, 3.125), (64, 0.0))
    for batch in (1, 4)
]
SETTINGS = {"dataset": "mnist", "chance_percent": 90.0, "test_examples": 4000}


def table_of(rows: Any = ROWS, **heading: Any) -> RecordedTable:
    values = {**NETWORK, **DEPLOYMENT}
    options = {"network_options": list(NETWORK), "deployment_options": list(DEPLOYMENT)}
    whole = {**HEADING, "system": "lenet", "settings": SETTINGS, **options, "values": values, **CURVES, **heading}
    return RecordedTable({name: value for name, value in whole.items() if value != "nothing"}, tuple(rows))


def written(path: Path, table: RecordedTable) -> None:
    """Write a table as `write_table` does that checks nothing."""
    further = [name for name in FURTHER if any(name in row for row in table.rows)]
    names = [*NETWORK, *DEPLOYMENT, *MEASURED, *further]
    lines = [f"# {json.dumps(dict(table.heading))}", ",".join(names)]
    lines += [",".join("" if row.get(name) is None else str(row[name]) for name in names) for row in table.rows]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_an_error_of_zero_a_spread_of_zero_and_a_network_without_a_curve_are_possible(tmp_path: Path) -> None:
    for write in (write_table, written):
        write(tmp_path / "t.csv.gz", table_of())
        found = read_table(tmp_path / "t.csv.gz")
        assert found.curves == (((1.0, 9.0), (2.0, 6.25)), ((2.1, 3.125),), ())
        assert found.chance == (90.0, 4000)
        assert [row["error_percent"] for row in found.rows] == [6.25, 6.25, 3.125, 3.125, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in MEASURED for value in (math.nan, math.inf, -math.inf, -1.0)),
        *((name, value) for name in FURTHER for value in (math.nan, -1.0)),
        *((name, 0.0) for name in ("training_seconds", "energy_joules", "latency_ms", "reading_seconds", "windows")),
        ("windows", 1.5),
    ],
)
def test_a_number_that_cannot_be_is_refused_with_its_row(tmp_path: Path, name: str, value: float) -> None:
    path = tmp_path / "t.csv.gz"
    table = table_of([*ROWS[:4], {**ROWS[4], name: value}, ROWS[5]], **dict.fromkeys(CURVES, "nothing"))
    written(path, table)
    before = path.read_bytes()
    with pytest.raises(InvalidValueError, match=rf"^{path}, row 5: {name} is {value:g}; .*flexibo record"):
        read_table(path)
    with pytest.raises(InvalidValueError, match=rf"not written.* {path}, row 5: {name}"):
        write_table(path, table)
    assert path.read_bytes() == before


HEADINGS: dict[str, tuple[dict[str, Any], str]] = {
    "curve to another error": ({"epoch_errors": [[9.0, 6.2511], [3.125], None]}, "row 1, network 1.* 6.2511.* 6.25"),
    "curve of another network": ({"epoch_errors": [[9.0, 6.25], [3.125], [6.25]]}, "row 5, network 3.* 6.25"),
    "curve with NaN": ({"epoch_errors": [[math.nan, 6.25], [3.125], None]}, "NaN"),
    "curve with a negative error": ({"epoch_errors": [[-1, 6.25], [3.125], None]}, "network 1.*epoch 1.* -1"),
    "curve of nothing": ({"epoch_errors": [[], [3.125], None]}, r"network 1: epoch_errors is \[\]"),
    "curve that is none": ({"epoch_errors": [6.25, [3.125], None]}, "network 1: epoch_errors is 6.25"),
    "too few curves": ({"epoch_errors": [[9.0, 6.25], [3.125]]}, "3 networks"),
    "curves are an object": ({"epoch_errors": {}}, "3 networks"),
    "no times of curves": ({"epoch_seconds": "nothing"}, "3 networks"),
    "negative time": ({"epoch_seconds": [-1.0, 2.0, None]}, "network 1: epoch_seconds is -1"),
    "text for a time": ({"test_seconds": ["0", 2.0, None]}, "network 1: test_seconds is '0'"),
    "negative chance": ({"settings": {**SETTINGS, "chance_percent": -1}}, "chance.* -1"),
    "chance of no examples": ({"settings": {**SETTINGS, "test_examples": 0}}, "test_examples"),
    "settings are a list": ({"settings": []}, "settings"),
    "no dataset": ({"settings": {}}, "dataset"),
    "no date": ({"date": "nothing"}, "'date'"),
    "no machine": ({"machine": "nothing"}, "machine"),
    "options are a text": ({"network_options": "filters"}, "options"),
    "options of the training are a number": ({"training_only": 3}, "options"),
    "an option named like a column": ({"deployment_options": ["batch", "windows"]}, "same name"),
    "no options": ({"deployment_options": []}, "options"),
    "values are a list": ({"values": [1]}, "'filters'"),
    "values of an option are a number": ({"values": {"filters": 1}}, "'filters'"),
    "values that are lists": ({"values": {"filters": [[16], 32]}}, "'filters'"),
    "values that look the same": ({"values": {"filters": [16, "16"]}}, "'filters'.*same"),
    "deep nesting": ({"more": eval("[" * 80 + "]" * 80)}, "nested"),
    "half of a character": ({"more": "\ud800"}, "surrogate"),
    "a number of many digits": ({"more": 10**400}, "401 digits"),
}


@pytest.mark.parametrize(("heading", "facts"), HEADINGS.values(), ids=HEADINGS)
def test_a_heading_that_cannot_be_is_refused(tmp_path: Path, heading: dict[str, Any], facts: str) -> None:
    path = tmp_path / "t.csv.gz"
    written(path, table_of(**heading))
    before = path.read_bytes()
    with pytest.raises(InvalidValueError, match=rf"^{path}.*{facts}") as caught:
        read_table(path)
    assert str(caught.value).isprintable()
    with pytest.raises(InvalidValueError, match=facts):
        write_table(path, table_of(**heading))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "# {}", "# []\n", "# " + "[" * 99_999, "# {HEADING}", "# {HEADING}\n", "# {HEADING}\n{NAMES}\n"]
)
def test_a_file_without_rows_is_no_table(tmp_path: Path, text: str) -> None:
    path, table = tmp_path / "t.csv.gz", table_of()
    names = ",".join((*NETWORK, *DEPLOYMENT, *MEASURED))
    content = text.replace("{HEADING}", json.dumps(dict(table.heading))).replace("{NAMES}", names)
    path.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(InvalidValueError, match=f"^{path} "):
        read_table(path)


def test_a_cell_of_any_length_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    write_table(path, table_of())
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(gzip.compress((text + "9" * 200_000).encode()))
    with pytest.raises(InvalidValueError, match=f"^{path} .*field") as caught:
        read_table(path)
    assert len(str(caught.value)) < 500


def test_values_of_options_may_be_any_text(tmp_path: Path) -> None:
    texts = ["a\nb", "c,d", 'e"f', "g\u2028h", " i ", ""]
    rows = [{**ROWS[0], "filters": text} for text in texts]
    values = {**NETWORK, **DEPLOYMENT, "filters": texts}
    write_table(tmp_path / "t.csv.gz", table_of(rows, values=values, **dict.fromkeys(CURVES, "nothing")))
    assert [row["filters"] for row in read_table(tmp_path / "t.csv.gz").rows] == texts
