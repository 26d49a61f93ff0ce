"""The trace of a study: its finished evaluations, and the hypervolume after each."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.records import Tabular
from flexibo.history import History
from flexibo.history.events import Failed, Told
from flexibo.pareto import hypervolume, non_dominated
from flexibo.results.region_rises import with_other_axes
from flexibo.space import Design


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One finished evaluation.

    Attributes:
        number: The index of the question, from 0.
        design: The design that was measured.
        objective: What was measured.
        value: The value; None if the attempt failed, or stopped before the last step of its objective.
        values: The values of all objectives that the evaluation gave; empty in these cases.
        cost: Its cost.
        cumulative_cost: The total cost including this evaluation and lost attempts.
        hypervolume: Of the feasible designs that were measured in every objective by then.
        region_volume: Of the Pareto region when it was asked, up to the reference point of then; None for initial
            designs, for methods that do not use it, and for what was asked before the study got another objective to
            optimise.
        gain: The gain for which it was asked, see `flexibo.history.Evaluation`; None if it was not scored.
        reason: Why the attempt failed.
        costs: The total cost of each objective including this evaluation.
        reached: The step at which it stopped, if that is before the last one of its objective; otherwise None.
        deviations: The standard deviations of the values that have an error bar.
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
    reached: int | None = None
    deviations: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        """Whether the attempt gave nothing that was asked for."""
        return self.value is None and self.reached is None


STRUCTURED = ("design", "values", "costs", "reached", "deviations")  # the fields of a row that are no cell of a table


class Trace(Tabular, Sequence[TraceRow]):
    """The finished evaluations of a study, in order.

    Attributes:
        known_hypervolume: Of the results that were known before the first of them.
    """

    def __init__(self, rows: Sequence[TraceRow], *, known_hypervolume: float = 0.0) -> None:
        self._rows = tuple(rows)
        self.known_hypervolume = known_hypervolume

    @overload
    def __getitem__(self, index: int) -> TraceRow: ...
    @overload
    def __getitem__(self, index: slice) -> Trace: ...
    def __getitem__(self, index: int | slice) -> TraceRow | Trace:
        if isinstance(index, slice):
            return Trace(self._rows[index], known_hypervolume=self.known_hypervolume)
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Trace of {len(self)} evaluations"

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per row: ``value:`` columns hold every objective, ``option:`` columns the design.

        Where values have error bars, ``deviation:`` columns hold their standard deviations.
        """
        plain = [name for name in TraceRow.__dataclass_fields__ if name not in STRUCTURED]
        objectives = list(dict.fromkeys(name for row in self._rows for name in row.values))
        barred = list(dict.fromkeys(name for row in self._rows for name in row.deviations))
        return [
            {name: getattr(row, name) for name in plain}
            | {f"value:{name}": row.values.get(name) for name in objectives}
            | {f"deviation:{name}": row.deviations.get(name) for name in barred}
            | {f"option:{name}": value for name, value in row.design.items()}
            for row in self._rows
        ]

    def _heading(self) -> list[str]:
        return [name for name in TraceRow.__dataclass_fields__ if name not in STRUCTURED]


def trace(history: History, reference: FloatArray | None) -> Trace:
    """The finished evaluations of a history, with the hypervolume (against the reference, (n,)) after each."""
    volumes = _known_volumes(history, reference)
    rows: list[TraceRow] = []
    spent, costs, volume, known = 0.0, dict.fromkeys(history.names, 0.0), 0.0, 0.0
    asked = {evaluation.number: evaluation for evaluation in history.asked}
    charges, others = deque(history.charges), with_other_axes(history)
    for seen, event in enumerate(history.events, start=1):
        if not rows and not isinstance(event, Told):
            known = volumes.get(seen, known)
        volume = volumes.get(seen, volume)
        while charges and charges[0].event < seen:
            charge = charges.popleft()
            spent += charge.cost
            costs[charge.objective] += charge.cost
        if not isinstance(event, Told | Failed):
            continue
        evaluation = asked[event.number]
        is_reached = isinstance(event, Told) and history.is_partial(evaluation)
        values = event.values if isinstance(event, Told) and not is_reached else {}
        bars = event.noise if isinstance(event, Told) and not is_reached else {}
        reason = event.reason if isinstance(event, Failed) else ""
        rows.append(
            TraceRow(
                evaluation.number,
                evaluation.design,
                evaluation.objective,
                values.get(evaluation.objective),
                values,
                event.cost,
                spent,
                volume,
                None if evaluation.number in others else evaluation.volume,
                evaluation.gain,
                reason,
                dict(costs),
                evaluation.stop if is_reached else None,
                {name: deviation for name, (deviation, _) in bars.items()},
            )
        )
    return Trace(rows, known_hypervolume=known)


def known_volume(history: History, reference: FloatArray | None) -> float:
    """The hypervolume of the feasible designs that were measured in every objective."""
    return max(_known_volumes(history, reference).values(), default=0.0)


def _known_volumes(history: History, reference: FloatArray | None) -> dict[int, float]:
    """The hypervolume by the number of events, at each event that increased it."""
    designs = history.designs
    if reference is None or not len(designs):
        return {}
    n = len(history.quantities)
    when = np.full((len(designs), n), math.inf)
    losses = np.full((len(designs), n), math.nan)
    for j, objective in enumerate(history.quantities):
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
