"""The paper's systems as problems: tables that 'flexibo record' made on real hardware, replayed as finite pools.

Training and readings cost their recorded time. Rows with a failed measurement and options that never vary are left out.
The error depends on the options of the network only: it is paid for once per network. Designs that differ only in
options of the training share their readings, and have the median of them. Latency and energy are of one reading.

A table with the error after every epoch makes a problem with steps: epochs, or shares of a training if their number is
an option of the network. Going on from a step costs the epochs between; that a training which stops is tested once
more, in milliseconds, is neglected.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, KeyArray
from flexibo.compare.problems.base import Curve, Family, Problem, ProblemParameter, true_front, worst_of_interest
from flexibo.compare.problems.recorded_tables import Lookup
from flexibo.errors import InvalidValueError
from flexibo.hardware.reading import deviation_of_median
from flexibo.objectives import Objective, Reading
from flexibo.pareto import hypervolume
from flexibo.space import Space
from flexibo.systems.base import Measure, System
from flexibo.systems.dnn import BESIDE, ENERGY, ERROR, check_beside
from flexibo.systems.recorded import FOLDER, newest_recording, recorded_table, recordings
from flexibo.systems.recording.table import RecordedTable, common_steps

COLUMNS = {
    ERROR: ("error_percent", 1.0),
    ENERGY: ("energy_joules", 1000.0),
    **{name: (name, 1.0) for name in BESIDE},  # the latency first
}
"""The column of each objective, and what its numbers are multiplied by."""
WITH_CURVES = "-curves"
"""How the names of tables end that have the error after every epoch: listing problems must not read tables."""


def system_problem(name: str, *, n: int = 2, folder: Path = FOLDER) -> Problem:
    """The problem of a recorded table: error against the energy of one inference, and of three the latency."""
    return _problem(name, _Replay.of(name, recorded_table(name, folder), tuple(COLUMNS)[:n]))


def _problem(name: str, replay: _Replay) -> Problem:
    table, pool, n = replay.table, replay.space.enumerate(), len(replay.objectives)
    values = replay.medians(replay.values())
    costs = replay.medians(_numbers(replay.rows, "training_seconds", *["reading_seconds"] * (n - 1)))
    costs[:, 2:] = 0.0  # measured with the energy
    front = true_front(values)
    reference = worst_of_interest(values, front)
    curves = replay.curves()
    return Problem(
        name=name if n == 2 else f"{name}:n={n}",
        summary=f"{_title(table)}, {_machine(table)}",
        space=replay.space,
        objectives=replay.objectives,
        values=Lookup.of(pool, values),
        costs=Lookup.of(pool, costs),
        reference=reference,
        front=front,
        best=hypervolume(front, reference),
        source=f"Recorded by flexibo on {table.heading['date']}: {_title(table)}, read by {table.heading['meter']}.",
        group="curves" if curves else "recorded",
        curves=curves,
    )


def recorded_system(system: str, *, beside: Collection[str] = (), folder: Path = FOLDER) -> System:
    """A system of the paper that replays its newest recorded table, or the one of that name, without hardware.

    Values have the recorded cost, and energies the error bars of their readings, where these have several windows.
    Those `beside` come with an energy, without error bars: how many calls were timed is not recorded.
    """
    check_beside(beside)
    is_table = system in recordings(folder=folder)
    name = system if is_table else newest_recording(system, folder)
    if not name:
        known = ", ".join(recordings(folder=folder)) or "none"
        raise InvalidValueError(f"There is no recorded table of {system!r}; there are: {known}.")
    replay = _Replay.of(name, recorded_table(name, folder), (ERROR, ENERGY, *(one for one in BESIDE if one in beside)))
    problem = _problem(name, replay)
    bars = replay.error_bars()

    def train(design: Mapping[str, Any]) -> tuple[float, float]:
        one = problem.space.designs([design])
        return float(problem.values(one)[0, 0]), float(problem.costs(one)[0, 0])

    def read(design: Mapping[str, Any]) -> tuple[float | dict[str, float], float]:
        one = problem.space.designs([design])
        _, energy, *others = problem.values(one)[0].tolist()
        deviation, windows = bars(one)[0].tolist()
        if not math.isnan(deviation):
            energy = Reading(energy, deviation=deviation, repeats=int(windows))
        both = {ENERGY: energy, **dict(zip(problem.names[2:], others, strict=True))}
        return both if others else energy, float(problem.costs(one)[0, 1])

    others = [] if is_table else [one for one in recordings(system, folder) if one != name]
    notes = (
        problem.source,
        *([f"It is the newest table of {system}; for an older one: {_commands(others)}."] if others else []),
        "Nothing is measured now: values and costs are the recorded ones.",
    )
    functions: dict[str, Measure] = {ERROR: train, ENERGY: read}
    return System(name, problem.space, problem.objectives, functions, notes, chance=replay.table.chance)


@dataclass(frozen=True, slots=True, eq=False)
class _Replay:
    """The rows of a table without those that failed, as the designs of a pool in the same order."""

    table: RecordedTable
    rows: Sequence[Mapping[str, Any]]
    space: Space
    objectives: tuple[Objective, ...]

    @classmethod
    def of(cls, name: str, table: RecordedTable, objectives: Collection[str]) -> _Replay:
        columns = [*(COLUMNS[one][0] for one in objectives), "training_seconds", "reading_seconds"]
        rows = [row for row in table.rows if all(row[column] is not None for column in columns)]
        options = (*table.network_options, *table.deployment_options)
        varying = {option: found for option in options if len(set(found := [row[option] for row in rows])) > 1}
        if not varying:
            raise InvalidValueError(f"The recorded system {name!r} has fewer than two designs with all readings.")
        space = Space.from_designs({option: _plain(column) for option, column in varying.items()})
        return cls(table, rows, space, tuple(one for one in _objectives(table, space) if one.name in objectives))

    def values(self) -> FloatArray:
        """The values (m, n), as measured."""
        columns, factors = zip(*(COLUMNS[objective.name] for objective in self.objectives), strict=True)
        return np.asarray(_numbers(self.rows, *columns) * factors)

    def medians(self, numbers: FloatArray) -> FloatArray:
        """Numbers (m, n) of the objectives, each the median over the designs that share what was measured."""
        pool = self.space.enumerate()
        return _medians(numbers, [pool.keys(objective.depends_on) for objective in self.objectives])

    def error_bars(self) -> Lookup:
        """The standard deviation of each energy, and its number of windows (m, 2); NaN for a single window."""
        pool = self.space.enumerate()
        bars = np.full((len(self.rows), 2), np.nan)
        for i, row in enumerate(self.rows):
            if row.get("energy_spread") is not None and row.get("windows") is not None:
                joules, windows = row["energy_joules"], int(row["windows"])
                bars[i] = 1000.0 * (deviation_of_median(joules, row["energy_spread"], windows) or 0.0), windows
        readings = pool.keys(self.objectives[1].depends_on)
        return Lookup.of(pool, _medians(bars, [readings, readings]))

    def curves(self) -> dict[str, Curve]:
        """The error after each step, if every network has the same number of them."""
        networks = dict.fromkeys(self._network(row) for row in self.table.rows)
        known = dict(zip(networks, self.table.curves, strict=True)) if self.table.curves else {}
        curves = common_steps([known.get(self._network(row), ()) for row in self.rows])
        if not curves:
            return {}
        seconds, errors = np.moveaxis(np.array(curves), 2, 0)
        pool = self.space.enumerate()
        return {ERROR: Curve(len(curves[0]), Lookup.of(pool, errors), Lookup.of(pool, seconds))}

    def _network(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[option] for option in self.table.network_options)


def _commands(tables: Sequence[str]) -> str:
    return " or ".join(f"flexibo run {name} --recorded" for name in tables)


def _objectives(table: RecordedTable, space: Space) -> tuple[Objective, ...]:
    network = tuple(option for option in table.network_options if option in space.names)
    silent = table.heading.get("training_only", ())
    running = tuple(option for option in space.names if option not in silent)
    return (
        Objective(ERROR, unit="%", options=network),
        Objective(ENERGY, unit="mJ", options=running),
        *(Objective(name, unit=unit, options=running, measured_with=ENERGY) for name, unit in BESIDE.items()),
    )


def _title(table: RecordedTable) -> str:
    return f"{table.heading['system']} on {table.heading['settings']['dataset']}"


def _machine(table: RecordedTable) -> str:
    machine = table.heading["machine"]
    gpus = machine.get("gpus", machine) if isinstance(machine, dict) else machine
    return ", ".join(map(str, gpus)) if isinstance(gpus, list) else str(gpus)


def _plain(column: list[Any]) -> list[Any]:
    """Values of an option for a pool: yes and no instead of True and False."""
    return [("no", "yes")[value] if isinstance(value, bool) else value for value in column]


def _numbers(rows: Sequence[Mapping[str, Any]], *names: str) -> FloatArray:
    return np.array([[float(row[name]) for name in names] for row in rows])


def _medians(numbers: FloatArray, keys: Sequence[KeyArray]) -> FloatArray:
    """The numbers (m, n), each the median over the designs with the same key: readings of the same thing."""
    shared = np.empty_like(numbers)
    for j, column in enumerate(keys):
        for key in np.unique(column):
            shared[column == key, j] = np.median(numbers[column == key, j])
    return shared


def _summary(name: str) -> str:
    """The summary of a table, from its name: listing problems must not read tables."""
    system, _, machine = name.removesuffix(WITH_CURVES).rpartition("-")
    steps = ", error after every epoch" if name.endswith(WITH_CURVES) else ""
    return f"{system}, trained and read on a GPU ({machine.upper()}): error and energy of an inference{steps}"


FAMILIES: tuple[Family, ...] = tuple(
    Family(
        name,
        _summary(name),
        partial(system_problem, name),
        {"n": ProblemParameter(2, "objectives: 2, or 3 with the latency of a batch", 2, 3)},
        group="curves" if name.endswith(WITH_CURVES) else "recorded",
    )
    for name in recordings()
)
