"""Frequencies: which steps of a device are offered, and in which order its limits are changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs.base import Level, Machine, Write, changes
from flexibo.hardware.knobs.files import number_of

# A design with 1.2 means the step at 1.1904, not the one at 1.1136.
NEAR = 0.01


def spread(available: Sequence[float], steps: int, bounds: tuple[float, float] | None = None) -> tuple[float, ...]:
    """At most `steps` of the available values: those nearest to evenly spaced values between two bounds.

    >>> spread([0.3456, 0.4992, 0.6528, 1.1136, 1.5744, 2.0352], 3, (0.3, 2.3))
    (0.3456, 1.1136, 2.0352)
    """
    if steps < 1:
        raise InvalidValueError(f"The number of steps is {steps}; it must be 1 or more.")
    rising = np.unique(np.asarray(available, dtype=float))
    low, high = bounds if bounds is not None else (rising[0], rising[-1])
    ends = np.clip([low, high], rising[0], rising[-1])
    inside = rising[(rising >= ends[0]) & (rising <= ends[1])]
    if 0 < len(inside) <= steps:
        return tuple(inside.tolist())
    eligible = inside if len(inside) else rising
    marks = np.linspace(ends[0], ends[1], steps) if steps > 1 else ends[1:]
    return tuple(np.unique([eligible[np.abs(eligible - mark).argmin()] for mark in marks]).tolist())


def step_of(name: str, value: Level, available: Sequence[float]) -> float:
    """The available step nearest to a value; an error if there is none within 1 %."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        nearest = min(available, key=lambda step: abs(step - value))
        if abs(nearest - value) <= NEAR * nearest:
            return nearest
    listed = ", ".join(f"{step:g}" for step in available)
    raise InvalidValueError(f"Option {name!r} is {value!r}; this machine has {listed}.")


def pinned(machine: Machine, low: Path, high: Path, target: int, *, tolerance: float) -> tuple[Write, ...]:
    """The writes that set a lower and an upper limit to the same number, the lower never above the upper."""
    lower, upper = number_of(machine, low), number_of(machine, high)
    bottom = Write(str(low), str(target), str(lower), tolerance=tolerance)
    top = Write(str(high), str(target), str(upper), tolerance=tolerance)
    return changes((top, bottom) if target > upper else (bottom, top))
