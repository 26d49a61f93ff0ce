"""The paper's systems as problems: tables that 'flexibo record' made on real hardware, replayed as finite pools.

Training and readings cost their recorded time. Rows with a failed measurement and options that never vary are left out.
The error of a problem is that as trained, which depends on the options of the network only: it is paid for once per
network. Designs that differ only in options of the training share their readings, and have the median of them. Latency
and energy are of one reading.

A table that has the error in the precision of each deployment makes a second problem, in which the error depends on the
precision too. Costs of a problem belong to designs, so each precision of a network pays a training there, as in a study
of a real system that stores no models. A replayed system keeps what it has trained: the first error of a network costs
its training, and that in another precision a test.

A table with the error after every epoch makes a problem with steps: epochs, or shares of a training if their number is
an option of the network. Going on from a step costs the epochs between; that a training which stops is tested once
more, in milliseconds, is neglected. Errors before the last step are those as trained.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from flexibo._internal.arrays import FloatArray, KeyArray
from flexibo.compare.problems.base import Curve, Family, Problem, ProblemParameter, true_front, worst_of_interest
from flexibo.compare.problems.recorded_tables import Lookup
from flexibo.errors import InvalidValueError
from flexibo.hardware.reading import deviation_of_median
from flexibo.objectives import Objective, Reading
from flexibo.pareto import hypervolume
from flexibo.space import Designs, Space
from flexibo.systems.base import Measure, System
from flexibo.systems.dnn import BESIDE, ENERGY, ERROR, check_beside
from flexibo.systems.network_runner import PRECISION, SHORTEST_WARM_UP_SECONDS
from flexibo.systems.recorded import FOLDER, newest_recording, recorded_table, recordings
from flexibo.systems.recording.table import RecordedTable, common_steps

COLUMNS = {
    ERROR: ("error_percent", 1.0),
    ENERGY: ("energy_joules", 1000.0),
    **{name: (name, 1.0) for name in BESIDE},  # the latency first
}
"""The column of each objective, and what its numbers are multiplied by."""
DEPLOYED = "deployed_error_percent"
"""The column of the error in the precision of the deployment."""
BARS = {ENERGY: "energy_spread", "latency_ms": "latency_spread"}
"""The columns of the interquartile ranges of what a value is the median of, over that value."""
IN_PRECISION = ", error in the precision of the deployment"
DEPLOYED_NOTE = (
    "Errors are those in the precision of the design: the first of a network costs its training, another one a test."
)
DEPLOYED_PARAMETER = "error in the precision of the design; each precision of a network costs a training"
WITH_CURVES = "-curves"
"""How the names of tables end that have errors after every epoch and in the precision of each deployment.

