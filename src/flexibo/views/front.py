"""The front as a view: every design with a measurement, its values and predictions, and the Pareto region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.reported import reported, touched_designs
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor
from flexibo.pareto import non_dominated
from flexibo.results.confidence import standings_of
from flexibo.results.front import Feasibility, FrontRow, Standing, front_rows
from flexibo.space import Value
from flexibo.study import Study
from flexibo.views._json import finite_or_none, json_fields
from flexibo.views._models import evenly_spaced, every_objective_measured, view_models
from flexibo.views.axes import Axis, axis_of

KINDS = ("front-measured", "front-half", "front-unsure", "front-violating", "measured", "half", "violating")
"""The kinds of designs in the view."""
LIMIT = 2000
MOST_DISTANCES = 1 << 20  # the size of a table of distances between designs and the front; more are computed in parts


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """One design.

    Attributes:
        kind: One of `KINDS`. On the front: "front-measured" in every objective, "front-half" with predicted values,
            "front-unsure" or "front-violating" under constraints. Dominated: "measured", "half" or "violating".
        design: Its option values.
        values: Its objectives, measured or predicted; None until the objective can be predicted.
        deviations: The standard deviation of each value; 0 if it is known exactly or not known.
        measured: Whether each value was measured.
        probability: The probability that it satisfies every constraint.
        feasibility: The same as a category.
        confirm_cost: The expected cost of measuring its missing values; None if they cannot be measured or no cost is
            known yet.
        standing: The standing of its place on the front, see `flexibo.results.confidence`; None if that is unknown.
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

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class RegionView:
    """The Pareto region: corners of both fronts and the reference, as values of the optimised objectives."""

    optimistic: tuple[tuple[float, ...], ...]
    pessimistic: tuple[tuple[float, ...], ...]
    reference: tuple[float, ...]

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class FrontView:
    """The designs of a study that have a measurement, those of the front first.

    Attributes:
        axes: The objectives, in the study's order.
        points: The designs.
        region: The Pareto region; None until every objective has a value.
        left_out: The number of designs beyond the limit, which are not listed.
        approximate: Whether the models are fitted to a subset of the evaluations.
    """

    axes: tuple[Axis, ...]
    points: tuple[FrontPoint, ...]
    region: RegionView | None
    left_out: int
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "front", **json_fields(self)}


def front_view(study: Study, *, limit: int = LIMIT) -> FrontView:
    """The front of a study, its dominated designs, and the Pareto region.

    Of more than `limit` designs it has those of the front, then those nearest to it.
    """
    study.refresh()
    history = study.history
    if not every_objective_measured(history):
        return _incomplete_view(history, limit)
    models = view_models(study)
    estimates = models.predictor.estimates(history)
    best, touched = reported(history, estimates, complete=False), touched_designs(estimates, complete=False)
    rest = np.setdiff1d(touched, best)
    listed = _listed(estimates.mu[:, list(history.optimised)], best, rest, limit)
    standings = standings_of(models.predictor, history, estimates)
    rows = front_rows(history, estimates, listed, standings, models.predictor.costs)
    is_front = np.isin(listed, best)
    points = tuple(_point(row, on_front=bool(shown)) for row, shown in zip(rows, is_front, strict=True))
    return FrontView(
        axes=_axes(history, points),
        points=points,
        region=_region(history, models.predictor, limit),
        left_out=len(touched) - len(points),
        approximate=models.approximate,
    )


def measured_front_view(study: Study, *, limit: int = LIMIT) -> FrontView:
    """At most `limit` designs that were measured in every objective, those of their front first; needs no model."""
    history = study.history
    losses = _latest_losses(history)
    complete = np.flatnonzero(np.isfinite(losses).all(axis=1))
    losses = losses[complete]
    legal: BoolArray = np.asarray((losses <= history.limits).all(axis=1))
    on_front = np.zeros(len(complete), dtype=bool)
    on_front[legal] = non_dominated(losses[legal][:, list(history.optimised)])
    best, rest = np.flatnonzero(on_front), np.flatnonzero(~on_front)
    best = best[evenly_spaced(len(best), limit)]
    rest = rest[evenly_spaced(len(rest), limit - len(best))]
    points = []
    for i in [*best.tolist(), *rest.tolist()]:
        kind = "front-measured" if on_front[i] else "measured" if legal[i] else "violating"
        points.append(_measured_point(history, int(complete[i]), losses[i], kind, confirm_cost=0.0))
    return FrontView(_axes(history, points), tuple(points), None, len(complete) - len(points), approximate=False)


