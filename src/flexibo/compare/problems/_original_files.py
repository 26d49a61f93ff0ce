"""Reads the published files of third parties, and converts them to the rows of our tables."""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
import reprlib
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeAlias

import numpy as np

from flexibo._internal.safe_pickle import read_pickle
from flexibo.errors import InvalidValueError

Rows: TypeAlias = list[dict[str, str]]
"""The rows of a table, as text by column."""

HARDWARE = "HW-NAS-Bench-v1_0.pickle"
CELLS = "NATS-tss-v1_0-3ffb9"
NETWORKS = "anb_dataset_jsons"
MEASUREMENTS = "data/measurements"

FULL_TRAINING = "200"
"""The key of NATS-Bench's longest training: its epochs."""

HARDWARE_COLUMNS = {
    "raspi4_latency_ms": "raspi4_latency",
    "pixel3_latency_ms": "pixel3_latency",
    "eyeriss_latency_ms": "eyeriss_latency",
    "fpga_latency_ms": "fpga_latency",
    "tx2_latency_ms": "edgegpu_latency",
    "tx2_energy_mJ": "edgegpu_energy",
    "eyeriss_energy_mJ": "eyeriss_energy",
    "fpga_energy_mJ": "fpga_energy",
}
"""Our columns and their names in HW-NAS-Bench, whose edge GPU is a Jetson TX2."""

INCOMPLETE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, MemoryError)
"""Errors that an unexpected record can raise."""


def brief(error: Exception) -> str:
    """An error in a few words, whatever an untrusted file put into its message."""
    return shorten(f"{type(error).__name__}: {error}", 200, placeholder=" ...")


def find_original(folder: Path, names: Iterable[str]) -> Path:
    """The first of these files or folders that exists."""
    candidates = list(names)
    for name in candidates:
        if (folder / name).exists():
            return folder / name
    raise InvalidValueError(f"{folder} holds no original: none of {', '.join(candidates)} exists.")


def tx2_rows(folder: Path, file: str) -> Rows:
    """A table of FlexiBO's repository, unchanged."""
    header, numbered = read_csv(find_original(folder, (f"{MEASUREMENTS}/{file}", file)))
    return [dict(zip(header, cells, strict=True)) for _, cells in numbered]


