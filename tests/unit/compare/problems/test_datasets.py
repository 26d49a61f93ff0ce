from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest
from tests.unit.compare.problems.original_files import tx2_text, write_cells, written

from flexibo.cli import main
from flexibo.compare.problems._original_files import HARDWARE
from flexibo.compare.problems.datasets import DATASETS, data_folder, rebuild, status
from flexibo.errors import InvalidValueError, UnknownNameError


def test_cells_are_rebuilt_from_single_files(tmp_path: Path) -> None:
    write_cells(tmp_path / "originals")
    outcome = rebuild("nb201", tmp_path / "originals", tmp_path)
    header, first, second = written(tmp_path, "nb201")
    assert tuple(header) == DATASETS["nb201"].columns
    assert first[:12] == ["0", *["none"] * 6, "18.21", "13.71", "1444.22", "2888.44", "0.129306"]
    assert first[12:14] == ["10.482", "11.482"]
    assert second[1:7] == ["nor_conv_3x3", "skip_connect", "none", "avg_pool_3x3", "nor_conv_1x1", "none"]
    assert (outcome.present, outcome.n_rows, outcome.complete) == (True, 2, False)
    assert re.search(r"\b2 rows.*15,625", outcome.fault)


def test_a_tx2_table_is_taken_over_as_it_is(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    (clone / "data" / "measurements").mkdir(parents=True)
    (clone / "data" / "measurements" / "it_ec_te_obj.csv").write_text(tx2_text(799), encoding="utf-8")
    assert rebuild("tx2-objectives", clone, tmp_path).complete
    assert (tmp_path / "recorded" / "tx2" / "it_ec_te_obj.csv").read_text(encoding="utf-8") == tx2_text(799)


def test_a_table_is_replaced_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "it_ec_te_obj.csv").write_text(tx2_text(2), encoding="utf-8")
    rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").write_text(tx2_text(3), encoding="utf-8")
    with pytest.raises(InvalidValueError, match="exists"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    assert len(written(tmp_path, "tx2-objectives")) == 3
    assert rebuild("tx2-objectives", tmp_path, tmp_path, replace=True).n_rows == 3


def test_originals_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"data/measurements/it_ec_te_obj\.csv,\s*it_ec_te_obj\.csv"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    with pytest.raises(InvalidValueError, match=HARDWARE):
        rebuild("nb201", tmp_path / "nowhere", tmp_path)
    with pytest.raises(UnknownNameError, match=r"'acel'.*'accel'"):
        rebuild("acel", tmp_path, tmp_path)


def test_the_status_tells_absent_complete_and_broken_tables_apart(tmp_path: Path) -> None:
    assert not any(row.present or row.complete for row in status(None))
    (tmp_path / "recorded" / "tx2").mkdir(parents=True)
    (tmp_path / "recorded" / "tx2" / "it_ec_te_obj.csv").write_text(tx2_text(799), encoding="utf-8")
    (tmp_path / "recorded" / "accel_nasbench.csv").write_text("id,block0_e\n1,2\n", encoding="utf-8")
    (tmp_path / "recorded" / "nb201_cifar10_hw.csv").write_bytes(b"\xff\xff")
    found = {row.dataset.name: row for row in status(tmp_path)}
    assert list(found) == list(DATASETS)
    assert [name for name, row in found.items() if row.complete] == ["tx2-objectives"]
    assert [name for name, row in found.items() if row.present] == ["nb201", "accel", "tx2-objectives"]
    assert "columns 'block0_k'" in found["accel"].fault
    assert "UTF-8" in found["nb201"].fault


def test_the_status_of_a_folder_and_of_an_empty_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "recorded" / "accel_nasbench.csv").mkdir(parents=True)
    (tmp_path / "recorded" / "nb201_cifar10_hw.csv").write_bytes(b"")
    found = {row.dataset.name: row.fault for row in status(tmp_path)}
    assert os.strerror(errno.EISDIR) in found["accel"]
    assert "empty" in found["nb201"]


