"""What a study shows: the rows of its front and of its trace, and its summary."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.errors import missing_extra
from flexibo.history import Failed, History, Told
from flexibo.pareto import hypervolume, non_dominated
from flexibo.space import Design


@dataclass(frozen=True, slots=True)
class FrontRow:
    """One design of the front.

    Attributes:
        design: Its option values.
        values: Its objectives, measured or predicted, by name.
        measured: Whether each value was measured.
        deviations: The standard deviation of each value; 0 where it is known exactly.
    """

    design: Design
    values: Mapping[str, float]
    measured: Mapping[str, bool]
    deviations: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ParetoRegion:
    """What is still uncertain about the front.

    Attributes:
        optimistic: Corners of the optimistic front (k, n), in the users' values, in the order of the objectives.
        pessimistic: Corners of the pessimistic front (l, n).
        reference: The reference point (n,).
    """

    optimistic: FloatArray
    pessimistic: FloatArray
    reference: FloatArray


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One finished evaluation.

    Attributes:
        number: The how-manieth question it was, from 0.
        design: The design that was measured.
        objective: What was measured.
        value: The value; None when the attempt failed.
        cost: What it cost.
        cumulative_cost: All that was spent up to and with it.
        hypervolume: Of the designs whose objectives were all measured by then.
        region_volume: Of the Pareto region when it was asked; None for initial designs and methods without models.
        gain: The volume it was expected to remove; None likewise.
        reason: Why the attempt failed.
    """

    number: int
    design: Design
    objective: str
    value: float | None
    cost: float
    cumulative_cost: float
    hypervolume: float
    region_volume: float | None
    gain: float | None
    reason: str = ""


