"""What a study shows beside its front: the Pareto region, the trace and the summary."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.records import data_frame, write_csv
from flexibo.history import History
from flexibo.history.events import Failed, Told
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.pareto import hypervolume, non_dominated
from flexibo.results.front import FEASIBILITIES, STANDINGS, Feasibility, FrontRow, Standing
from flexibo.space import Design


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
        values: The values of all objectives that the evaluation gave; empty when it failed.
        cost: What it cost.
        cumulative_cost: All that was spent up to and with it, lost attempts included.
        hypervolume: Of the feasible designs whose objectives were all measured by then.
        region_volume: Of the Pareto region when it was asked; None for initial designs and methods that do not use it.
        gain: The volume it was expected to remove, or the score of another method; None where there was none.
        reason: Why the attempt failed.
        costs: All that was spent on each objective up to and with it.
    """

    number: int
    design: Design
    objective: str
    value: float | None
    values: Mapping[str, float]
    cost: float
    cumulative_cost: float
    hypervolume: float
    region_volume: float | None
    gain: float | None
    reason: str = ""
    costs: Mapping[str, float] = field(default_factory=dict)


STRUCTURED = ("design", "values", "costs")
"""What of a row is no single cell of a table."""


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
        """One flat dictionary per row: ``value:`` columns hold every objective, ``option:`` columns the design."""
        plain = [name for name in TraceRow.__dataclass_fields__ if name not in STRUCTURED]
        objectives = list(dict.fromkeys(name for row in self._rows for name in row.values))
        return [
            {name: getattr(row, name) for name in plain}
            | {f"value:{name}": row.values.get(name) for name in objectives}
            | {f"option:{name}": value for name, value in row.design.items()}
            for row in self._rows
        ]

    def to_csv(self, path: str | Path) -> None:
        """Write the rows as CSV."""
        write_csv(path, self.records(), [name for name in TraceRow.__dataclass_fields__ if name not in STRUCTURED])

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame (extra ``pandas``)."""
        return data_frame(self.records())


@dataclass(frozen=True, slots=True)
class Summary:
    """A study in a few numbers.

    Attributes:
        method: The method's name.
        evaluations: Measurements by objective, known results not counted.
        costs: What they cost, by objective; nothing for one that is measured with another.
        failures: Failed attempts by objective.
        spent: All that was spent, failures included.
        budget: The budget; None is without limit.
        front: How many designs the front has.
        confirmed: How many of them are measured in every objective.
        feasible: How many of them are "feasible", "unsure" and "violating"; None without constraints.
        hypervolume: Of the feasible designs that were measured in every objective.
        region_volume: Of the Pareto region at the last question, 0 if the study just stopped because none is left;
            None if it was never known.
        reference: The reference point by objective, or None before it is fixed.
        stopped: Why the study stopped, or an empty string.
        stop_kind: The same for programs; None if it has not stopped.
        standings: How many designs of the front are "certain", "probable", "possible" and "ruled out".
    """

    method: str
    evaluations: Mapping[str, int]
    costs: Mapping[str, float]
    failures: Mapping[str, int]
    spent: float
    budget: float | None
    front: int
    confirmed: int
    feasible: Mapping[Feasibility, int] | None
    hypervolume: float
    region_volume: float | None
    reference: Mapping[str, float] | None
    stopped: str
    stop_kind: StopKind | None = None
    standings: Mapping[Standing, int] = field(default_factory=dict)

    def __str__(self) -> str:
        budget = "" if self.budget is None else f" of {self.budget:.4g}"
        lines = [
            f"method       {self.method}",
            f"spent        {self.spent:.4g}{budget}",
            f"front        {self._front()}",
            f"hypervolume  {self.hypervolume:.6g}",
        ]
        if any(count for standing, count in self.standings.items() if standing != "probable"):
            counts = (f"{count} {standing}" for standing, count in self.standings.items() if count)
            lines.append(f"standing     {', '.join(counts)}")
        if self.feasible is not None:
            kept, unsure, violated = (self.feasible[mark] for mark in FEASIBILITIES)
            lines.append(f"constraints  kept by {kept} of the front, unsure for {unsure}, violated by {violated}")
        if self.region_volume is not None:
            lines.append(f"region       {self.region_volume:.6g}")
        for name, number in self.evaluations.items():
            failed = f", {self.failures[name]} failed" if self.failures[name] else ""
            lines.append(f"{name}: {number} measured for {self.costs[name]:.4g}{failed}")
        if self.stopped:
            lines.append(f"stopped      {self.stopped}")
        return "\n".join(lines)

    def _front(self) -> str:
        """How many designs the front has and how many are measured, in words."""
        if self.front == 0:
            return "no design yet"
        if self.front == 1:
            return f"1 design, {'' if self.confirmed else 'not '}measured in every objective"
        return f"{self.front} designs, {self.confirmed} of them measured in every objective"


def summarise(
    history: History,
    front: Sequence[FrontRow],
    reference: FloatArray | None,
    *,
    method: str,
    stop: Stop | None,
) -> Summary:
    """A history and its front in a few numbers."""
    kind = None if stop is None else stop.kind
    counts, costs = dict.fromkeys(history.names, 0), dict.fromkeys(history.names, 0.0)
    for event in history.events:
        if isinstance(event, Told):
            costs[history.asked[event.number].objective] += event.cost
            for name in event.values:
                counts[name] += 1
    volumes = [evaluation.volume for evaluation in history.asked if evaluation.volume is not None]
    return Summary(
        method=method,
        evaluations=counts,
        costs=costs,
        failures={name: history.failed_attempts[name] for name in history.names},
        spent=history.spent,
        budget=history.budget,
        front=len(front),
        confirmed=sum(all(row.measured.values()) for row in front),
        feasible=_feasible(front) if np.isfinite(history.limits).any() else None,
        hypervolume=known_volume(history, reference),
        region_volume=0.0 if kind is StopKind.NO_REGION else volumes[-1] if volumes else None,
        reference=history.reference_values(),
        stopped="" if stop is None else stop.reason,
        stop_kind=kind,
        standings={standing: sum(row.standing == standing for row in front) for standing in STANDINGS},
    )


def _feasible(front: Sequence[FrontRow]) -> dict[Feasibility, int]:
    marks = [row.feasibility for row in front]
    return {mark: marks.count(mark) for mark in FEASIBILITIES}


def trace(history: History, reference: FloatArray | None) -> Trace:
    """The finished evaluations of a history, with the hypervolume (against the reference, (n,)) after each."""
    volumes = _known_volumes(history, reference)
    rows: list[TraceRow] = []
    spent, costs, volume = 0.0, dict.fromkeys(history.names, 0.0), 0.0
    asked = {evaluation.number: evaluation for evaluation in history.asked}
    charges = deque(history.charges)
    for seen, event in enumerate(history.events, start=1):
        volume = volumes.get(seen, volume)
        while charges and charges[0].event < seen:
            charge = charges.popleft()
            spent += charge.cost
            costs[charge.objective] += charge.cost
        if not isinstance(event, Told | Failed):
            continue
        evaluation = asked[event.number]
        value = event.values[evaluation.objective] if isinstance(event, Told) else None
        reason = event.reason if isinstance(event, Failed) else ""
        rows.append(
            TraceRow(
                evaluation.number,
                evaluation.design,
                evaluation.objective,
                value,
                event.values if isinstance(event, Told) else {},
                event.cost,
                spent,
                volume,
                evaluation.volume,
                evaluation.gain,
                reason,
                dict(costs),
            )
        )
    return Trace(rows)


def known_volume(history: History, reference: FloatArray | None) -> float:
    """The hypervolume of the feasible designs whose objectives were all measured."""
    return max(_known_volumes(history, reference).values(), default=0.0)


def _known_volumes(history: History, reference: FloatArray | None) -> dict[int, float]:
    """The hypervolume after the so-manieth event, wherever it grew."""
    designs = history.designs
    if reference is None or not len(designs):
        return {}
    n = len(history.objectives)
    when = np.full((len(designs), n), math.inf)
    losses = np.full((len(designs), n), math.nan)
    for j, objective in enumerate(history.objectives):
        for i, key in enumerate(designs.keys(objective.depends_on).tolist()):
            if key in history.first(j):
                when[i, j], losses[i, j] = history.first(j)[key]
    complete = np.where((losses > history.limits).any(axis=1), math.inf, when.max(axis=1))
    losses = losses[:, list(history.optimised)]
    volumes: dict[int, float] = {}
    front = np.empty((0, losses.shape[1]))
    for moment in sorted(set(complete[np.isfinite(complete)].tolist())):
        new = losses[complete == moment]
        new = new[[not (front <= row).all(axis=1).any() for row in new]]
        if not len(new):
            continue
        front = np.concatenate([front, new])
        front = front[non_dominated(front)]
        volumes[int(moment)] = hypervolume(front, reference)
    return volumes
