"""``flexibo data``."""

from __future__ import annotations

import errno
import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from tests.command_line import call, good, mentions
from tests.unit.compare.problems.original_files import tx2_text

from flexibo.cli import main
from flexibo.compare.problems.datasets import DATASETS, status


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


ROWS = [
    ("nb201", ["15,625"]),
    ("accel", ["5,138", "13"]),
    ("tx2-inceptionv3-200/400/600/800, tx2-xception-200/400/600/800", ["768"]),
    ("tx2-objectives", ["799", "16"]),
    ("nb201-cifar100", ["15,625"]),
    ("nb201-imagenet", ["15,625"]),
    ("mlp-australian/car/kc1/phoneme/segment/vehicle, mlp-blood-transfusion, mlp-credit-g", ["30,000"]),
]
"""Tables, with their rows, and designs that were read twice."""


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading 300,000 rows takes a while: the command gets what was found out the first time."""
    monkeypatch.setattr("flexibo.compare.problems.datasets.status", cache(status))


@pytest.mark.usefixtures("read_once")
def test_tables_that_are_there_take_one_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    complete(tmp_path)
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    for width in ("80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        out, err, code = told(capsys, monkeypatch)
        assert (err, code) == ("", 0)
        lines = out.partition("complete.\n")[2].replace("\n    ", " ").splitlines()
        rows = [line.strip().split(":") for line in lines]
        assert [(names, re.findall(r"[\d,]+", told)) for names, told in rows] == ROWS
    everything, _, _ = told(capsys, monkeypatch, "--all")
    assert everything.count("Original: ") == 7
    assert len(json.loads(told(capsys, monkeypatch, "--json")[0])) == len(DATASETS)


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.variant)])
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
    assert f"{len(DATASETS) - 2} of {len(DATASETS)} tables" in " ".join(out.split())
    assert "\ntx2-xception-400/800: missing\n" in out
    assert out.count("Original: ") == 1
    assert "--rebuild NAME" in out
    monkeypatch.delenv("FLEXIBO_DATA")
    out, _, code = told(capsys, monkeypatch)
    assert code == 0
    assert out.startswith("FLEXIBO_DATA ")
    assert out.count("Original: ") == out.count(": missing\n") == 7
    assert max(map(len, out.splitlines())) <= width
    assert len(out.splitlines()) < 70
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


class TestRebuilding:
    @pytest.fixture(autouse=True)
    def _data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
        (tmp_path / "clone").mkdir()
        (tmp_path / "clone" / "it_ec_te_obj.csv").write_text(tx2_text(799), encoding="utf-8")

    def test_one_table_is_rebuilt_and_its_rows_are_counted(self) -> None:
        assert mentions(good("data", "--rebuild", "tx2-objectives", "--originals", "clone"), "tx2-objectives", "799")
        found = {one["name"]: one for one in json.loads(good("data", "--json"))}
        assert (found["tx2-objectives"]["rows"], found["tx2-objectives"]["complete"]) == (799, True)
        assert [name for name, one in found.items() if one["present"]] == ["tx2-objectives"]

    def test_all_tables_are_tried_and_those_without_originals_are_named(self) -> None:
        lines = good("data", "--rebuild", "all", "--originals", "clone").splitlines()
        assert [line.partition(":")[0] for line in lines] == list(DATASETS)
        (rebuilt,) = [line for line in lines if mentions(line, "799 rows")]
        assert rebuilt.startswith("tx2-objectives:")

    def test_a_table_is_replaced_only_on_request(self, tmp_path: Path) -> None:
        words = ("data", "--rebuild", "tx2-objectives", "--originals", "clone")
        good(*words)
        (tmp_path / "clone" / "it_ec_te_obj.csv").write_text(tx2_text(3), encoding="utf-8")
        for more, rows in (((), 799), (("--replace",), 3)):
            outcome = call(*words, *more)
            assert (outcome.exit_code == 0) == bool(more)
            assert {one["name"]: one["rows"] for one in json.loads(good("data", "--json"))}["tx2-objectives"] == rows
