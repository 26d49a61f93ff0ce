"""Small originals of the recorded tables, as third parties publish them."""

from __future__ import annotations

import bz2
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from flexibo.compare.problems._original_files import CELLS, HARDWARE, HARDWARE_COLUMNS
from flexibo.compare.problems.datasets import DATASETS

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


def write_cells(folder: Path) -> None:
    """Originals of NAS-Bench-201, two cells long."""
    dump(folder / f"{CELLS}-simple" / "meta.pickle.pbz2", {"meta_archs": TEXTS, "evaluated_indexes": set()})
    for number, accuracy in enumerate((85.79, 90.0)):
        dump(folder / f"{CELLS}-simple" / f"{number:06d}.pickle.pbz2", cell_record(accuracy))
    readings = {theirs: np.array([10.4819768, 5.0]) + place for place, theirs in enumerate(HARDWARE_COLUMNS.values())}
    dump(folder / HARDWARE, {"nasbench201": {"cifar10": readings}})


def tx2_text(n_rows: int) -> str:
    columns = DATASETS["tx2-objectives"].columns
    rows = [",".join(str(number + place) for place in range(len(columns))) for number in range(n_rows)]
    return "\n".join([",".join(columns), *rows]) + "\n"
