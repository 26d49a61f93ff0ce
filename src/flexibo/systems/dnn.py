"""The paper's systems as a study sees them: the whole stack's options, prediction error against energy."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.objectives import Objective
from flexibo.space import Ordinal, Space
from flexibo.systems.base import Measure, System
from flexibo.systems.bench import Bench

BESIDE = {"latency_ms": "ms", "power_watts": "W"}
"""What a reading of energy gives beside it, with its unit."""


def stack_space(bench: Bench) -> Space:
    """All designs: the network's options, then the platform's, then the machine's knobs."""
    options: dict[str, Any] = {name: Ordinal(values) for name, values in bench.entry.options.items()}
    added = {knob.name: knob.values() for knob in bench.knobs}
    for name, values in (*bench.platform.options(bench.entry.traits).items(), *added.items()):
        options[name] = Ordinal(values) if _is_ordered(values) else list(values)
    return Space(options)


def dnn_system(bench: Bench, *, beside: Collection[str] = ()) -> System:
    """A system of the paper: `error_percent` (dear) and `energy_millijoules` of one inference (cheap).

    Args:
        bench: The network on its platform.
        beside: Further objectives that a reading of energy gives for nothing: ``latency_ms``, ``power_watts``.
    """
    for name in beside:
        if name not in BESIDE:
            raise unknown_name("objective", name, BESIDE)
    space = stack_space(bench)
    entry = bench.entry
    running = (*entry.running_options, *(name for name in space.names if name not in entry.options))
    error = Objective("error_percent", unit="%", options=tuple(entry.options))
    # An estimate bears its name: nobody can take it for a measurement, in no table and in no file.
    title = "estimated_energy_millijoules" if bench.meter.is_estimate else "energy_millijoules"
    energy = Objective(title, unit="mJ", options=running, noisy=True)
    others = [
        Objective(name, unit=unit, options=running, noisy=True, measured_with=title)
        for name, unit in BESIDE.items()
        if name in beside
    ]

    def read(design: Mapping[str, Any]) -> dict[str, float]:
        found = bench.inference(design)
        given = {title: 1000 * found.joules, "latency_ms": 1000 * found.call_seconds, "power_watts": found.watts}
        return {name: given[name] for name in (title, *(other.name for other in others))}

    data = bench.task.data
    notes = (
        f"error_percent is measured on {len(data.test):,} held-out examples of {data.name} after training on "
        f"{len(data.train):,}.",
        *((data.note,) if data.note else ()),
        f"{title} is of one inference, read from {bench.meter.name}.",
    )
    functions: dict[str, Measure] = {error.name: bench.error_percent, energy.name: read}
    return System(entry.name, space, (error, energy, *others), functions, notes, identity=identity_of(bench))


def identity_of(bench: Bench) -> str:
    """What decides the values beside the design, as a short hash: data, training, seed, platform, meter."""
    parts = (bench.task.fingerprint, bench.seed, bench.platform.name, bench.meter.name)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _is_ordered(values: Collection[Any]) -> bool:
    """Whether values are numbers, of which neighbours are alike."""
    if not values:
        raise InvalidValueError("An option has no values on this machine; leave its knob out.")
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
