"""The front as a view: every design with a measurement, what is known of it, and the Pareto region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.reported import reported, touched_designs
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor
from flexibo.results.confidence import standings_of
from flexibo.results.front import Feasibility, FrontRow, Standing, front_rows
from flexibo.space import Value
from flexibo.study import Study
from flexibo.views._predictions import every_objective_measured, outlook
from flexibo.views._subsets import spread
from flexibo.views.axes import Axis, axis_of, plain_number

KINDS = ("front-measured", "front-half", "front-unsure", "front-violating", "measured", "half", "violating")
"""What a design of the view can be."""
LIMIT = 2000
TABLE = 1 << 20
"""Designs times designs of the front in one table of distances."""


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """One design.

    Attributes:
        kind: One of `KINDS`. On the front: "front-measured" in every objective, "front-half" with predicted values,
            "front-unsure" or "front-violating" under constraints. Behind it: "measured", "half" or "violating".
        design: Its option values.
        values: Its objectives, measured or predicted; None while an objective cannot be predicted.
        deviations: The standard deviation of each value; 0 where it is known exactly, or not at all.
        measured: Whether each value was measured.
        probability: The probability that it keeps every constraint.
        feasibility: The same in a word.
        confirm_cost: What it is expected to cost to measure what is missing; None where that cannot be measured, or
            nothing is known of costs.
        standing: How surely it is on the front, see `flexibo.results.confidence`; None while that cannot be said.
    """

    kind: str
    design: Mapping[str, Value]
    values: Mapping[str, float | None]
    deviations: Mapping[str, float]
    measured: Mapping[str, bool]
    probability: float
    feasibility: Feasibility
    confirm_cost: float | None
    standing: Standing | None = None

    def to_dict(self) -> dict[str, Any]:
        """The design, ready for JSON."""
        return {
            "kind": self.kind,
            "design": dict(self.design),
            "values": dict(self.values),
            "deviations": dict(self.deviations),
            "measured": dict(self.measured),
            "probability": self.probability,
            "feasibility": self.feasibility,
            "confirm_cost": self.confirm_cost,
            "standing": self.standing,
        }


@dataclass(frozen=True, slots=True)
class RegionView:
    """The Pareto region: corners of both fronts and the reference, in the users' values, by optimised axis."""

    optimistic: tuple[tuple[float, ...], ...]
    pessimistic: tuple[tuple[float, ...], ...]
    reference: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The region, ready for JSON."""
        return {
            "optimistic": [list(row) for row in self.optimistic],
            "pessimistic": [list(row) for row in self.pessimistic],
            "reference": list(self.reference),
        }


@dataclass(frozen=True, slots=True)
class FrontView:
    """The designs of a study that have a measurement, those of the front first.

    Attributes:
        axes: The objectives, in the study's order.
        points: The designs.
        region: The Pareto region; None until every objective was measured.
        left_out: How many designs are not listed, because there are too many.
        approximate: Whether predictions come from some of the evaluations only.
    """

    axes: tuple[Axis, ...]
    points: tuple[FrontPoint, ...]
    region: RegionView | None
    left_out: int
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {
            "kind": "front",
            "axes": [axis.to_dict() for axis in self.axes],
            "points": [point.to_dict() for point in self.points],
            "region": None if self.region is None else self.region.to_dict(),
            "left_out": self.left_out,
            "approximate": self.approximate,
        }


def front_view(study: Study, *, limit: int = LIMIT) -> FrontView:
    """The front of a study, the designs behind it, and the Pareto region.

    Args:
        study: The study; nothing need be measured yet.
        limit: List at most so many designs: those of the front, and then those nearest to it.
    """
    study.refresh()
    history = study.history
    if not every_objective_measured(history):
        return _beginning(history, limit)
    seen = outlook(study)
    estimates = seen.predictor.estimates(history)
    best, touched = reported(history, estimates, complete=False), touched_designs(estimates, complete=False)
    rest = np.setdiff1d(touched, best)
    listed = _listed(estimates.mu[:, list(history.optimised)], best, rest, limit)
    found = standings_of(seen.predictor, history, estimates)
    rows = front_rows(history, estimates, listed, found, seen.predictor.costs)
    is_front = np.isin(listed, best)
    points = tuple(_point(row, on_front=bool(shown)) for row, shown in zip(rows, is_front, strict=True))
    return FrontView(
        axes=_axes(history, points),
        points=points,
        region=_region(history, seen.predictor, limit),
        left_out=len(touched) - len(points),
        approximate=seen.approximate,
    )


def _beginning(history: History, limit: int) -> FrontView:
    """The view while an objective has no value: what was measured so far, the last designs first."""
    designs = history.designs
    losses = known_losses(history)
    touched = np.flatnonzero(np.isfinite(losses).any(axis=1))[::-1]
    points = []
    for i in touched[:limit].tolist():
        known = dict(zip(history.names, np.isfinite(losses[i]).tolist(), strict=True))
        values = {
            o.name: o.value(float(losses[i, j])) if known[o.name] else None for j, o in enumerate(history.objectives)
        }
        points.append(
            FrontPoint("half", designs[i], values, dict.fromkeys(history.names, 0.0), known, 1.0, "feasible", None)
        )
    return FrontView(_axes(history, points), tuple(points), None, len(touched) - len(points), approximate=False)


def known_losses(history: History) -> FloatArray:
    """The latest losses (m, n) of the designs that were asked about or brought in; NaN where there is none."""
    designs = history.designs
    losses = np.full((len(designs), len(history.objectives)), np.nan)
    for j, objective in enumerate(history.objectives):
        known = history.known(j)
        losses[:, j] = [known.get(key, np.nan) for key in designs.keys(objective.depends_on).tolist()]
    return losses


def _listed(losses: FloatArray, best: IntArray, rest: IntArray, limit: int) -> IntArray:
    """The designs to list: the front (an even choice of it, if need be), then those nearest to it.

    Args:
        losses: What is thought of all designs (m, k).
        best: The places of those of the front (f,).
        rest: The places of the others (r,).
        limit: List at most so many.
    """
    if len(best) >= limit:
        return best[spread(len(best), limit)]
    if len(best) + len(rest) > limit:
        near = np.argsort(_distances(losses[rest], losses[best]), kind="stable")
        rest = rest[near[: limit - len(best)]]
    return np.concatenate([best, rest])


def _distances(rest: FloatArray, front: FloatArray) -> FloatArray:
    """How much designs behind the front (r, k) would have to gain in all objectives to reach it, in their ranges."""
    span = np.ptp(np.concatenate([rest, front]), axis=0)
    span = np.where(span > 0, span, 1.0)
    rest, front = rest / span, front / span
    found = np.empty(len(rest))
    step = max(1, TABLE // max(1, front.size))
    for start in range(0, len(rest), step):
        part = rest[start : start + step]
        found[start : start + step] = (part[:, None, :] - front).max(axis=2).min(axis=1)
    return found


def _point(row: FrontRow, *, on_front: bool) -> FrontPoint:
    complete = all(row.measured.values())
    if on_front and row.feasibility != "feasible":
        kind = f"front-{row.feasibility}"
    elif on_front:
        kind = "front-measured" if complete else "front-half"
    elif row.feasibility == "violating":
        kind = "violating"
    else:
        kind = "measured" if complete else "half"
    return FrontPoint(
        kind=kind,
        design=row.design,
        values={name: plain_number(value) for name, value in row.values.items()},
        deviations=row.deviations,
        measured=row.measured,
        probability=row.probability,
        feasibility=row.feasibility,
        confirm_cost=plain_number(row.confirm_cost),
        standing=row.standing,
    )


def _axes(history: History, points: Sequence[FrontPoint]) -> tuple[Axis, ...]:
    return tuple(axis_of(o, (point.values[o.name] for point in points)) for o in history.objectives)


def _region(history: History, predictor: Predictor, limit: int) -> RegionView:
    """The region as the next question sees it; with three objectives or more, an even choice of many corners."""
    signs = np.array([history.objectives[j].value(1.0) for j in history.optimised])
    corners = []
    for front in predictor.corners(history):
        few = spread(len(front), limit) if len(signs) > 2 else np.arange(len(front))
        corners.append(tuple(tuple(row) for row in (front[few] * signs).tolist()))
    return RegionView(corners[0], corners[1], tuple((predictor.reference(history) * signs).tolist()))
