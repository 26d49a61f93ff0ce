"""The paper's systems as problems: tables that 'flexibo record' made on real hardware, replayed as finite pools.

Training and readings cost their recorded time. Rows with a failed measurement and options that never vary are left out.
The error depends on the options of the network only: it is paid for once per network. Designs that differ only in
options of the training share their readings, and have the median of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, KeyArray
from flexibo.compare.problems.base import Family, Problem, true_front, worst_of_interest
from flexibo.compare.problems.recorded_tables import Lookup
from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective
from flexibo.pareto import hypervolume
from flexibo.space import Space
from flexibo.systems.base import System
from flexibo.systems.recorded import FOLDER, recorded_table, recordings
from flexibo.systems.recording.table import RecordedTable


def system_problem(name: str, *, folder: Path = FOLDER) -> Problem:
    """The problem of a recorded table: error against the energy of one inference."""
    table = recorded_table(name, folder)
    rows = [row for row in table.rows if row["error_percent"] is not None and row["energy_joules"] is not None]
    columns = {option: [row[option] for row in rows] for option in (*table.network_options, *table.deployment_options)}
    varying = {option: column for option, column in columns.items() if len(set(column)) > 1}
    if not varying:
        raise InvalidValueError(f"The recorded system {name!r} has fewer than two designs with all readings.")
    space = Space.from_designs({option: _plain(column) for option, column in varying.items()})
    pool, objectives = space.enumerate(), _objectives(table, space)
    keys = [pool.keys(objective.depends_on) for objective in objectives]
    values = _medians(_numbers(rows, "error_percent", "energy_joules") * [1.0, 1000.0], keys)
    costs = _medians(_numbers(rows, "training_seconds", "reading_seconds"), keys)
    front = true_front(values)
    reference = worst_of_interest(values, front)
    return Problem(
        name=name,
        summary=f"{_title(table)}, {_machine(table)}",
        space=space,
        objectives=objectives,
        values=Lookup.of(pool, values),
        costs=Lookup.of(pool, costs),
        reference=reference,
        front=front,
        best=hypervolume(front, reference),
        source=f"Recorded by flexibo on {table.heading['date']}: {_title(table)}, read by {table.heading['meter']}.",
        group="recorded",
    )


def recorded_system(system: str, *, folder: Path = FOLDER) -> System:
    """A system of the paper that replays its recorded table at the recorded cost, without hardware."""
    names = [system] if system in recordings(folder=folder) else recordings(system, folder)
    if not names:
        known = ", ".join(recordings(folder=folder)) or "none"
        raise InvalidValueError(f"There is no recorded table of {system!r}; there are: {known}.")
    problem = system_problem(names[0], folder=folder)

    def replay(j: int, design: Mapping[str, Any]) -> tuple[float, float]:
        one = problem.space.designs([design])
        return float(problem.values(one)[0, j]), float(problem.costs(one)[0, j])

    functions = {objective.name: partial(replay, j) for j, objective in enumerate(problem.objectives)}
    notes = (problem.source, "Nothing is measured now: values and costs are the recorded ones.")
    return System(names[0], problem.space, problem.objectives, functions, notes)


def _objectives(table: RecordedTable, space: Space) -> tuple[Objective, ...]:
    network = tuple(option for option in table.network_options if option in space.names)
    silent = table.heading.get("training_only", ())
    running = tuple(option for option in space.names if option not in silent)
    return Objective("error_percent", unit="%", options=network), Objective(
        "energy_millijoules", unit="mJ", options=running
    )


def _title(table: RecordedTable) -> str:
    return f"{table.heading['system']} on {table.heading['settings']['dataset']}"


def _machine(table: RecordedTable) -> str:
    machine = table.heading["machine"]
    gpus = machine.get("gpus", machine) if isinstance(machine, dict) else machine
    return ", ".join(gpus) if isinstance(gpus, list) else str(gpus)


def _plain(column: list[Any]) -> list[Any]:
    """Values of an option for a pool: yes and no instead of True and False."""
    return [("no", "yes")[value] if isinstance(value, bool) else value for value in column]


def _numbers(rows: list[Any], *names: str) -> FloatArray:
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
    system, _, machine = name.rpartition("-")
    return f"{system}, trained and read on a GPU ({machine.upper()}): error and energy of an inference"


FAMILIES: tuple[Family, ...] = tuple(
    Family(name, _summary(name), partial(system_problem, name), group="recorded") for name in recordings()
)
