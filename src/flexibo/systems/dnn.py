"""The paper's systems as a `System`: the options of the whole stack, prediction error and energy."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from flexibo.errors import unknown_name
from flexibo.hardware import MeterError
from flexibo.objectives import Objective, Reading
from flexibo.space import Ordinal, Space
from flexibo.systems.base import Measure, System
from flexibo.systems.network_runner import PRECISION, NetworkRunner

ERROR = "error_percent"
ENERGY = "energy_millijoules"
# An estimate has a name of its own, so that it is never taken for a measurement.
ESTIMATE = "estimated_energy_millijoules"
BESIDE = {"latency_ms": "ms", "power_watts": "W"}  # come with an energy measurement at no further cost; their units


@dataclass(frozen=True, slots=True)
class NoMeter:
    """The meter of a machine that measures the error only."""

    name: str = "no meter"
    update_seconds: float = 1.0
    is_estimate: bool = False

    def read_joules(self) -> float:
        """Always raises an error."""
        raise MeterError(f"This machine measures {ERROR} only; measure energy on a machine with a meter.")


def reads_energy(objectives: Collection[str]) -> bool:
    """Whether measuring these objectives (all of them if empty) includes energy.

    >>> reads_energy(["error_percent"]), reads_energy(["latency_ms"]), reads_energy([])
    (False, True, True)
    """
    for name in objectives:
        if name not in (ERROR, ENERGY, ESTIMATE, *BESIDE):
            raise unknown_name("objective", name, (ERROR, ENERGY, ESTIMATE, *BESIDE))
    return set(objectives) != {ERROR}


def trains(objectives: Collection[str]) -> bool:
    """Whether measuring these objectives (all of them if empty) includes training."""
    return not objectives or ERROR in objectives


def check_beside(names: Collection[str]) -> None:
    """Raise an error if one of these does not come with an energy measurement."""
    for name in names:
        if name not in BESIDE:
            raise unknown_name("objective", name, BESIDE)


def stack_space(runner: NetworkRunner) -> Space:
    """All designs: the network's options, then the platform's, then the machine's knobs."""
    options: dict[str, Any] = {name: Ordinal(values) for name, values in runner.system.options.items()}
    added = {knob.name: knob.values() for knob in runner.knobs}
    for name, values in (*runner.platform.options(runner.system.traits).items(), *added.items()):
        options[name] = Ordinal(values) if _is_ordered(values) else list(values)
    return Space(options)


def dnn_system(
    runner: NetworkRunner, *, beside: Collection[str] = (), only: Collection[str] = (), as_trained: bool = False
) -> System:
    """A system of the paper: `error_percent` (expensive) and `energy_millijoules` of one inference (cheap).

    Those `beside` come with an energy measurement; `only` is what is measured here, for the notes (empty: all). The
    error is that of the trained network in the precision of the design, or `as_trained`, as in studies of version 0.1.
    """
    check_beside(beside)
    space = stack_space(runner)
    system = runner.system
    running = (*system.running_options, *(name for name in space.names if name not in system.options))
    deployment = () if as_trained else (PRECISION,)
    trained_once = tuple(system.options) if deployment and runner.store is not None else ()
    error = Objective(ERROR, unit="%", options=(*system.options, *deployment), reuse=trained_once)
    title = ESTIMATE if runner.meter.is_estimate else ENERGY
    energy = Objective(title, unit="mJ", options=running, noisy=True)
    others = [
        Objective(name, unit=unit, options=running, noisy=True, measured_with=title)
        for name, unit in BESIDE.items()
        if name in beside
    ]

    def read(design: Mapping[str, Any]) -> dict[str, float]:
        found = runner.inference(design)
        given = {
            title: _with_bar(1000 * found.joules, found.deviation, found.repeats),
            "latency_ms": _with_bar(1000 * found.call_seconds, found.call_deviation, found.n_calls),
            "power_watts": found.watts,
        }
        return {name: given[name] for name in (title, *(other.name for other in others))}

    notes = (
        *(_training_notes(runner, as_trained=as_trained) if trains(only) else ()),
        *((f"{title} is of one inference, read from {runner.meter.name}.",) if reads_energy(only) else ()),
        *(runner.platform.notes() if reads_energy(only) else ()),
        *_limit_note(runner),
    )
    functions: dict[str, Measure] = {
        error.name: runner.error_percent if as_trained else runner.deployed_error_percent,
        energy.name: read,
    }
    return System(system.name, space, (error, energy, *others), functions, notes, identity=identity_of(runner))


def _with_bar(value: float, deviation: float | None, repeats: int) -> float:
    """A value in thousandths with its error bar, the deviation in whole units; alone if that is not known."""
    return value if deviation is None else Reading(value, deviation=1000 * deviation, repeats=repeats)


def _training_notes(runner: NetworkRunner, *, as_trained: bool) -> tuple[str, ...]:
    data = runner.task.data
    how = "as trained, whatever the precision" if as_trained else "in the precision of the design"
    note = (
        f"{ERROR} is measured on {len(data.test):,} held-out examples of {data.name} after training on "
        f"{len(data.train):,}, {how}."
    )
    return (note, data.note) if data.note else (note,)


def _limit_note(runner: NetworkRunner) -> tuple[str, ...]:
    if runner.longest_seconds is None:
        return ()
    return (
        f"An evaluation may take about {runner.longest_seconds:g} s here: designs that would take longer are not "
        "measured, and a reading that would is the median of fewer than ten repeats.",
    )


def identity_of(runner: NetworkRunner) -> str:
    """A short hash of what decides the values besides the design: data, training, seed, platform, meter."""
    parts = (runner.task.fingerprint, runner.seed, runner.platform.name, runner.meter.name)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _is_ordered(values: Collection[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
