"""The records of the paper's own runs, which its authors published: read from a ZIP file in memory, never unpacked."""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexibo.compare.problems.datasets import FOLDER, VARIABLE
from flexibo.errors import InvalidValueError
from flexibo.experiments.repeats import Iteration, Repeat
from flexibo.pareto import non_dominated

FILE = "authors-records.zip"
ORIGIN = "the folder data/ of https://github.com/softsys4ai/FlexiBO at commit c3d4bd2 (MIT licence), as a ZIP file"
MOST_BYTES = 2_000_000
"""A larger member of the ZIP file is refused: the published ones have at most 182,000 bytes."""
REPETITIONS = 5

SYSTEMS: dict[str, str] = {
    "LeNet": "LeNet/LeNet",
    "MobileNet": "MobileNet/MobileNet",
    "SqueezeNet": "SqueezeNet/SqueezeNet",
    "ResNet": "ResNet/ResNet",
    "BERT-IMDB": "IMDB/BERT-IMDB",
    "Xception": "Xception/Xception",
    "BERT-SQuAD": "SQuAD/BERT-SQuAD",
    "DeepSpeech": "Deepspeech/Deepspeech",
}
"""The members of each system, without repetition and ending; by the price of a training."""

METHODS: dict[str, str] = {
    "FlexiBO+GP-Log": "flexibo-gp-log",
    "PAL": "pal",
    "PESMO": "pesmo",
    "ParEGO": "parego",
    "SMSEGO": "smsego",
    "FlexiBO+GP-Ratio": "flexibo-gp-ratio",
    "FlexiBO+GP-No Cost": "flexibo-gp-constant",
    "FlexiBO+RF-Log": "flexibo-rf-log",
    "FlexiBO+RF-Ratio": "flexibo-rf-ratio",
    "FlexiBO+RF-No Cost": "flexibo-rf-constant",
}
"""The methods' names in the records, and ours."""

COUPLED = ("pal", "pesmo", "parego", "smsego")
LEADS = ("error", "energy")
TARGET_ERROR = 0.25
UNIT = "unit not stated"

Rows = Sequence[tuple[float, float, float, float]]
"""Error, energy, cost and hypervolume error after each iteration."""


def read_records(folder: Path) -> list[Repeat]:
    """Every repetition of every method on every system, from the folder of third-party data."""
    path = folder / FOLDER / FILE
    if not path.is_file():
        raise InvalidValueError(
            f"The file {FOLDER}/{FILE} is missing from {folder}, the folder that {VARIABLE} names; it is {ORIGIN}."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            return [repeat for system in SYSTEMS for repeat in _system(archive, system)]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        raise InvalidValueError(f"{path} cannot be read as a ZIP file ({error}); get it again: {ORIGIN}.") from None


def _system(archive: zipfile.ZipFile, system: str) -> list[Repeat]:
    runs: dict[tuple[str, int], Rows] = {}
    for seed in range(REPETITIONS):
        for ending in ("_cost_hypervolume", "_hypervolume"):
            found = _member(archive, f"data/{SYSTEMS[system]}{seed}{ending}.csv")
            runs |= {(METHODS[method], seed): rows for method, rows in found.items() if method in METHODS}
    missing = [method for method in METHODS.values() if any((method, seed) not in runs for seed in range(REPETITIONS))]
    if missing:
        raise InvalidValueError(f"The records of {system} lack runs of {', '.join(missing)}; get them again: {ORIGIN}.")
    quartile = float(np.quantile([row[1] for rows in runs.values() for row in rows], 0.25))
    return [
        _repeat(system, method, seed, runs[method, seed], quartile)
        for method in METHODS.values()
        for seed in range(REPETITIONS)
    ]


def _member(archive: zipfile.ZipFile, name: str) -> dict[str, list[tuple[float, float, float, float]]]:
    """The rows of a member by method, in order; a member that is missing, too large or no such table is refused."""
    try:
        with archive.open(name) as file:
            content = file.read(MOST_BYTES + 1)  # what a header says of the size is not relied on
    except KeyError:
        raise InvalidValueError(f"{FILE} has no member {name}; get it again: {ORIGIN}.") from None
    if len(content) > MOST_BYTES:
        raise InvalidValueError(f"{name} in {FILE} has more than {MOST_BYTES:,} bytes; get it again: {ORIGIN}.")
    runs: dict[str, list[tuple[float, float, float, float]]] = {}
    try:
        for row in csv.DictReader(io.StringIO(content.decode())):
            numbers = tuple(float(row[column]) for column in ("Error", "Energy", "Cost", "Volume"))
            if not all(map(math.isfinite, numbers)) or numbers[2] < 0:
                raise ValueError(f"the numbers {numbers}")
            runs.setdefault(row["Method"], []).append((numbers[0], numbers[1], numbers[2], numbers[3]))
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise InvalidValueError(f"{name} in {FILE} is not a table of records ({error!r}); get it again.") from None
    return runs


def _repeat(system: str, method: str, seed: int, rows: Rows, quartile: float) -> Repeat:
    """A run of the records; its energies below the first quartile, and errors below 25 %, are in the target region."""
    training = max(row[2] for row in rows)
    values = np.array([row[:2] for row in rows])
    iterations = [Iteration(0, (), (), 0.0, 0.0, 0.0, None, None, (), 1.0, 0)]
    spent = 0.0
    front = values[:0]
    for number, (error, energy, cost, volume) in enumerate(rows, start=1):
        spent += cost
        names, costs = (LEADS, (cost, 0.0)) if method in COUPLED else ((LEADS[cost <= 0],), (cost,))
        if not (front <= (error, energy)).all(axis=1).any():
            front = np.vstack([front, [error, energy]])
            front = front[non_dominated(front)]
        found = int((front < (TARGET_ERROR, quartile)).all(axis=1).sum())
        iterations.append(
            Iteration(number, names, costs, spent, spent, 0.0, None, None, (error, energy), volume, found)
        )
    last = tuple((float(row[0]), float(row[1])) for row in front)
    return Repeat(system, method, seed, LEADS, (training, 0.0), UNIT, tuple(iterations), last)