def _incomplete_view(history: History, limit: int) -> FrontView:
    """The view until every objective has a value: the measured designs, the latest first."""
    losses = _latest_losses(history)
    touched = np.flatnonzero(np.isfinite(losses).any(axis=1))[::-1]
    points = [_measured_point(history, i, losses[i], "half", confirm_cost=None) for i in touched[:limit].tolist()]
    return FrontView(_axes(history, points), tuple(points), None, len(touched) - len(points), approximate=False)


def _measured_point(
    history: History, i: int, losses: FloatArray, kind: str, *, confirm_cost: float | None
) -> FrontPoint:
    """Design i of a history with its measured losses (n,); NaN where it has none."""
    known = dict(zip(history.names, np.isfinite(losses).tolist(), strict=True))
    violates = kind == "violating"
    return FrontPoint(
        kind=kind,
        design=history.designs[i],
        values={o.name: o.value(float(losses[j])) if known[o.name] else None for j, o in enumerate(history.objectives)},
        deviations=dict.fromkeys(history.names, 0.0),
        measured=known,
        probability=0.0 if violates else 1.0,
        feasibility="violating" if violates else "feasible",
        confirm_cost=confirm_cost,
    )


def _latest_losses(history: History) -> FloatArray:
    """The latest losses (m, n) of all designs that were asked or added; NaN where there is none."""
    designs = history.designs
    losses = np.full((len(designs), len(history.objectives)), np.nan)
    for j, objective in enumerate(history.objectives):
        known = history.known(j)
        losses[:, j] = [known.get(key, np.nan) for key in designs.keys(objective.depends_on).tolist()]
    return losses


def _listed(losses: FloatArray, best: IntArray, rest: IntArray, limit: int) -> IntArray:
    """The at most `limit` designs to list: the front (evenly thinned if it is too long), then those nearest to it."""
    if len(best) >= limit:
        return best[evenly_spaced(len(best), limit)]
    if len(best) + len(rest) > limit:
        near = np.argsort(_distances(losses[rest], losses[best]), kind="stable")
        rest = rest[near[: limit - len(best)]]
    return np.concatenate([best, rest])


def _distances(rest: FloatArray, front: FloatArray) -> FloatArray:
    """How much dominated designs (r, k) must improve in every objective to reach the front, relative to its range."""
    span = np.ptp(np.concatenate([rest, front]), axis=0)
    span = np.where(span > 0, span, 1.0)
    rest, front = rest / span, front / span
    found = np.empty(len(rest))
    step = max(1, MOST_DISTANCES // max(1, front.size))
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
        values={name: finite_or_none(value) for name, value in row.values.items()},
        deviations=row.deviations,
        measured=row.measured,
        probability=row.probability,
        feasibility=row.feasibility,
        confirm_cost=finite_or_none(row.confirm_cost),
        standing=row.standing,
    )


def _axes(history: History, points: Sequence[FrontPoint]) -> tuple[Axis, ...]:
    return tuple(axis_of(o, (point.values[o.name] for point in points)) for o in history.objectives)


def _region(history: History, predictor: Predictor, limit: int) -> RegionView:
    """The region at the next question; with three or more objectives, at most `limit` corners of each front."""
    signs = np.array([history.objectives[j].value(1.0) for j in history.optimised])
    corners = []
    for front in predictor.corners(history):
        few = evenly_spaced(len(front), limit) if len(signs) > 2 else np.arange(len(front))
        corners.append(tuple(tuple(row) for row in (front[few] * signs).tolist()))
    return RegionView(corners[0], corners[1], tuple((predictor.reference(history) * signs).tolist()))
