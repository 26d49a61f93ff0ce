from __future__ import annotations

import bz2
import json
import pickle
import tarfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo._internal.safe_pickle import read_pickle
from flexibo.cli import main
from flexibo.compare.problems._original_files import CELLS, HARDWARE, HARDWARE_COLUMNS
from flexibo.compare.problems.datasets import BLOCKS, DATASETS, data_folder, rebuild, status
from flexibo.errors import InvalidValueError, UnknownNameError

TEXTS = [
    "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|",
    "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|",
]


def written(folder: Path, name: str) -> list[list[str]]:
    lines = (folder / "recorded" / DATASETS[name].file).read_text(encoding="utf-8").splitlines()
    return [line.split(",") for line in lines]


def training(accuracy: float, seconds: float, split: str) -> dict[str, Any]:
    """One training as NATS-Bench records it: an accuracy and a time for each epoch."""
    return {
        "eval_acc1es": {f"{split}@{epoch}": accuracy if epoch == 199 else 1.0 for epoch in range(200)},
        "train_times": OrderedDict((epoch, seconds / 200) for epoch in range(200)),
        "params": np.float64(0.129306),
    }


def cell_record(accuracy: float) -> OrderedDict[str, Any]:
    runs = {
        ("cifar10-valid", 777): training(accuracy - 4, 1444.2186, "x-valid"),
        ("cifar10", 777): training(accuracy, 2888.4372, "ori-test"),
        ("cifar10", 888): training(accuracy + 1, 2888.4372, "ori-test"),
        ("cifar100", 777): training(30.0, 9.0, "x-test"),
    }
    return OrderedDict({"12": {"all_results": {}}, "200": {"all_results": runs}})


def dump(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = pickle.dumps(content, protocol=2)
    path.write_bytes(bz2.compress(data) if path.suffix == ".pbz2" else data)


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """A folder with originals of NAS-Bench-201, two cells long."""
    folder = tmp_path / "originals"
    dump(folder / f"{CELLS}-simple" / "meta.pickle.pbz2", {"meta_archs": TEXTS, "evaluated_indexes": set()})
    for number, accuracy in enumerate((85.79, 90.0)):
        dump(folder / f"{CELLS}-simple" / f"{number:06d}.pickle.pbz2", cell_record(accuracy))
    readings = {theirs: np.array([10.4819768, 5.0]) + place for place, theirs in enumerate(HARDWARE_COLUMNS.values())}
    dump(folder / HARDWARE, {"nasbench201": {"cifar10": readings}})
    return folder


def test_cells_are_rebuilt_from_single_files(cells: Path, tmp_path: Path) -> None:
    outcome = rebuild("nb201", cells, tmp_path)
    header, first, second = written(tmp_path, "nb201")
    assert tuple(header) == DATASETS["nb201"].columns
    assert first[:12] == ["0", *["none"] * 6, "18.21", "13.71", "1444.22", "2888.44", "0.129306"]
    assert first[12:14] == ["10.482", "11.482"]
    assert second[1:7] == ["nor_conv_3x3", "skip_connect", "none", "avg_pool_3x3", "nor_conv_1x1", "none"]
    assert (outcome.present, outcome.n_rows, outcome.complete) == (True, 2, False)
    assert outcome.fault == "it has 2 rows, not 15,625"


def test_cells_are_rebuilt_from_the_one_large_file_alike(cells: Path, tmp_path: Path) -> None:
    rebuild("nb201", cells, tmp_path / "one")
    folder = cells / f"{CELLS}-simple"
    (folder / "meta.pickle.pbz2").unlink()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    records = {number: cell_record(accuracy) for number, accuracy in enumerate((85.79, 90.0))}
    dump(cells / f"{CELLS}.pickle.pbz2", {"meta_archs": TEXTS, "arch2infos": records})
    rebuild("nb201", cells, tmp_path / "other")
    assert written(tmp_path / "one", "nb201") == written(tmp_path / "other", "nb201")


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        (f"{CELLS}-simple/000001.pickle.pbz2", {"200": {}}, "Cell 1 of .* is not complete: KeyError"),
        (f"{CELLS}-simple/meta.pickle.pbz2", {"archs": []}, "is not NATS-Bench's topology file"),
        (f"{CELLS}-simple/meta.pickle.pbz2", {"meta_archs": ["|none~0|"]}, "has 1 operations"),
        (f"{CELLS}-simple/000001.pickle.pbz2", {"200": {"all_results": {}}}, "there is no training on cifar10-valid"),
        (f"{CELLS}-simple/meta.pickle.pbz2", {"meta_archs": ["x" * 99_999]}, r"cell 'x+\.\.\.x+' has 0 operations"),
        (HARDWARE, {"nasbench201": {"cifar10": {name: [10**400] * 2 for name in HARDWARE_COLUMNS.values()}}}, "Overfl"),
        (HARDWARE, {"fbnet": {}}, "lacks readings of NAS-Bench-201 on CIFAR-10"),
        (HARDWARE, Path("/"), "cannot be read as a pickle of plain numbers: it wants pathlib"),
    ],
)
def test_broken_cells_are_refused(cells: Path, tmp_path: Path, file: str, content: object, sentence: str) -> None:
    dump(cells / file, content)
    with pytest.raises(InvalidValueError, match=sentence):
        rebuild("nb201", cells, tmp_path)
    assert not (tmp_path / "recorded").exists()


