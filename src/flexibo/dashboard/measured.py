"""The front of what is measured alone: what a picture shows until the models have been fitted."""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.pareto import non_dominated
from flexibo.study import Study
from flexibo.views._subsets import spread
from flexibo.views.axes import axis_of
from flexibo.views.front import LIMIT, FrontPoint, FrontView, known_losses


def measured_front(study: Study, *, limit: int = LIMIT) -> FrontView:
    """The designs that were measured in every objective, those that no other of them dominates first.

    Args:
        study: The study.
        limit: List at most so many designs.
    """
    history = study.history
    losses = known_losses(history)
    complete = np.flatnonzero(np.isfinite(losses).all(axis=1))
    losses = losses[complete]
    legal: BoolArray = np.asarray((losses <= history.limits).all(axis=1))
    on_front = np.zeros(len(complete), dtype=bool)
    on_front[legal] = non_dominated(losses[legal][:, list(history.optimised)])
    best, rest = np.flatnonzero(on_front), np.flatnonzero(~on_front)
    best = best[spread(len(best), limit)]
    rest = rest[spread(len(rest), limit - len(best))]
    names, known = history.names, dict.fromkeys(history.names, True)
    points = []
    for i in [*best.tolist(), *rest.tolist()]:
        kind = "front-measured" if on_front[i] else "measured" if legal[i] else "violating"
        values = {o.name: o.value(float(loss)) for o, loss in zip(history.objectives, losses[i], strict=True)}
        design = history.designs[int(complete[i])]
        exact = dict.fromkeys(names, 0.0)
        keeps = bool(legal[i])
        points.append(
            FrontPoint(kind, design, values, exact, known, float(keeps), "feasible" if keeps else "violating", 0.0)
        )
    axes = tuple(axis_of(o, (point.values[o.name] for point in points)) for o in history.objectives)
    return FrontView(axes, tuple(points), None, len(complete) - len(points), approximate=False)