class Trace(Sequence[TraceRow]):
    """The finished evaluations of a study, in order."""

    def __init__(self, rows: Sequence[TraceRow]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> TraceRow: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> TraceRow | Trace:
        return Trace(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Trace of {len(self)} evaluations"

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per row; options are prefixed with ``option:``."""
        plain = [name for name in TraceRow.__dataclass_fields__ if name != "design"]
        return [
            {name: getattr(row, name) for name in plain} | {f"option:{name}": v for name, v in row.design.items()}
            for row in self._rows
        ]

    def to_csv(self, path: str | Path) -> None:
        """Write the rows as CSV."""
        records = self.records()
        names = list(records[0]) if records else [n for n in TraceRow.__dataclass_fields__ if n != "design"]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(records)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame (extra ``pandas``)."""
        try:
            import pandas as pd
        except ImportError:
            raise missing_extra("pandas", "pandas") from None
        return pd.DataFrame.from_records(self.records())


@dataclass(frozen=True, slots=True)
class Summary:
    """A study in a few numbers.

    Attributes:
        method: The method's name.
        evaluations: Measured evaluations by objective.
        costs: What they cost, by objective.
        failures: Failed attempts by objective.
        spent: All that was spent, failures included.
        budget: The budget; None is without limit.
        front: How many designs the front has.
        confirmed: How many of them are measured in every objective.
        hypervolume: Of the designs that were measured in every objective.
        region_volume: Of the Pareto region at the last question; None if it was never known.
        reference: The reference point by objective, or None before it is fixed.
        stopped: Why there was nothing more to ask, or an empty string.
    """

    method: str
    evaluations: Mapping[str, int]
    costs: Mapping[str, float]
    failures: Mapping[str, int]
    spent: float
    budget: float | None
    front: int
    confirmed: int
    hypervolume: float
    region_volume: float | None
    reference: Mapping[str, float] | None
    stopped: str

    def __str__(self) -> str:
        budget = "without limit" if self.budget is None else f"{self.budget:.4g}"
        lines = [
            f"method       {self.method}",
            f"spent        {self.spent:.4g} of {budget}",
            f"front        {self.front} designs, {self.confirmed} of them measured in every objective",
            f"hypervolume  {self.hypervolume:.6g}",
        ]
        if self.region_volume is not None:
            lines.append(f"region       {self.region_volume:.6g}")
        for name, number in self.evaluations.items():
            failed = f", {self.failures[name]} failed" if self.failures[name] else ""
            lines.append(f"{name}: {number} measured for {self.costs[name]:.4g}{failed}")
        if self.stopped:
            lines.append(f"stopped      {self.stopped}")
        return "\n".join(lines)


def front_rows(history: History, mu: FloatArray, sigma: FloatArray, measured: BoolArray) -> list[FrontRow]:
    """The non-dominated designs among those with at least one measurement, ordered by the first objective.

    Args:
        history: Its designs (m) are meant.
        mu: Means of the losses (m, n).
        sigma: Their deviations (m, n).
        measured: Which were measured (m, n).
    """
    touched = np.flatnonzero(measured.any(axis=1))
    on_front = touched[non_dominated(mu[touched])]
    designs = history.designs
    rows = []
    for i in on_front[np.argsort(mu[on_front, 0], kind="stable")]:
        values = {o.name: o.value(float(mu[i, j])) for j, o in enumerate(history.objectives)}
        was_measured = dict(zip(history.names, measured[i].tolist(), strict=True))
        deviations = dict(zip(history.names, sigma[i].tolist(), strict=True))
        rows.append(FrontRow(designs[int(i)], values, was_measured, deviations))
    return rows


def summarise(
    history: History, front: Sequence[FrontRow], reference: FloatArray | None, *, method: str, stopped: str
) -> Summary:
    """A history and its front in a few numbers."""
    names = [purchase.objective for purchase in history.purchases]
    told = {event.number: event.cost for event in history.events if isinstance(event, Told)}
    counts, costs = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    for evaluation in history.asked:
        if evaluation.number in told:
            counts[evaluation.objective] += 1
            costs[evaluation.objective] += told[evaluation.number]
    volumes = [evaluation.volume for evaluation in history.asked if evaluation.volume is not None]
    fixed = None
    if history.reference is not None:
        fixed = {o.name: o.value(loss) for o, loss in zip(history.objectives, history.reference, strict=True)}
    return Summary(
        method=method,
        evaluations=counts,
        costs=costs,
        failures={name: history.failed_attempts[name] for name in names},
        spent=history.spent,
        budget=history.budget,
        front=len(front),
        confirmed=sum(all(row.measured.values()) for row in front),
        hypervolume=known_volume(history, reference),
        region_volume=volumes[-1] if volumes else None,
        reference=fixed,
        stopped=stopped,
    )


def trace(history: History, reference: FloatArray | None) -> Trace:
    """The finished evaluations of a history, with the hypervolume (against the reference, (n,)) after each."""
    volumes = _known_volumes(history, reference)
    rows: list[TraceRow] = []
    spent, volume = 0.0, 0.0
    asked = {evaluation.number: evaluation for evaluation in history.asked}
    seen = 0
    for event in history.events:
        seen += 1
        volume = volumes.get(seen, volume)
        if not isinstance(event, Told | Failed):
            continue
        spent += event.cost
        evaluation = asked[event.number]
        value = event.values[evaluation.objective] if isinstance(event, Told) else None
        reason = event.reason if isinstance(event, Failed) else ""
        rows.append(
            TraceRow(
                evaluation.number,
                evaluation.design,
                evaluation.objective,
                value,
                event.cost,
                spent,
                volume,
                evaluation.volume,
                evaluation.gain,
                reason,
            )
        )
    return Trace(rows)


def known_volume(history: History, reference: FloatArray | None) -> float:
    """The hypervolume of the designs whose objectives were all measured."""
    return max(_known_volumes(history, reference).values(), default=0.0)


def _known_volumes(history: History, reference: FloatArray | None) -> dict[int, float]:
    """The hypervolume after the so-manieth event, wherever it grew."""
    designs = history.designs
    if reference is None or not len(designs):
        return {}
    n = len(history.objectives)
    when = np.full((len(designs), n), math.inf)
    losses = np.full((len(designs), n), math.nan)
    moments = history.moments()
    for j, objective in enumerate(history.objectives):
        for i, key in enumerate(designs.keys(objective.options).tolist()):
            if key in history.known(j):
                losses[i, j], when[i, j] = history.known(j)[key], moments[j][key]
    complete = when.max(axis=1)
    volumes: dict[int, float] = {}
    front = np.empty((0, n))
    for moment in sorted(set(complete[np.isfinite(complete)].tolist())):
        front = np.concatenate([front, losses[complete == moment]])
        front = front[non_dominated(front)]
        volumes[int(moment)] = hypervolume(front, reference)
    return volumes
