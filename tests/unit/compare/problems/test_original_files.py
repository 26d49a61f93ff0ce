from __future__ import annotations

import errno
import json
import os
import pickle
import tarfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.compare.problems.original_files import TEXTS, cell_record, dump, tx2_text, write_cells, written

from flexibo._internal.safe_pickle import read_pickle
from flexibo.compare.problems._original_files import CELLS, HARDWARE, HARDWARE_COLUMNS
from flexibo.compare.problems.datasets import BLOCKS, rebuild
from flexibo.errors import InvalidValueError


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """A folder with originals of NAS-Bench-201, two cells long."""
    write_cells(tmp_path / "originals")
    return tmp_path / "originals"


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
    ("file", "content", "facts"),
    [
        (f"{CELLS}-simple/000001.pickle.pbz2", {"200": {}}, "Cell 1 .*KeyError"),
        (f"{CELLS}-simple/meta.pickle.pbz2", {"archs": []}, "NATS-Bench.*'meta_archs'"),
        (f"{CELLS}-simple/meta.pickle.pbz2", {"meta_archs": ["|none~0|"]}, "has 1 operations"),
        (f"{CELLS}-simple/000001.pickle.pbz2", {"200": {"all_results": {}}}, "Cell 1 .*cifar10-valid"),
        (f"{CELLS}-simple/meta.pickle.pbz2", {"meta_archs": ["x" * 99_999]}, r"cell 'x+\.\.\.x+' has 0 operations"),
        (HARDWARE, {"nasbench201": {"cifar10": {name: [10**400] * 2 for name in HARDWARE_COLUMNS.values()}}}, "Overfl"),
        (HARDWARE, {"fbnet": {}}, "NAS-Bench-201.*CIFAR-10"),
        (HARDWARE, Path("/"), "pathlib"),
    ],
)
def test_broken_cells_are_refused(cells: Path, tmp_path: Path, file: str, content: object, facts: str) -> None:
    dump(cells / file, content)
    with pytest.raises(InvalidValueError, match=facts):
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
    with pytest.raises(InvalidValueError, match=r"bad\.pickle.*io\.open"):
        read_pickle(tmp_path / "bad.pickle")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("name", ["eval", "getattr", "__import__"])
def test_no_builtin_that_acts_can_be_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.pickle").write_bytes(f"cbuiltins\n{name}\n.".encode())
    with pytest.raises(InvalidValueError, match=f"builtins.{name}"):
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
    with pytest.raises(InvalidValueError, match=f"{name}.*pickle"):
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
    with pytest.raises(InvalidValueError, match=r"result_9\.json.*Accel-NASBench") as raised:
        rebuild("accel", networks.parent, tmp_path)
    assert len(str(raised.value)) < 500


def test_a_folder_in_place_of_a_record_is_refused(networks: Path, tmp_path: Path) -> None:
    (networks / "result_9.json").unlink()
    (networks / "result_9.json").mkdir()
    with pytest.raises(InvalidValueError, match=f"{networks}.*{os.strerror(errno.EISDIR)}"):
        rebuild("accel", networks.parent, tmp_path)


def test_broken_networks_are_refused(networks: Path, tmp_path: Path) -> None:
    (networks / "result_9.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidValueError, match=r"result_9\.json.*Accel-NASBench"):
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
    with pytest.raises(InvalidValueError, match=r"anb_dataset_jsons\.tar\.gz.*archive"):
        rebuild("accel", tmp_path, tmp_path)


def test_a_tx2_table_with_a_short_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it_ec_te_obj.csv").write_text(tx2_text(2) + "1,2\n", encoding="utf-8")
    with pytest.raises(InvalidValueError, match=r"Line 4 .*_obj\.csv.*\b2\b.*\b11\b"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(InvalidValueError, match=r"it_ec_te_obj\.csv.*UTF-8"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").write_bytes(b"")
    with pytest.raises(InvalidValueError, match="without rows"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
    (tmp_path / "it_ec_te_obj.csv").unlink()
    (tmp_path / "it_ec_te_obj.csv").mkdir()
    with pytest.raises(InvalidValueError, match=rf"it_ec_te_obj\.csv.*{os.strerror(errno.EISDIR)}"):
        rebuild("tx2-objectives", tmp_path, tmp_path)
