"""Problems from recorded tables of third parties, replayed as finite pools with the cost of each measurement.

Training costs are recorded for each design. The cost of a reading on a device was not recorded; it is assumed to be
20 s (conversion, 3 s of warm-up, 50 runs). Rows without a reading of one of a problem's objectives and options that
never vary are left out; a design that occurs more than once has the median of its readings. A network is built before
it is read on a device, so its size comes with the first reading.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo.compare.problems._hpo_bench_files import MLP_OPTIONS
from flexibo.compare.problems._original_files import read_csv
from flexibo.compare.problems.base import Family, Problem, true_front, worst_of_interest
from flexibo.compare.problems.datasets import (
    BLOCKS,
    CORES,
    DATASETS,
    MLP_DATASETS,
    OPERATIONS,
    TX2_NETWORKS,
    data_folder,
    table_path,
)
from flexibo.errors import InvalidValueError
from flexibo.objectives import LARGEST, Objective
from flexibo.pareto import hypervolume
from flexibo.space import Designs, Space

READING_SECONDS = 20.0
TRAINING_CAP_SECONDS = 6_000.0
"""Longer training times of Accel-NASBench (13 of them) are outliers."""

MLP_LONGEST_SECONDS = 60.0
"""Perceptrons that train longer are left out: some take a thousand times as long as the median."""

MLP_START_SECONDS = 5.0
"""What starting a training costs, so that one of a tenth of a second is not nearly free."""

LONGEST_NUMBER = 15
"""The maximal number of characters of a whole number, so that floats are exact."""

Cell: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Recorded:
    """An objective in a table.

    Attributes:
        column: Its column.
        complement: The number that the recorded one is subtracted from; None if it is the value itself.
        seconds: The cost of measuring it: a number, or the column of the cost.
        cap: The maximal cost of one measurement.
        start: What a measurement costs in addition to its recorded seconds.
        longest: Designs with more recorded seconds are left out.
    """

    objective: Objective
    column: str
    complement: float | None = None
    seconds: float | str = READING_SECONDS
    cap: float = math.inf
    start: float = 0.0
    longest: float = math.inf


@dataclass(frozen=True, slots=True)
class Recipe:
    """A problem in a table of `DATASETS`: the columns of its options, its objectives, and a remark on the values."""

    name: str
    summary: str
    dataset: str
    options: tuple[str, ...]
    recorded: tuple[Recorded, ...]
    note: str = ""

    @property
    def group(self) -> str:
        """The group of the problem: prices are equal if one reading of a constant price yields everything."""
        together = all(one.objective.measured_with is not None for one in self.recorded[1:])
        return "equal" if together and not isinstance(self.recorded[0].seconds, str) else "recorded"


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The rows (m, n) of a table by the keys (m,) of its designs, which are sorted."""

    keys: KeyArray = field(repr=False)
    rows: FloatArray = field(repr=False)

    @classmethod
    def of(cls, designs: Designs, rows: FloatArray) -> Lookup:
        """The table of designs (m) and their numbers (m, n)."""
        keys = designs.keys()
        order = np.argsort(keys)
        return cls(keys[order], rows[order])

    def __call__(self, designs: Designs) -> FloatArray:
        """The numbers (m, n) of designs."""
        wanted = designs.keys()
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        strangers = np.flatnonzero(self.keys[places] != wanted)
        if len(strangers):
            raise InvalidValueError(f"{designs[int(strangers[0])]!r} is not in the table; choose designs of its pool.")
        return np.asarray(self.rows[places])


@dataclass(frozen=True, slots=True, eq=False)
class RecordedColumns:
    """The columns that a problem needs: options as whole numbers or text, numbers (m, n) with NaN for an empty cell."""

    path: Path
    lines: list[int] = field(repr=False)
    options: dict[str, list[Cell]] = field(repr=False)
    numbers: FloatArray = field(repr=False)