Listing problems must not read tables.
"""
T = TypeVar("T")


def system_problem(name: str, *, n: int = 2, deployed: bool = False, folder: Path = FOLDER) -> Problem:
    """The problem of a recorded table: error against the energy of one inference, and of three the latency.

    The error is that as trained, or, if `deployed`, in the precision of the design.
    """
    table = recorded_table(name, folder)
    if deployed and not table.has_deployed_errors:
        raise InvalidValueError(
            f"The recorded system {name!r} has no errors in the precision of the deployment; leave out :deployed."
        )
    return _problem(name, _Replay.of(name, table, tuple(COLUMNS)[:n], deployed=deployed))


def _problem(name: str, replay: _Replay) -> Problem:
    table, pool, n = replay.table, replay.space.enumerate(), len(replay.objectives)
    values = replay.medians(replay.values())
    costs = replay.medians(_numbers(replay.rows, "training_seconds", *["reading_seconds"] * (n - 1)))
    costs[:, 2:] = 0.0  # measured with the energy
    front = true_front(values)
    reference = worst_of_interest(values, front)
    curves = replay.curves()
    return Problem(
        name=f"{name}{'' if n == 2 else f':n={n}'}{':deployed' if replay.deployed else ''}",
        summary=f"{_title(table)}, {_machine(table)}{IN_PRECISION if replay.deployed else ''}",
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


def recorded_system(
    system: str,
    *,
    beside: Collection[str] = (),
    as_trained: bool = False,
    trained: Iterable[Mapping[str, Any]] = (),
    folder: Path = FOLDER,
) -> System:
    """A system of the paper that replays its newest recorded table, or the one of that name, without hardware.

    Values have the recorded cost, and energies and latencies the error bars of their readings, where these have several
    windows and calls. Those `beside` come with an energy; a power has no error bar, because none was recorded.

    Where the table has them, errors are those in the precision of the design, unless `as_trained`. The first error of a
    network costs its training, and that in another precision a test: a system is for one study, whose networks that are
    `trained` already are those of some designs.
    """
    check_beside(beside)
    is_table = system in recordings(folder=folder)
    name = system if is_table else newest_recording(system, folder)
    if not name:
        known = ", ".join(recordings(folder=folder)) or "none"
        raise InvalidValueError(f"There is no recorded table of {system!r}; there are: {known}.")
    table = recorded_table(name, folder)
    names = (ERROR, ENERGY, *(one for one in BESIDE if one in beside))
    replay = _Replay.of(name, table, names, deployed=table.has_deployed_errors and not as_trained)
    problem = _problem(name, replay)
    bars = {one: replay.error_bars(one) for one in names if one in BARS}

    def read(design: Mapping[str, Any]) -> tuple[float | dict[str, float], float]:
        one = problem.space.designs([design])
        values = dict(zip(problem.names[1:], problem.values(one)[0, 1:].tolist(), strict=True))
        for name, of_designs in bars.items():
            deviation, repeats = of_designs(one)[0].tolist()
            if not math.isnan(deviation):
                values[name] = Reading(values[name], deviation=deviation, repeats=int(repeats))
        return values if len(values) > 1 else values[ENERGY], float(problem.costs(one)[0, 1])

    others = [] if is_table else [one for one in recordings(system, folder) if one != name]
    notes = (
        problem.source,
        *([f"It is the newest table of {system}; for an older one: {_commands(others)}."] if others else []),
        "Nothing is measured now: values and costs are the recorded ones.",
        *([DEPLOYED_NOTE] if replay.deployed else []),
    )
    functions: dict[str, Measure] = {ERROR: _Trainings.of(problem, replay, trained), ENERGY: read}
    objectives = problem.objectives
    if replay.deployed:  # the error of a problem costs a training in each precision
        objectives = tuple(replace(one, reuse=replay.network) if one.name == ERROR else one for one in objectives)
    return System(name, problem.space, objectives, functions, notes, chance=table.chance)


@dataclass(frozen=True, slots=True)
class _Trainings:
    """The error of designs and its cost: that of a training for the first design of a network, then of a test."""

    problem: Problem
    network: tuple[str, ...]  # the options that decide the training
    tests: Lookup  # the seconds (m, 1) of a test
    trained: set[int] = field(default_factory=set)  # the keys of networks

    @classmethod
    def of(cls, problem: Problem, replay: _Replay, trained: Iterable[Mapping[str, Any]]) -> _Trainings:
        made = cls(problem, replay.network, replay.test_seconds())
        made.trained.update(made._key(problem.space.designs([design])) for design in trained)
        return made

    def __call__(self, design: Mapping[str, Any]) -> tuple[float, float]:
        one = self.problem.space.designs([design])
        key = self._key(one)
        costs = (self.tests if key in self.trained else self.problem.costs)(one)
        self.trained.add(key)
        return float(self.problem.values(one)[0, 0]), float(costs[0, 0])

    def _key(self, one: Designs) -> int:
        return int(one.keys(self.network)[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Replay:
    """The rows of a table without those that failed, as the designs of a pool in the same order.

    The error is that as trained, or in the precision of the design if `deployed`.
    """

    table: RecordedTable
    rows: Sequence[Mapping[str, Any]]
    space: Space
    objectives: tuple[Objective, ...]
    deployed: bool

    @classmethod
    def of(cls, name: str, table: RecordedTable, objectives: Collection[str], *, deployed: bool = False) -> _Replay:
        columns = [*(COLUMNS[one][0] for one in objectives), "training_seconds", "reading_seconds"]
        columns += [DEPLOYED] * deployed
        rows = [row for row in table.rows if all(row[column] is not None for column in columns)]
        options = (*table.network_options, *table.deployment_options)
        varying = {option: found for option in options if len(set(found := [row[option] for row in rows])) > 1}
        if not varying:
            raise InvalidValueError(f"The recorded system {name!r} has fewer than two designs with all readings.")
        space = Space.from_designs({option: _plain(column) for option, column in varying.items()})
        chosen = tuple(one for one in _objectives(table, space, deployed=deployed) if one.name in objectives)
        return cls(table, rows, space, chosen, deployed)

    @property
    def network(self) -> tuple[str, ...]:
        """The options of the network that vary."""
        return tuple(option for option in self.table.network_options if option in self.space.names)

    def values(self) -> FloatArray:
        """The values (m, n), as measured."""
        columns, factors = zip(*(COLUMNS[objective.name] for objective in self.objectives), strict=True)
        return np.asarray(_numbers(self.rows, DEPLOYED if self.deployed else columns[0], *columns[1:]) * factors)

    def medians(self, numbers: FloatArray) -> FloatArray:
        """Numbers (m, n) of the objectives, each the median over the designs that share what was measured."""
        pool = self.space.enumerate()
        return _medians(numbers, [pool.keys(objective.depends_on) for objective in self.objectives])

    def error_bars(self, name: str) -> Lookup:
        """The standard deviation of each value of an objective, and the repeats behind it (m, 2); NaN if not known."""
        pool = self.space.enumerate()
        (column, factor), spread = COLUMNS[name], BARS[name]
        bars = np.full((len(self.rows), 2), np.nan)
        for i, row in enumerate(self.rows):
            repeats = row.get("windows") if name == ENERGY else timed_calls(row["latency_ms"])
            if row.get(spread) is not None and repeats is not None:
                deviation = deviation_of_median(factor * row[column], row[spread], int(repeats))
                bars[i] = deviation or 0.0, repeats
        (options,) = {one.depends_on for one in self.objectives if one.name == name}
        readings = pool.keys(options)
        return Lookup.of(pool, _medians(bars, [readings, readings]))

    def test_seconds(self) -> Lookup:
        """The seconds (m, 1) of testing the network of each design; those of its training if they are not known."""
        known = self._by_network(self.table.test_seconds)
        tests = [known.get(self._network(row)) for row in self.rows]
        seconds = [
            [row["training_seconds"] if test is None else test] for row, test in zip(self.rows, tests, strict=True)
        ]
        return Lookup.of(self.space.enumerate(), np.array(seconds, dtype=np.float64))

    def curves(self) -> dict[str, Curve]:
        """The error after each step, if every network has the same number of them."""
        known = self._by_network(self.table.curves)
        curves = common_steps([known.get(self._network(row), ()) for row in self.rows])
        if not curves:
            return {}
        seconds, errors = np.moveaxis(np.array(curves), 2, 0)
        if self.deployed:
            errors = np.column_stack([errors[:, :-1], self.medians(self.values())[:, 0]])
        pool = self.space.enumerate()
        return {ERROR: Curve(len(curves[0]), Lookup.of(pool, errors), Lookup.of(pool, seconds))}

    def _by_network(self, found: Sequence[T]) -> dict[tuple[Any, ...], T]:
        """What the table says of its networks, in their order; empty if it says nothing."""
        networks = dict.fromkeys(self._network(row) for row in self.table.rows)
        return dict(zip(networks, found, strict=True)) if found else {}

    def _network(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[option] for option in self.table.network_options)


def timed_calls(latency_ms: float) -> int:
    """How many single batches a recorded latency is the median of, at least.

    It is not recorded. They are the later half of the batches that fit into a warm-up, which lasts 0.1 s or longer.

    >>> timed_calls(1.0), timed_calls(48.0), timed_calls(60.0)
    (50, 2, 1)
    """
    calls = math.ceil(1000.0 * SHORTEST_WARM_UP_SECONDS / latency_ms)
    return calls - calls // 2


def _commands(tables: Sequence[str]) -> str:
    return " or ".join(f"flexibo run {name} --recorded" for name in tables)


def _objectives(table: RecordedTable, space: Space, *, deployed: bool) -> tuple[Objective, ...]:
    deciding = (*table.network_options, *[PRECISION] * deployed)
    network = tuple(option for option in deciding if option in space.names)
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
        {
            "n": ProblemParameter(2, "objectives: 2, or 3 with the latency of a batch", 2, 3),
            **({"deployed": ProblemParameter(False, DEPLOYED_PARAMETER)} if name.endswith(WITH_CURVES) else {}),
        },
        group="curves" if name.endswith(WITH_CURVES) else "recorded",
    )
    for name in recordings()
)