class Spy:
    """Writes a file when it is unpickled carelessly."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_a_pickle_runs_nothing_of_a_stranger(tmp_path: Path) -> None:
    dump(tmp_path / "bad.pickle", {"numbers": [1.0], "spy": Spy(tmp_path / "touched")})
    with pytest.raises(InvalidValueError, match=r"bad.pickle cannot be read as a pickle of plain numbers: it wants"):
        read_pickle(tmp_path / "bad.pickle")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("name", ["eval", "getattr", "__import__"])
def test_no_builtin_that_acts_can_be_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.pickle").write_bytes(f"cbuiltins\n{name}\n.".encode())
    with pytest.raises(InvalidValueError, match=f"it wants builtins.{name}"):
        read_pickle(tmp_path / "bad.pickle")


@pytest.mark.parametrize("protocol", range(2, 6))
def test_numbers_arrays_and_containers_are_read_from_pickles(tmp_path: Path, protocol: int) -> None:
    content = {"a": np.arange(6.0).reshape(2, 3), "b": np.float64(0.5), "c": OrderedDict(x={1, 2}), "d": [None, "t", 3]}
    (tmp_path / "good.pickle").write_bytes(pickle.dumps(content, protocol=protocol))
    found = read_pickle(tmp_path / "good.pickle")
    np.testing.assert_array_equal(found.pop("a"), content.pop("a"))  # type: ignore[arg-type]
    assert found == content


@pytest.mark.parametrize(("name", "data"), [("a.pickle", b"\x80\x04"), ("a.pickle", b""), ("a.pbz2", b"plain text")])
def test_a_broken_pickle_is_refused_in_one_sentence(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidValueError, match=f"{name} cannot be read"):
        read_pickle(tmp_path / name)


def accel_record(expansion: int, latency: float | None) -> dict[str, Any]:
    architecture = {name: True if name.endswith("_se") else 3 for name in BLOCKS} | {"block0_e": expansion}
    throughputs = ("a100", "3090", "tpuv2", "tpuv3", "zcu102", "vck190")
    readings = {f"latency_{device}": {"latency_mean": latency} for device in ("zcu102", "vck190")}
    return {
        "architecture": architecture,
        "metrics": {"val_top1": 62.038002, "val_top5": 84.192, "train_time": 1850.667776},
        "model_info": {"macs": 267.304304, "params": 3.078888},
        "platform_perf": readings | {f"throughput_{device}": {"throughput_mean": 9444.37325} for device in throughputs},
    }


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    """A folder with originals of Accel-NASBench, unpacked, out of order, with a file that is none."""
    folder = tmp_path / "originals" / "anb_dataset_jsons"
    folder.mkdir(parents=True)
    for number, latency in ((10, None), (9, 5.1410993)):
        (folder / f"result_{number}.json").write_text(json.dumps(accel_record(number, latency)), encoding="utf-8")
    (folder / "._result_9.json").write_bytes(b"\x00\x05")
    return folder


def test_networks_are_rebuilt_in_the_order_of_their_numbers(networks: Path, tmp_path: Path) -> None:
    outcome = rebuild("accel", networks.parent, tmp_path)
    header, *rows = (dict(enumerate(line)) for line in written(tmp_path, "accel"))
    named = [{header[place]: cell for place, cell in row.items()} for row in rows]
    assert [row["id"] for row in named] == ["9", "10"]
    assert [row["block0_e"] for row in named] == ["9", "10"]
    assert [row["latency_zcu102"] for row in named] == ["5.1411", ""]
    expected = {"block1_se": "1", "val_top1": "62.038", "train_time": "1850.67", "macs_M": "267.304"}
    assert expected.items() <= named[0].items()
    assert outcome.empty == {"latency_zcu102": 1, "latency_vck190": 1}


def test_networks_are_rebuilt_from_the_archive_alike(networks: Path, tmp_path: Path) -> None:
    rebuild("accel", networks.parent, tmp_path / "one")
    clone = tmp_path / "clone"
    (clone / "anb_dataset").mkdir(parents=True)
    with tarfile.open(clone / "anb_dataset" / "anb_dataset_jsons.tar.gz", "w:gz") as archive:
        archive.add(networks, "./anb_dataset_jsons")
    rebuild("accel", clone, tmp_path / "other")
    assert written(tmp_path / "one", "accel") == written(tmp_path / "other", "accel")


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"architecture": {"a": 1e999}}', "9" * 5000, "[]", '{"architecture": []}', "\udcff"]
)
def test_a_hostile_record_is_refused_in_one_sentence(networks: Path, tmp_path: Path, text: str) -> None:
    (networks / "result_9.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidValueError, match=r"result_9.json of .* is not a record of Accel-NASBench") as raised:
        rebuild("accel", networks.parent, tmp_path)
    assert len(str(raised.value)) < 500


def test_a_folder_in_place_of_a_record_is_refused(networks: Path, tmp_path: Path) -> None:
    (networks / "result_9.json").unlink()
    (networks / "result_9.json").mkdir()
    with pytest.raises(InvalidValueError, match=r"cannot be read as an archive of records: Is a directory"):
        rebuild("accel", networks.parent, tmp_path)


def test_broken_networks_are_refused(networks: Path, tmp_path: Path) -> None:
    (networks / "result_9.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidValueError, match=r"result_9.json of .* is not a record of Accel-NASBench"):
        rebuild("accel", networks.parent, tmp_path)
    record = accel_record(9, 1.0)
    record["metrics"]["extra"] = 1.0
    (networks / "result_9.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InvalidValueError, match=r"Row 1 .*'extra'"):
        rebuild("accel", networks.parent, tmp_path)
    for path in networks.glob("result_*.json"):
        path.unlink()
    with pytest.raises(InvalidValueError, match="without rows"):
        rebuild("accel", networks.parent, tmp_path)
    (tmp_path / "anb_dataset_jsons.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(InvalidValueError, match="cannot be read as an archive"):
        rebuild("accel", tmp_path, tmp_path)


def tx2_text(n_rows: int) -> str:
    columns = DATASETS["tx2-objectives"].columns
    rows = [",".join(str(number + place) for place in range(len(columns))) for number in range(n_rows)]
    return "\n".join([",".join(columns), *rows]) + "\n"


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


def test_a_tx2_table_with_a_short_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it_ec_te_obj.csv").write_text(tx2_text(2) + "1,2\n", encoding="utf-8")
    with pytest.raises(InvalidValueError, match=r"Line 4 of .*it_ec_te_obj.csv has 2 cells.* 11"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(InvalidValueError, match=r"it_ec_te_obj.csv .* a table: it is not UTF-8 text"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").write_bytes(b"")
    with pytest.raises(InvalidValueError, match="without rows"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").unlink()
    (tmp_path / "it_ec_te_obj.csv").mkdir()
    with pytest.raises(InvalidValueError, match=r"it_ec_te_obj.csv .* a table: Is a directory"):
        rebuild("tx2-objectives", tmp_path, tmp_path)


def test_originals_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"none of data/measurements/it_ec_te_obj.csv, it_ec_te_obj.csv exists"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    with pytest.raises(InvalidValueError, match=HARDWARE):
        rebuild("nb201", tmp_path / "nowhere", tmp_path)
    with pytest.raises(UnknownNameError, match="did you mean 'accel'"):
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
    assert found["accel"].fault.startswith("it lacks the columns 'block0_k'")
    assert found["nb201"].fault == "it cannot be read: it is not UTF-8 text"


def test_the_status_of_a_folder_and_of_an_empty_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "recorded" / "accel_nasbench.csv").mkdir(parents=True)
    (tmp_path / "recorded" / "nb201_cifar10_hw.csv").write_bytes(b"")
    found = {row.dataset.name: row.fault for row in status(tmp_path)}
    assert found["accel"] == "it cannot be read: Is a directory"
    assert found["nb201"] == "it begins with an empty line or is empty"


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
    assert out.split("complete.\n")[1].splitlines() == [
        "  nb201: 15,625 rows",
        "  accel: 5,138 rows (13 designs were read twice)",
        "  tx2-inceptionv3-200/400/600/800, tx2-xception-200/400/600/800: 768 rows each",
        "  tx2-objectives: 799 rows (16 designs were read twice)",
        "  nb201-cifar100: 15,625 rows",
        "  nb201-imagenet: 15,625 rows",
        *(["  mlp-australian/car/kc1/phoneme/segment/vehicle, mlp-blood-transfusion,"] if width == 80 else []),
        "    mlp-credit-g: 30,000 rows each"
        if width == 80
        else "  mlp-australian/car/kc1/phoneme/segment/vehicle, mlp-blood-transfusion, mlp-credit-g: 30,000 rows each",
    ]
    everything, _, _ = told(capsys, monkeypatch, "--all")
    assert everything.count("Original: ") == 7
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
    assert f"{len(DATASETS) - 2} of {len(DATASETS)} tables are complete" in " ".join(out.split())
    assert "\ntx2-xception-400/800: missing\n" in out
    assert out.count("Original: ") == 1
    assert "--rebuild NAME" in out
    monkeypatch.delenv("FLEXIBO_DATA")
    out, _, code = told(capsys, monkeypatch)
    assert code == 0
    assert out.startswith("FLEXIBO_DATA is not set")
    assert out.count("Original: ") == out.count(": missing\n") == 7
    assert max(map(len, out.splitlines())) <= width
    assert len(out.splitlines()) < 70
    assert all(dataset.url.split()[0] in out for dataset in DATASETS.values())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rebuild", "accel"], "--originals"),
        (["--replace"], "--rebuild"),
        (["--originals", "."], "--rebuild"),
        (["--rebuild", "accel", "--originals", ".", "--json"], "leave them out with --rebuild"),
        (["--rebuild", "acel", "--originals", "."], "did you mean 'accel'"),
        (["--rebuild", "all", "--originals", "recorded"], "No table was rebuilt from recorded"),
        (["--rebuild", "tx2-objectives", "--originals", "."], "it_ec_te_obj.csv cannot be written: "),
    ],
)
def test_a_mistake_is_one_sentence_and_status_two(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    (tmp_path / "recorded").write_text("no folder", encoding="utf-8")
    (tmp_path / "it_ec_te_obj.csv").write_text(tx2_text(2), encoding="utf-8")
    _, err, code = told(capsys, monkeypatch, *arguments)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_the_folder_of_data_is_the_one_the_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidValueError, match=r"FLEXIBO_DATA is .*nowhere', which is not a folder"):
        data_folder()
    monkeypatch.delenv("FLEXIBO_DATA")
    with pytest.raises(InvalidValueError, match=r"FLEXIBO_DATA is not set.*flexibo data"):
        data_folder()


def test_every_table_says_whose_it_is() -> None:
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.url.startswith("https://")
        assert all((dataset.summary, dataset.licence, dataset.original, dataset.problems))