def read_table(
    path: Path, options: Sequence[str], numbers: Sequence[str], *, costs: Sequence[str] = ()
) -> RecordedColumns:
    """The named columns of a CSV file: options, then numbers, then costs, which must be zero or more.

    Options are whole numbers where every cell of the column is one, and text otherwise.
    """
    names = [*numbers, *costs]
    lines, rows, places = _read_cells(path, [*options, *names])
    columns = {
        name: _option_column(path, name, lines, [row[place] for row in rows])
        for name, place in zip(options, places[: len(options)], strict=True)
    }
    table = np.empty((len(rows), len(names)))
    for j, (name, place) in enumerate(zip(names, places[len(options) :], strict=True)):
        least = 0.0 if j >= len(numbers) else -LARGEST
        table[:, j] = [_number(path, name, line, row[place], least) for line, row in zip(lines, rows, strict=True)]
    return RecordedColumns(path, lines, columns, table)


def _read_cells(path: Path, names: Sequence[str]) -> tuple[list[int], list[list[str]], list[int]]:
    """The line numbers and rows of a file, and the positions of the named columns."""
    header, numbered = read_csv(path)
    if not header:
        raise InvalidValueError(f"{path} begins with an empty line or is empty; flexibo data shows how to rebuild it.")
    for name in names:
        if header.count(name) != 1:
            found = "twice" if name in header else "nowhere"
            raise InvalidValueError(f"{path} has the column {name!r} {found}; there must be exactly one.")
    if not numbered:
        raise InvalidValueError(f"{path} has no rows; flexibo data shows how to rebuild it.")
    return [line for line, _ in numbered], [row for _, row in numbered], [header.index(name) for name in names]


def _option_column(path: Path, name: str, lines: Sequence[int], cells: Sequence[str]) -> list[Cell]:
    if "" in cells:
        line = lines[cells.index("")]
        raise InvalidValueError(f"Line {line} of {path} has no value for option {name!r}; every design needs one.")
    whole = {cell for cell in set(cells) if cell.removeprefix("-").isdecimal()}
    if not whole:
        return list(cells)
    for line, cell in zip(lines, cells, strict=True):
        if cell not in whole or len(cell) > LONGEST_NUMBER:
            raise InvalidValueError(
                f"Line {line} of {path} has {reprlib.repr(cell)} for option {name!r}; it must be a whole number"
                + (f" of at most {LONGEST_NUMBER} characters." if cell in whole else ".")
            )
    return [int(cell) for cell in cells]


def _number(path: Path, name: str, line: int, cell: str, least: float) -> float:
    if not cell:
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not least <= value <= LARGEST:
        wanted = "a finite number" if least else "a finite number of seconds, zero or more"
        raise InvalidValueError(
            f"Line {line} of {path} has {reprlib.repr(cell)} in column {name!r}; it must be {wanted}."
        )
    return value


def recorded_problem(recipe: Recipe, *, folder: Path | None = None) -> Problem:
    """The problem of a recipe, read from a folder of data; by default the one that FLEXIBO_DATA names."""
    path = table_path(recipe.dataset, data_folder() if folder is None else folder)
    priced = [one.seconds for one in recipe.recorded if isinstance(one.seconds, str)]
    measured = [one.column for one in recipe.recorded]
    table = read_table(path, recipe.options, measured, costs=priced)
    complete = np.flatnonzero(~np.isnan(table.numbers[:, : len(measured)]).any(axis=1))
    for column, name in enumerate(priced, start=len(measured)):
        unpriced = complete[np.isnan(table.numbers[complete, column])]
        if len(unpriced):
            raise InvalidValueError(
                f"Line {table.lines[unpriced[0]]} of {path} has readings but nothing in column {name!r}; "
                "the cost of each design must be known."
            )
    longest = [one.longest for one in recipe.recorded if isinstance(one.seconds, str)]
    complete = complete[(table.numbers[complete, len(measured) :] <= longest).all(axis=1)]
    space, medians = _pooled(table, complete)
    values = _values(recipe.recorded, medians)
    objectives = tuple(one.objective for one in recipe.recorded)
    losses = values * [objective.loss(1.0) for objective in objectives]
    front = true_front(losses)
    reference = worst_of_interest(losses, front)
    pool = space.enumerate()
    dataset = DATASETS[recipe.dataset]
    return Problem(
        name=recipe.name,
        summary=recipe.summary,
        space=space,
        objectives=objectives,
        values=Lookup.of(pool, values),
        costs=Lookup.of(pool, _costs(recipe.recorded, medians[:, len(measured) :])),
        reference=reference,
        front=front,
        best=hypervolume(front, reference),
        source=" ".join(filter(None, (f"{dataset.summary}. {dataset.url}, {dataset.licence}.", recipe.note))),
        group=recipe.group,
    )