def read_csv(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV file, and its rows with their line numbers."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            numbered = [(reader.line_num, cells) for cells in reader if cells]
    except (OSError, ValueError, csv.Error) as e:
        raise InvalidValueError(f"{path} cannot be read as a table: {why_unreadable(e)}.") from None
    for line, cells in numbered:
        if header and len(cells) != len(header):
            raise InvalidValueError(f"Line {line} of {path} has {len(cells)} cells; it must have {len(header)}.")
    return header, numbered


def why_unreadable(error: Exception) -> str:
    """Why a file cannot be read, as text."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def accel_rows(folder: Path) -> Rows:
    """The networks of Accel-NASBench, ordered by number, with mean readings; missing readings are empty."""
    archive, unpacked = f"{NETWORKS}.tar.gz", NETWORKS
    path = find_original(folder, (f"anb_dataset/{archive}", archive, f"anb_dataset/{unpacked}", unpacked))
    rows = []
    for name, text in _json_texts(path):
        number = re.search(r"(?:^|/)result_([0-9]{1,9})\.json$", name)
        if number is None:
            continue
        try:
            rows.append({"id": number[1]} | _accel_row(json.loads(text)))
        except INCOMPLETE as e:
            raise InvalidValueError(
                f"result_{number[1]}.json of {path} is not a record of Accel-NASBench: {brief(e)}."
            ) from None
    return sorted(rows, key=lambda row: int(row["id"]))


def _json_texts(path: Path) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files in a folder or an archive."""
    try:
        if path.is_dir():
            for entry in sorted(path.glob("*.json")):
                yield entry.name, entry.read_bytes()
            return
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield member.name, content.read()
    except (tarfile.TarError, EOFError, OSError, ValueError, MemoryError, zlib.error, lzma.LZMAError) as e:
        raise InvalidValueError(f"{path} cannot be read as an archive of records: {why_unreadable(e)}.") from None


def _accel_row(record: Mapping[str, Any]) -> dict[str, str]:
    row = {name: str(int(value)) for name, value in record["architecture"].items()}
    row |= {name: number_text(value) for name, value in record["metrics"].items()}
    row |= {f"{name}_M": number_text(value) for name, value in record["model_info"].items()}
    for name, reading in record["platform_perf"].items():
        row[name] = number_text(reading[f"{name.partition('_')[0]}_mean"])
    return row


def nb201_rows(folder: Path) -> Rows:
    """NAS-Bench-201's cells on CIFAR-10 (NATS-Bench's records), with the readings of HW-NAS-Bench."""
    hardware = find_original(folder, (HARDWARE, f"HW-NAS-Bench/{HARDWARE}"))
    cells = find_original(folder, (f"{CELLS}-simple", f"{CELLS}.pickle.pbz2"))
    everything = read_pickle(hardware)
    try:
        readings = everything["nasbench201"]["cifar10"]
        columns = {ours: readings[theirs] for ours, theirs in HARDWARE_COLUMNS.items()}
    except INCOMPLETE as e:
        raise InvalidValueError(f"{hardware} lacks readings of NAS-Bench-201 on CIFAR-10: {brief(e)}.") from None
    rows = []
    for number, (cell, record) in enumerate(_cells(cells)):
        try:
            row = {"arch_idx": str(number)} | _operations(cell) | _training(record[FULL_TRAINING]["all_results"])
            rows.append(row | {name: number_text(column[number]) for name, column in columns.items()})
        except INCOMPLETE as e:
            raise InvalidValueError(f"Cell {number} of {cells} or {hardware} is not complete: {brief(e)}.") from None
    return rows


def _cells(path: Path) -> Iterator[tuple[str, Any]]:
    """The text and the record of each cell, from the folder of single files or from the large file."""
    everything = read_pickle(path / "meta.pickle.pbz2" if path.is_dir() else path)
    try:
        texts = list(everything["meta_archs"])
        records = None if path.is_dir() else [everything["arch2infos"][number] for number in range(len(texts))]
    except INCOMPLETE as e:
        raise InvalidValueError(f"{path} is not NATS-Bench's topology file: {brief(e)}.") from None
    for number, text in enumerate(texts):
        yield text, read_pickle(path / f"{number:06d}.pickle.pbz2") if records is None else records[number]


def _operations(cell: str) -> dict[str, str]:
    """The six operations of a cell such as ``|none~0|+|none~0|none~1|+|none~0|none~1|none~2|``."""
    found = re.findall(r"\|([a-z0-9_]+)~\d", cell)
    if len(found) != 6:
        raise ValueError(f"cell {reprlib.repr(cell)} has {len(found)} operations")
    return {f"op{place}": operation for place, operation in enumerate(found)}


def _training(results: Mapping[tuple[str, int], Mapping[str, Any]]) -> dict[str, str]:
    """Mean errors after the last epoch, mean seconds of a complete training, and size."""
    final = int(FULL_TRAINING) - 1
    runs = {
        dataset: [run for (name, _), run in results.items() if name == dataset]
        for dataset in ("cifar10-valid", "cifar10")
    }

    for dataset, found in runs.items():
        if not found:
            raise ValueError(f"there is no training on {dataset}")

    def error(dataset: str, split: str) -> str:
        return number_text(
            round(100 - float(np.mean([run["eval_acc1es"][f"{split}@{final}"] for run in runs[dataset]])), 4)
        )

    def seconds(dataset: str) -> str:
        return number_text(round(float(np.mean([sum(run["train_times"].values()) for run in runs[dataset]])), 2))

    return {
        "val_error_cifar10valid_pct": error("cifar10-valid", "x-valid"),
        "test_error_cifar10_pct": error("cifar10", "ori-test"),
        "train_time_cifar10valid_s": seconds("cifar10-valid"),
        "train_time_cifar10_s": seconds("cifar10"),
        "params_MB": number_text(runs["cifar10"][0]["params"]),
    }


def number_text(value: Any) -> str:
    """A number with six significant digits; empty for a missing reading."""
    return "" if value is None else f"{float(value):.6g}"


def written_text(columns: Iterable[str], rows: Rows) -> str:
    """The rows as CSV, with these columns in this order."""
    names = list(columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for number, row in enumerate(rows, start=1):
        if row.keys() != set(names):
            odd = ", ".join(sorted(map(repr, row.keys() ^ set(names))))
            raise InvalidValueError(f"Row {number} of the original and our table do not both have {odd}.")
        writer.writerow([row[name] for name in names])
    return text.getvalue()
