"""The front as a view: confirmed, promising and dominated designs, their readings and predictions, and the region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.failures import failed_designs
from flexibo.belief.reported import touched_designs
from flexibo.history import History
from flexibo.history.readings import Readings, confirmed_front, new_places, readings
from flexibo.objectives import Objective
from flexibo.optimizer.predictor import Predictor
from flexibo.results.front import FrontRow
from flexibo.results.handover import Selection, handed_over
from flexibo.results.known_designs import KnownDesigns
from flexibo.results.promising import PromisingRow
from flexibo.results.rows import DesignRow, Feasibility, Standing
from flexibo.space import Value
from flexibo.study import Study
from flexibo.views._json import finite_or_none, json_fields
from flexibo.views._models import evenly_spaced, every_objective_measured
from flexibo.views.axes import Axis, axis_of, cost_label

KINDS = (
    "front-confirmed",
    "front-promising",
    "front-unsure",
    "front-violating",
    "measured",
    "half",
    "violating",
    "failed",
)
"""The kinds of designs in the view."""
LIMIT = 2000
MOST_DISTANCES = 1 << 20  # the size of a table of distances between designs and the front; more are computed in parts


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """One design.

    Attributes:
        kind: One of `KINDS`: "front-confirmed" is on the confirmed front, "front-promising" is worth confirming,
            "front-unsure" too but perhaps not feasible, "front-violating" breaks a constraint and is listed while no
            design is known to keep all. Others: "measured", "half" (partly predicted), "violating", or "failed" in
            something that was never measured.
        design: Its option values.
        values: Its quantities: the mean of the readings, or predicted; None until it can be predicted.
        deviations: The standard deviation of several readings, or of the prediction; else 0.
        measured: Whether each value was measured.
        probability: The probability that it satisfies every constraint.
        feasibility: The same as a category.
        confirm_cost: The expected cost of measuring its missing values; None if no cost is known yet.
        standing: The standing of its place on the front, see `flexibo.results.confidence`; None if that is unknown.
        number: Its number in the tables of `flexibo front`; 0 if it is in none.
        readings: The number of readings of each quantity.
        estimates: The model's estimate of each quantity; None if there is none.
        relative_gain: Of a promising design: what it is expected to add to the confirmed front, as a share of its
            hypervolume.
        chance: The probability that its missing values can be measured.
        best: Of a confirmed design: the objectives in which no other one is better.
        knee: Whether it is the knee of the confirmed front.
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
    number: int = 0
    readings: Mapping[str, int] = field(default_factory=dict)
    estimates: Mapping[str, float | None] = field(default_factory=dict)
    relative_gain: float | None = None
    chance: float = 1.0
    best: tuple[str, ...] = ()
    knee: bool = False

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
        confirmed: The number of confirmed designs, also of those beyond the limit.
        promising: The number of promising designs, likewise; None until the models are fitted.
        missed_at_most: The share of the best hypervolume that the confirmed front misses at most; None if unknown.
        missed_with_promising: The same of confirmed and promising designs together.
        unread: How many more readings are needed to check the models, before there is a bound.
        confirm_all_cost: The expected cost of confirming everything promising; None if no cost is known.
        sentence: What the confirmed front misses at most, and what confirming everything promising would cost.
        cost_label: The label of costs, with their unit if it is known.
    """

    axes: tuple[Axis, ...]
    points: tuple[FrontPoint, ...]
    region: RegionView | None
    left_out: int
    confirmed: int = 0
    promising: int | None = None
    missed_at_most: float | None = None
    missed_with_promising: float | None = None
    unread: int = 0
    confirm_all_cost: float | None = None
    sentence: str = ""
    cost_label: str = "cost"

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "front", **json_fields(self)}


def front_view(study: Study, *, limit: int = LIMIT) -> FrontView:
    """The confirmed front of a study, its promising and its dominated designs, and the Pareto region.

    Of more than `limit` designs it has the confirmed and promising ones, then those nearest to them.
    """
    study.refresh()
    history = study.history
    if not every_objective_measured(history):
        return _incomplete_view(history, limit)
    known = KnownDesigns.of(study.predictor, history)
    chosen = Selection.of(known)
    found = handed_over(known, chosen)
    best = np.concatenate([chosen.front, chosen.promising])
    failed = np.setdiff1d(np.flatnonzero(failed_designs(history, history.designs)), best)
    touched = np.setdiff1d(touched_designs(known.estimates, complete=False), np.union1d(best, failed))
    rest = new_places(history, touched, best)
    listed = _listed(known.estimates.mu[:, list(history.optimised)], best, rest, limit)
    listed = np.concatenate([listed, failed[::-1][: limit - len(listed)]])
    rows: dict[int, DesignRow] = dict(zip(best.tolist(), (*found.front, *found.promising), strict=True))
    prices = known.missing_prices(listed).sum(axis=1).tolist()
    places = zip(listed.tolist(), prices, np.isin(listed, failed).tolist(), strict=True)
    points = tuple(_point(rows.get(i) or known.row(i), price, failed=is_failed) for i, price, is_failed in places)
    return FrontView(
        axes=_axes(history, points),
        points=points,
        region=_region(history, study.predictor, limit),
        left_out=len(best) + len(rest) + len(failed) - len(points),
        confirmed=len(found.front),
        promising=len(found.promising),
        unread=found.certificate.unread if found.certificate else 0,
        **found.to_dict(),
        sentence=found.sentence(history.cost_unit),
        cost_label=cost_label(history),
    )


def measured_front_view(study: Study, *, limit: int = LIMIT) -> FrontView:
    """At most `limit` designs that were measured in every objective, the confirmed front first; needs no model."""
    history = study.history
    read = readings(history)
    best = confirmed_front(history, read)
    rest = new_places(history, np.setdiff1d(np.flatnonzero(read.complete), best), best)
    count = len(best) + len(rest)
    kept = evenly_spaced(len(best), limit)
    best = best[kept]
    rest = rest[evenly_spaced(len(rest), limit - len(best))]
    points = []
    for place, i in enumerate([*best.tolist(), *rest.tolist()]):
        legal, is_best = bool((read.mean[i] <= history.limits).all()), place < len(best)
        kind = {(True, True): "front-confirmed", (True, False): "front-violating", (False, True): "measured"}
        point = _measured_point(history, read, i, kind.get((is_best, legal), "violating"), confirm_cost=0.0)
        points.append(replace(point, number=int(kept[place]) + 1) if is_best else point)
    confirmed, left_out = sum(point.kind == "front-confirmed" for point in points), count - len(points)
    return FrontView(_axes(history, points), tuple(points), None, left_out, confirmed=confirmed)


def confirmed_count(study: Study) -> int:
    """The number of completely measured designs on the front that meet every limit; needs no model."""
    read = readings(study.history)
    best = confirmed_front(study.history, read)
    return int((read.mean[best] <= study.history.limits).all(axis=1).sum())


def _incomplete_view(history: History, limit: int) -> FrontView:
    """The view until every objective has a value: the measured designs, the latest first."""
    read = readings(history)
    touched = np.flatnonzero(read.known.any(axis=1))[::-1]
    points = [_measured_point(history, read, i, "half", confirm_cost=None) for i in touched[:limit].tolist()]
    return FrontView(_axes(history, points), tuple(points), None, len(touched) - len(points))


def _measured_point(history: History, read: Readings, i: int, kind: str, *, confirm_cost: float | None) -> FrontPoint:
    """Design i of a history with its readings, without any model."""
    known = dict(zip(history.counted, read.known[i].tolist(), strict=True))
    violates = kind.endswith("violating")
    losses, spreads = read.mean[i].tolist(), np.nan_to_num(read.spread[i]).tolist()
    return FrontPoint(
        kind=kind,
        design=history.designs[i],
        values={o.name: o.value(losses[j]) if known[o.name] else None for j, o in enumerate(history.quantities)},
        deviations=dict(zip(history.counted, spreads, strict=True)),
        measured=known,
        probability=0.0 if violates else 1.0,
        feasibility="violating" if violates else "feasible",
        confirm_cost=confirm_cost,
        readings=dict(zip(history.counted, read.count[i].tolist(), strict=True)),
    )


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


def _point(row: DesignRow, price: float, *, failed: bool = False) -> FrontPoint:
    """A row of a table, or another design, with the price of what it lacks."""
    deviations = {
        name: (row.spreads[name] or 0.0) if known else row.deviations[name] for name, known in row.measured.items()
    }
    promising = row if isinstance(row, PromisingRow) else None
    confirmed = row if isinstance(row, FrontRow) else None
    return FrontPoint(
        kind="failed" if failed else _kind(row),
        design=row.design,
        values={name: finite_or_none(value) for name, value in row.values.items()},
        deviations=deviations,
        measured=row.measured,
        probability=row.probability,
        feasibility=row.feasibility,
        confirm_cost=finite_or_none(price),
        standing=row.standing,
        number=row.number,
        readings=row.readings,
        estimates={name: finite_or_none(value) for name, value in row.estimates.items()},
        relative_gain=promising.relative_gain if promising else None,
        chance=promising.chance if promising else 1.0,
        best=confirmed.best if confirmed else (),
        knee=confirmed.knee if confirmed else False,
    )


def _kind(row: DesignRow) -> str:
    if isinstance(row, FrontRow | PromisingRow) and row.feasibility == "violating":
        return "front-violating"
    if isinstance(row, FrontRow):
        return "front-confirmed"
    if isinstance(row, PromisingRow):
        return "front-promising" if row.feasibility == "feasible" else "front-unsure"
    return "violating" if row.feasibility == "violating" else "half" if row.missing else "measured"


def _axes(history: History, points: Sequence[FrontPoint]) -> tuple[Axis, ...]:
    def axis(objective: Objective) -> Axis:
        name = objective.name
        readings = [point.values[name] for point in points if point.measured[name]]
        return axis_of(objective, [point.values[name] for point in points], readings=readings)

    return tuple(map(axis, history.quantities))


def _region(history: History, predictor: Predictor, limit: int) -> RegionView:
    """The region at the next question; with three or more objectives, at most `limit` corners of each front."""
    signs = np.array([history.objectives[j].value(1.0) for j in history.optimised])
    corners = []
    for front in predictor.corners(history):
        few = evenly_spaced(len(front), limit) if len(signs) > 2 else np.arange(len(front))
        corners.append(tuple(tuple(row) for row in (front[few] * signs).tolist()))
    return RegionView(corners[0], corners[1], tuple((predictor.reference(history) * signs).tolist()))