def _pooled(table: RecordedColumns, chosen: IntArray) -> tuple[Space, FloatArray]:
    """The pool of the chosen rows, and the median of each number for each of its designs."""
    columns = {name: [column[row] for row in chosen] for name, column in table.options.items()}
    varying = {name: column for name, column in columns.items() if len(set(column)) > 1}
    rows_of: dict[tuple[Cell, ...], list[int]] = {}
    designs = list(zip(*varying.values(), strict=True))
    if not designs:
        raise InvalidValueError(
            f"{table.path} has fewer than two designs with all readings; there is nothing to choose from."
        )
    for row, design in zip(chosen.tolist(), designs, strict=True):
        rows_of.setdefault(design, []).append(row)
    medians = table.numbers[[rows[0] for rows in rows_of.values()]]
    for place, rows in enumerate(rows_of.values()):
        if len(rows) > 1:
            medians[place] = np.median(table.numbers[rows], axis=0)
    pool = dict(zip(varying, map(list, zip(*rows_of, strict=True)), strict=True))
    return Space.from_designs(pool), medians


def _values(recorded: Sequence[Recorded], table: FloatArray) -> FloatArray:
    """The values (m, n) of the objectives, in the users' directions."""
    columns = [
        table[:, j] if one.complement is None else one.complement - table[:, j] for j, one in enumerate(recorded)
    ]
    return np.stack(columns, axis=1)


def _costs(recorded: Sequence[Recorded], priced: FloatArray) -> FloatArray:
    """What measuring each objective of each design costs (m, n), given the recorded seconds in order."""
    costs = np.zeros((len(priced), len(recorded)))
    recorded_seconds = iter(priced.T)
    for j, one in enumerate(recorded):
        if isinstance(one.seconds, str):
            costs[:, j] = one.start + np.minimum(next(recorded_seconds), one.cap)
        elif one.objective.measured_with is None:
            costs[:, j] = one.seconds
    return costs


def _nb201(name: str, title: str, *recorded: Recorded) -> Recipe:
    error = Recorded(Objective("error_percent", unit="%"), "test_error_cifar10_pct", seconds="train_time_cifar10_s")
    summary = f"NAS-Bench-201 cells on CIFAR-10: error and {title}"
    return Recipe(f"nb201-{name}", summary, "nb201", OPERATIONS, (error, *recorded))


def _accel(name: str, title: str, *recorded: Recorded) -> Recipe:
    error = Recorded(
        Objective("error_percent", unit="%"),
        "val_top1",
        complement=100.0,
        seconds="train_time",
        cap=TRAINING_CAP_SECONDS,
    )
    summary = f"Accel-NASBench networks on ImageNet: error and {title}"
    return Recipe(f"accel-{name}", summary, "accel", BLOCKS, (error, *recorded))


def _cells(dataset: str, title: str, name: str, reading: Recorded, note: str) -> Recipe:
    error = Recorded(Objective("error_percent", unit="%"), "error_pct", seconds="train_time_s")
    summary = f"NAS-Bench-201 cells on {title}"
    return Recipe(f"nb201-{dataset}-{name}", summary, f"nb201-{dataset}", OPERATIONS, (error, reading), note)


def _mlp(dataset: str) -> Recipe:
    """Both objectives are known after a training, so they are bought together."""
    error = Recorded(
        Objective("error_percent", unit="%"),
        "error_pct",
        seconds="train_time_s",
        start=MLP_START_SECONDS,
        longest=MLP_LONGEST_SECONDS,
    )
    time = Recorded(Objective("training_seconds", unit="s", measured_with="error_percent"), "train_time_s")
    name = f"mlp-{dataset.replace('_', '-')}"
    summary = f"HPOBench's perceptrons on {dataset}: error and training time"
    return Recipe(name, summary, name, tuple(MLP_OPTIONS), (error, time), _MLP_NOTE)


