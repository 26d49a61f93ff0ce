"""Pictures of a study (extra ``plot``). Every function draws on matplotlib axes and returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.errors import InvalidValueError, missing_extra
from flexibo.front import FrontRow
from flexibo.objectives import Objective
from flexibo.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Okabe and Ito's palette: told apart by colour-blind people, and the markers differ for print in black and white.
INK, REGION, PREDICTED, DOUBTFUL, OTHER = "#000000", "#56B4E9", "#D55E00", "#CC79A7", "#999999"
WIDE = 15.0
"""Positive values that span more than this factor are drawn on a logarithmic scale."""


def front(study: Study, ax: Axes | None = None) -> Axes:
    """Draw the front of a study with two objectives, and the Pareto region around it.

    A study with one objective is drawn against its first constraint.

    Args:
        study: A study in which every objective was measured.
        ax: Where to draw; a new figure by default.
    """
    first, second = _shown(study.objectives)
    ax = ax or _new_axes()
    rows = study.front()
    if first.optimise and second.optimise:
        region = study.region()
        _shade(ax, region.optimistic, region.pessimistic, region.reference, (first, second))
    values = _draw_measured(ax, study, first, second)
    for kind, marker, colour, label in (
        ("measured", "o", INK, "front, measured"),
        ("predicted", "D", PREDICTED, "front, partly predicted"),
        ("unsure", "s", DOUBTFUL, "front, perhaps not feasible"),
        ("violating", "X", OTHER, "violates a constraint"),
    ):
        shown = [row for row in rows if _kind(row) == kind]
        if shown:
            _points(ax, shown, first, second, marker=marker, color=colour, label=label)
    ax.set_xlabel(_label(first))
    ax.set_ylabel(_label(second))
    _frame(ax, rows, values, first, second)
    _limits(ax, first, second)
    ax.legend(frameon=False, fontsize="small")
    return ax


def _shown(objectives: Sequence[Objective]) -> tuple[Objective, Objective]:
    """The two objectives to draw: the optimised ones, or the only one and its first constraint."""
    optimised = [objective for objective in objectives if objective.optimise]
    if len(optimised) > 2:
        raise InvalidValueError(f"This picture shows two objectives; the study has {len(optimised)}.")
    constraints = [objective for objective in objectives if not objective.optimise]
    first, second = (*optimised, *constraints)[:2]
    return first, second


def _kind(row: FrontRow) -> str:
    if row.feasibility != "feasible":
        return row.feasibility
    return "measured" if all(row.measured.values()) else "predicted"


def _limits(ax: Axes, first: Objective, second: Objective) -> None:
    """Draw the bounds of the objectives that have one."""
    for objective, line in ((first, ax.axvline), (second, ax.axhline)):
        if objective.is_constraint:
            bound = objective.value(objective.limit)
            line(bound, color=DOUBTFUL, linestyle=":", linewidth=1.2, label=_bound(objective))


def _bound(objective: Objective) -> str:
    word = "at most" if objective.at_most is not None else "at least"
    return f"{objective.name} {word} {objective.value(objective.limit):g}"


def _new_axes() -> Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    return Figure(figsize=(7.0, 4.6), layout="constrained").add_subplot()


def _points(ax: Axes, rows: Sequence[FrontRow], first: Objective, second: Objective, **style: Any) -> None:
    x, y = ([row.values[o.name] for row in rows] for o in (first, second))
    xerr, yerr = ([row.deviations[o.name] for row in rows] for o in (first, second))
    ax.errorbar(x, y, xerr=xerr, yerr=yerr, linestyle="none", markersize=6, linewidth=1, zorder=4, **style)


def _draw_measured(ax: Axes, study: Study, first: Objective, second: Objective) -> FloatArray:
    """Draw the designs that were measured in both objectives; returns their values (r, 2)."""
    values, broken = _measured_values(study, first, second)
    feasible = ~broken.any(axis=1)
    violated = [_bound(study.history.objectives[j]) for j in np.flatnonzero(broken.any(axis=0))]
    for chosen, marker, label in (
        (values[feasible], "o", "measured, dominated"),
        (values[~feasible], "x", f"measured, violates {' or '.join(violated)}"),
    ):
        if len(chosen):
            ax.scatter(chosen[:, 0], chosen[:, 1], s=14, color=OTHER, marker=marker, linewidth=1, zorder=2, label=label)
    return values


def _measured_values(study: Study, first: Objective, second: Objective) -> tuple[FloatArray, BoolArray]:
    """Values (r, 2) of the designs that were measured in both, and which bounds (r, n) they are known to violate."""
    history = study.history
    designs = history.designs
    losses = np.full((len(designs), len(history.objectives)), np.nan)
    for j, objective in enumerate(history.objectives):
        known = history.known(j)
        losses[:, j] = [known.get(key, np.nan) for key in designs.keys(objective.depends_on).tolist()]
    columns = [history.names.index(objective.name) for objective in (first, second)]
    measured = np.isfinite(losses[:, columns]).all(axis=1)
    signs = np.array([first.value(1.0), second.value(1.0)])
    return losses[measured][:, columns] * signs, losses[measured] > history.limits


def _shade(
    ax: Axes, optimistic: FloatArray, pessimistic: FloatArray, reference: FloatArray, objectives: tuple[Objective, ...]
) -> None:
    """Shade what lies between the two fronts: what may still turn out to be attainable."""
    if not len(optimistic):  # nothing may be feasible
        return
    x = np.unique(np.concatenate([optimistic[:, 0], pessimistic[:, 0], reference[:1]]))
    edges = [_staircase(front, x, reference, objectives) for front in (optimistic, pessimistic)]
    step: Any = "post" if objectives[0].direction == "min" else "pre"
    heights = np.abs(edges[0] - edges[1])
    if (heights[:-1] if step == "post" else heights[1:]).any():
        ax.fill_between(
            x, edges[0], edges[1], step=step, color=REGION, alpha=0.35, linewidth=0, zorder=1, label="Pareto region"
        )
    for edge, style in zip(edges, ("-", "--"), strict=True):
        ax.step(x, edge, where=step, color=REGION, linestyle=style, linewidth=1.2, zorder=1)


def _staircase(
    front: FloatArray, x: FloatArray, reference: FloatArray, objectives: tuple[Objective, ...]
) -> FloatArray:
    """The best second value (k,) that a front attains at each first value or a better one."""
    signs = np.array([objective.value(1.0) for objective in objectives])
    losses, at, worst = front * signs, x * signs[0], float(reference[1] * signs[1])
    best = [min([worst, *losses[losses[:, 0] <= point, 1].tolist()]) for point in at]
    return np.asarray(np.array(best) * signs[1])


def _frame(ax: Axes, rows: Sequence[FrontRow], other: FloatArray, first: Objective, second: Objective) -> None:
    """Show the front and the measured designs; the region may reach far beyond them."""
    for index, objective in enumerate((first, second)):
        values = [row.values[objective.name] for row in rows] + other[:, index].tolist()
        low, high = min(values), max(values)
        set_scale, set_limits = (ax.set_xscale, ax.set_xlim) if index == 0 else (ax.set_yscale, ax.set_ylim)
        if low > 0 and high > WIDE * low:
            set_scale("log", nonpositive="clip")
            set_limits(low / 1.25, high * 1.25)
            if high < 100 * low:
                _plain_ticks(ax.xaxis if index == 0 else ax.yaxis)
        else:
            margin = 0.06 * ((high - low) or abs(high) or 1.0)
            set_limits(low - margin, high + margin)


def _plain_ticks(axis: Axis) -> None:
    """Plain numbers on a short logarithmic axis, where powers of ten are too few and all their multiples too many."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _label(objective: Objective) -> str:
    unit = f" [{objective.unit}]" if objective.unit else ""
    better = "lower is better" if objective.direction == "min" else "higher is better"
    return f"{objective.name}{unit} ({better if objective.optimise else 'constraint'})"
