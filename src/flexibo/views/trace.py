"""The trace of a study as a view: the cost and the gain of each evaluation, and the totals so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.results.region_rises import region_rises
from flexibo.results.trace import TraceRow
from flexibo.study import Study
from flexibo.views._json import finite_or_none, json_fields
from flexibo.views._models import evenly_spaced
from flexibo.views.axes import cost_label

LIMIT = 2000


@dataclass(frozen=True, slots=True)
class TraceView:
    """The finished evaluations of a study, as columns of equal length.

    Attributes:
        cost_label: The label of costs, with their unit.
        budget: The budget; None means unlimited.
        objectives: The objectives, in the study's order.
        rows: The columns, by name: see `flexibo.results.trace.TraceRow`. "gain_per_cost" is the gain divided by the
            cost that was expected with it; "initial" and "failed" are flags; "rise" says why the Pareto region was
            larger than at the question before, None where it was not.
        evaluations: The number of values of each objective so far.
        costs: The cost of each objective so far, including failed attempts; 0 if it is measured with another one.
        reference: The reference point of the hypervolumes by objective; None until it is fixed.
        volume_unit: The unit of volumes: the product of the units of the optimised objectives; empty without units.
        thinned: Whether rows were left out; the totals remain exact.
        known_results: How many results were added that the study did not measure, which cost it nothing.
        known_hypervolume: The hypervolume of those that were added before the first evaluation.
    """

    cost_label: str
    budget: float | None
    objectives: tuple[str, ...]
    rows: Mapping[str, Sequence[Any]]
    evaluations: Mapping[str, Sequence[int]]
    costs: Mapping[str, Sequence[float]]
    reference: Mapping[str, float] | None
    volume_unit: str
    thinned: bool
    known_results: int = 0
    known_hypervolume: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "trace", **json_fields(self)}


def trace_view(study: Study, *, limit: int = LIMIT) -> TraceView:
    """The trace of a study.

    Of more than `limit` rows it has the first, the last, the first and the last with a Pareto region, those where the
    hypervolume grew, and evenly spaced others.
    """
    study.refresh()
    history = study.history
    course = study.trace()
    rows = list(course)
    values = {name: np.cumsum([name in row.values for row in rows], dtype=np.int64) for name in history.names}
    costs = {name: np.array([row.costs[name] for row in rows], dtype=float) for name in history.names}
    with_region = np.flatnonzero([row.region_volume is not None for row in rows])
    kept = _kept(np.array([row.hypervolume for row in rows]), with_region, limit)
    rises = region_rises(history)
    expected = [history.asked[rows[i].number].cost for i in kept]
    return TraceView(
        cost_label=cost_label(history),
        budget=history.budget,
        objectives=history.names,
        rows=_columns([rows[i] for i in kept], expected, [history.asked[rows[i].number].initial for i in kept])
        | {"rise": [rises.get(rows[i].number) for i in kept]},
        evaluations={name: column[kept].tolist() for name, column in values.items()},
        costs={name: column[kept].tolist() for name, column in costs.items()},
        reference=study.reference,
        volume_unit=" · ".join(unit for j in history.optimised if (unit := history.objectives[j].unit)),
        thinned=len(kept) < len(rows),
        known_results=sum(measurement.number is None for measurement in history.measurements),
        known_hypervolume=course.known_hypervolume,
    )


def _columns(rows: Sequence[TraceRow], expected: Sequence[float], initial: Sequence[bool]) -> dict[str, list[Any]]:
    return {
        "number": [row.number for row in rows],
        "objective": [row.objective for row in rows],
        "cost": [row.cost for row in rows],
        "spent": [row.cumulative_cost for row in rows],
        "hypervolume": [finite_or_none(row.hypervolume) for row in rows],
        "region_volume": [finite_or_none(row.region_volume) for row in rows],
        "gain": [finite_or_none(row.gain) for row in rows],
        "gain_per_cost": [
            finite_or_none(row.gain / cost) if row.gain is not None and cost > 0 else None
            for row, cost in zip(rows, expected, strict=True)
        ],
        "initial": list(initial),
        "failed": [row.has_failed for row in rows],
    }


def _kept(volumes: FloatArray, with_region: IntArray, limit: int) -> IntArray:
    """The rows to keep, in order: the ends, then those where the volumes (s,) grew, then evenly spaced others."""
    count = len(volumes)
    if count <= limit:
        return np.arange(count)
    needed = [0, count - 1, *with_region[:1].tolist(), *with_region[-1:].tolist()]
    ends = np.array(list(dict.fromkeys(needed))[: max(2, limit)])
    grown = np.setdiff1d(np.flatnonzero(np.diff(volumes) > 0) + 1, ends)
    grown = grown[evenly_spaced(len(grown), max(0, limit - len(ends)))]
    others = np.setdiff1d(np.arange(count), np.concatenate([ends, grown]))
    others = others[evenly_spaced(len(others), max(0, limit - len(ends) - len(grown)))]
    return np.sort(np.concatenate([ends, grown, others]))