def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[str, str, int]:
    """What ``flexibo data`` prints on both channels, and its exit status."""
    monkeypatch.setattr("sys.argv", ["flexibo", "data", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return printed.out, printed.err, int(ended.value.code or 0)


def complete(folder: Path) -> None:
    """Fills a folder with tables of the right size."""
    for dataset in DATASETS.values():
        path = folder / "recorded" / dataset.file
        path.parent.mkdir(parents=True, exist_ok=True)
        line = ",".join("1" for _ in dataset.columns) + "\n"
        path.write_text(",".join(dataset.columns) + "\n" + line * dataset.n_rows, encoding="utf-8")


@pytest.mark.parametrize("width", [80, 120])
def test_tables_that_are_there_take_one_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    complete(tmp_path)
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(width))
    out, err, code = told(capsys, monkeypatch)
    assert (err, code) == ("", 0)
    rows = [line.strip().split(":") for line in out.splitlines()[-4:]]
    assert [(names, re.findall(r"[\d,]+", told)) for names, told in rows] == [
        ("nb201", ["15,625"]),
        ("accel", ["5,138", "13"]),  # rows, and designs that were read twice
        ("tx2-inceptionv3-200/400/600/800, tx2-xception-200/400/600/800", ["768"]),
        ("tx2-objectives", ["799", "16"]),
    ]
    everything, _, _ = told(capsys, monkeypatch, "--all")
    assert everything.count("Original: ") == 4
    assert len(json.loads(told(capsys, monkeypatch, "--json")[0])) == len(DATASETS)


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_missing_is_told_with_its_origin_and_fits_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    complete(tmp_path)
    for size in (400, 800):
        (tmp_path / "recorded" / "tx2" / f"tx2_sampled_output_xception_{size}x{size}.csv").unlink()
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    out, _, code = told(capsys, monkeypatch)
    assert code == 0
    assert "9 of 11 tables" in " ".join(out.split())
    assert "\ntx2-xception-400/800: missing\n" in out
    assert out.count("Original: ") == 1
    assert "--rebuild NAME" in out
    monkeypatch.delenv("FLEXIBO_DATA")
    out, _, code = told(capsys, monkeypatch)
    assert code == 0
    assert out.startswith("FLEXIBO_DATA ")
    assert out.count("Original: ") == out.count(": missing\n") == 4
    assert max(map(len, out.splitlines())) <= width
    assert len(out.splitlines()) < 45
    assert all(dataset.url.split()[0] in out for dataset in DATASETS.values())


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["--rebuild", "accel"], "--originals"),
        (["--replace"], "--rebuild"),
        (["--originals", "."], "--rebuild"),
        (["--rebuild", "accel", "--originals", ".", "--json"], "--json"),
        (["--rebuild", "acel", "--originals", "."], "'accel'"),
        (["--rebuild", "all", "--originals", "recorded"], "recorded"),
        (["--rebuild", "tx2-objectives", "--originals", "."], os.strerror(errno.ENOTDIR)),
    ],
)
def test_a_mistake_is_one_sentence_and_status_two(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    fact: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    (tmp_path / "recorded").write_text("no folder", encoding="utf-8")
    (tmp_path / "it_ec_te_obj.csv").write_text(tx2_text(2), encoding="utf-8")
    _, err, code = told(capsys, monkeypatch, *arguments)
    assert code == 2
    assert fact in err
    assert err.count("\n") == 1


def test_the_folder_of_data_is_the_one_the_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidValueError, match=r"FLEXIBO_DATA.*nowhere'"):
        data_folder()
    monkeypatch.delenv("FLEXIBO_DATA")
    with pytest.raises(InvalidValueError, match="flexibo data"):
        data_folder()


def test_every_table_says_whose_it_is() -> None:
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.url.startswith("https://")
        assert all((dataset.summary, dataset.licence, dataset.original, dataset.problems))
