"""The numbers of a recording: the columns of its table, the learning curves, and which values are possible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MEASURED = (  # the columns that follow the options
    "error_percent",
    "training_seconds",
    "energy_joules",
    "latency_ms",
    "power_watts",
    "reading_seconds",
    "energy_joules_again",
)
FURTHER = (  # columns that older tables do not have; empty ones are left out
    "energy_spread",
    "latency_spread",
    "windows",
    "deployed_error_percent",
)
CURVES = ("epoch_errors", "epoch_seconds", "test_seconds")  # by network, in the heading of a table
MAY_BE_ZERO = frozenset({"error_percent", "deployed_error_percent", "energy_spread", "latency_spread", "test_seconds"})
"""What may be zero; a time, an energy or a power of zero was not measured."""
CURVE_DECIMALS = 4  # of an error in a curve


def is_scalar(value: object) -> bool:
    """Whether it may be the value of an option: a text, a number, True or False."""
    return isinstance(value, str | int | float)


def number_fault(name: str, value: object) -> str:
    """What is wrong with a number of a recording; empty if nothing is.

    >>> number_fault("energy_joules", -1.5), number_fault("error_percent", 0.0)
    ('energy_joules is -1.5; it must be above 0', '')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{name} is {_shown(value)}; it must be a number"
    if not math.isfinite(value):
        return f"{name} is {value}; it must be finite"
    if value < 0 or (value == 0 and name not in MAY_BE_ZERO):
        return f"{name} is {value:g}; it must be {'0 or more' if name in MAY_BE_ZERO else 'above 0'}"
    if name == "windows" and value != int(value):
        return f"{name} is {value:g}; it must be a whole number"
    return ""


def curve_fault(errors: object, error_percent: object) -> str:
    """What is wrong with the errors after each epoch of a network of this error; empty if nothing is."""
    if not isinstance(errors, list) or not errors:
        return f"epoch_errors is {_shown(errors)}; it must be a list of errors"
    for epoch, error in enumerate(errors, 1):
        if fault := number_fault("error_percent", error):
            return f"epoch_errors has at epoch {epoch}: {fault}"
    if not isinstance(error_percent, int | float):
        return "epoch_errors is given, and no error_percent, at which it must end"
    if not math.isclose(errors[-1], error_percent, rel_tol=1e-6, abs_tol=10.0**-CURVE_DECIMALS):
        return f"epoch_errors ends at {errors[-1]:.7g}; it must end at the error_percent, {error_percent:.7g}"
    return ""


def outcome_fault(outcome: Mapping[str, Any]) -> str:
    """What is wrong with the outcome of a training or a reading; empty if nothing is."""
    for name in (*MEASURED, *FURTHER, *CURVES[1:]):
        if outcome.get(name) is not None and (fault := number_fault(name, outcome[name])):
            return fault
    if outcome.get(CURVES[0]) is not None and (fault := curve_fault(outcome[CURVES[0]], outcome.get("error_percent"))):
        return fault
    deployed = outcome.get("deployed", {})  # the error in each precision
    if not isinstance(deployed, dict):
        return f"deployed is {_shown(deployed)}; it must be an object"
    faults = (number_fault("deployed_error_percent", error) for error in deployed.values() if error is not None)
    return next(filter(None, faults), "")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