def _tx2(name: str, title: str, note: str, *others: Recorded) -> Recipe:
    """Readings of a Jetson TX2 that are all taken together with the inference time."""
    time = Recorded(Objective("inference_time", unit="s"), "inference_time")
    summary = f"Jetson TX2 settings, {title}"
    return Recipe(name, summary, name, (*CORES, "core_freq", "gpu_freq", "emc_freq"), (time, *others), note)


def _with_time(name: str, unit: str = "") -> Recorded:
    return Recorded(Objective(name, unit=unit, measured_with="inference_time"), name)


def _throughput(device: str) -> Recorded:
    return Recorded(Objective(f"throughput_{device}", "max", unit="images/s"), f"throughput_{device}")


_POWER_NOTE = "Powers are as recorded, in some tables above the 15 W that the board is made for."
_MLP_NOTE = (
    f"Networks that train longer than {MLP_LONGEST_SECONDS:g} s are left out; starting a training is charged with "
    f"{MLP_START_SECONDS:g} s, an assumption."
)
_UNITS_NOTE = "The unit of the energies is not recorded; temperatures are thousandths of a degree Celsius."
_TX2 = Recorded(Objective("tx2_energy_mJ", unit="mJ"), "tx2_energy_mJ")
_PI4 = Recorded(Objective("raspi4_latency_ms", unit="ms"), "raspi4_latency_ms")
_A100 = _throughput("a100")
_ZCU102 = Recorded(Objective("latency_zcu102", unit="ms"), "latency_zcu102")
_TPUV3 = _throughput("tpuv3")
_CELL_SIZE = Recorded(Objective("params_MB", unit="MB", measured_with="tx2_energy_mJ"), "params_MB")
_NETWORK_SIZE = Recorded(Objective("params_M", unit="M", measured_with="throughput_a100"), "params_M")

RECIPES: tuple[Recipe, ...] = (
    _nb201("tx2", "energy on a Jetson TX2", _TX2),
    _nb201("pi4", "latency on a Raspberry Pi 4", _PI4),
    _nb201("pixel3", "latency on a Pixel 3", Recorded(Objective("pixel3_latency_ms", unit="ms"), "pixel3_latency_ms")),
    _nb201("4", "energy on a Jetson TX2, latency on a Raspberry Pi 4, size", _TX2, _PI4, _CELL_SIZE),
    _accel("a100", "throughput on an A100", _A100),
    _accel("zcu102", "latency on a ZCU102", _ZCU102),
    _accel("3", "throughput on an A100 and latency on a ZCU102", _A100, _ZCU102),
    _accel(
        "5",
        "throughput on an A100 and a TPUv3, latency on a ZCU102, size",
        *(_A100, _TPUV3, _ZCU102, _NETWORK_SIZE),
    ),
    _accel("3090", "throughput on an RTX 3090", _throughput("3090")),
    _accel("tpuv3", "throughput on a TPUv3", _TPUV3),
    _accel("vck190", "latency on a VCK190", Recorded(Objective("latency_vck190", unit="ms"), "latency_vck190")),
    _cells(
        "cifar100",
        "CIFAR-100: error and latency on a Raspberry Pi 4",
        "pi4",
        _PI4,
        "The latency is that of the same cell in a network for CIFAR-10, which has 10 outputs instead of 100; the "
        "published training time is that on CIFAR-10.",
    ),
    _cells(
        "imagenet",
        "ImageNet16-120: error and latency on a GPU",
        "gpu",
        Recorded(Objective("gpu_latency_ms", unit="ms"), "gpu_latency_ms"),
        "The published training time is 3.034 times that on CIFAR-10, for every cell.",
    ),
    *map(_mlp, MLP_DATASETS),
    *(
        _tx2(f"tx2-{network}", f"{network}: time and power", _POWER_NOTE, _with_time("power_consumption", "mW"))
        for network in TX2_NETWORKS
    ),
    _tx2(
        "tx2-objectives",
        "time, energy and temperature",
        _UNITS_NOTE,
        _with_time("energy_consumption"),
        _with_time("temperature", "m°C"),
    ),
)

FAMILIES: tuple[Family, ...] = tuple(
    Family(recipe.name, recipe.summary, partial(recorded_problem, recipe), group=recipe.group) for recipe in RECIPES
)
"""The recorded problems."""
