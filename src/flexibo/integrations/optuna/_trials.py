"""What the trials of an Optuna study say, as results of designs.

A trial that is complete has values. One that failed, was pruned without a report, or whose value is not finite could
not be measured. One that was pruned after a report has its last reported value, or the median of the complete trials if
that is worse: pruning says that a design is not good, and a value after few steps may look better than it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from flexibo.objectives import LARGEST

PROPOSED = "flexibo:proposed"
"""The attribute of a trial that holds its proposal, in parts: Optuna stores parameters only when a script asks."""
LONGEST = 2_000  # characters of an attribute that every storage of Optuna's holds
PATIENCE_SECONDS = 60  # a trial that has no proposal after this time will have none
CONSTRAINTS = "constraints"  # where Optuna keeps the constraints of a trial


@dataclass(frozen=True, slots=True)
class Result:
    """What a trial says: values by objective and constraint, or the reason why it has none."""

    values: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""


def results(
    trials: Iterable[FrozenTrial], directions: Sequence[StudyDirection], names: Sequence[str]
) -> list[tuple[FrozenTrial, Result]]:
    """The finished trials, each with what it says; its objectives have these names."""
    every = list(trials)
    sign = -1.0 if directions[0] == StudyDirection.MAXIMIZE else 1.0
    first = [trial.values[0] for trial in every if trial.state == TrialState.COMPLETE and _are_usable(trial.values)]
    middle = median(first) if first else None
    told = []
    for trial in every:
        if trial.state == TrialState.COMPLETE:
            told.append((trial, _complete(trial, names)))
        elif trial.state == TrialState.PRUNED:
            told.append((trial, _pruned(trial, names, sign, middle)))
        elif trial.state == TrialState.FAIL:
            told.append((trial, Result(failed=str(trial.system_attrs.get("fail_reason", "the trial failed")))))
    return told


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints of a trial by name; above 0 they are violated."""
    if hasattr(trial, "constraints"):
        given = dict(trial.constraints)
    else:  # Optuna 4
        given = dict(enumerate(trial.system_attrs.get(CONSTRAINTS) or ()))
    return {f"constraint {name}": float(value) for name, value in given.items()}


def remember_proposal(write: Callable[[str, str], object], params: Mapping[str, float]) -> None:
    """Write a proposal, in Optuna's internal numbers, as attributes that are not too long for its storages."""
    text = json.dumps(dict(params))
    for part, start in enumerate(range(0, len(text), LONGEST)):
        write(f"{PROPOSED}:{part}", text[start : start + LONGEST])


def proposed(trial: FrozenTrial, distributions: Mapping[str, Any]) -> dict[str, Any]:
    """What was proposed for a trial, as far as it has these distributions; empty if nothing was."""
    parts: list[str] = []
    while isinstance(part := trial.system_attrs.get(f"{PROPOSED}:{len(parts)}"), str):
        parts.append(part)
    try:
        # A longer proposal may have been stored before it: what follows the first object is left of that.
        stored = dict(json.JSONDecoder().raw_decode("".join(parts))[0]) if parts else {}
        return {name: distributions[name].to_external_repr(x) for name, x in stored.items() if name in distributions}
    except (ValueError, IndexError, TypeError):  # the choices are others now
        return {}


def is_ahead(other: FrozenTrial, trial: FrozenTrial) -> bool:
    """Whether another trial began shortly before a trial, and has no parameters yet, proposed or not.

    One that began long ago was interrupted before it had any.
    """
    if other.state != TrialState.RUNNING or other.params or f"{PROPOSED}:0" in other.system_attrs:
        return False
    if other.number >= trial.number or other.datetime_start is None or trial.datetime_start is None:
        return False
    return bool((trial.datetime_start - other.datetime_start).total_seconds() < PATIENCE_SECONDS)


def _complete(trial: FrozenTrial, names: Sequence[str]) -> Result:
    constraints = constraints_of(trial)
    if not _are_usable(trial.values) or any(value > LARGEST for value in constraints.values()):
        return Result(failed="a value is not finite")
    return Result(dict(zip(names, trial.values, strict=True)) | _usable(constraints))


def _pruned(trial: FrozenTrial, names: Sequence[str], sign: float, middle: float | None) -> Result:
    reported = [value for _, value in sorted(trial.intermediate_values.items()) if _are_usable([value])]
    if not reported or middle is None or len(names) > 1:
        return Result(failed="the trial was pruned")
    value = sign * max(sign * reported[-1], sign * middle)
    return Result({names[0]: value} | _usable(constraints_of(trial)))


def _usable(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if _are_usable([value])}


def _are_usable(values: Iterable[float]) -> bool:
    return all(abs(value) <= LARGEST and not math.isnan(value) for value in values)
