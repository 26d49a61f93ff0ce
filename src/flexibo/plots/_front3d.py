"""The front of three objectives in three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.errors import InvalidValueError
from flexibo.plots import style
from flexibo.plots.style import LOOKS
from flexibo.study import Study
from flexibo.views import Axis, front_view

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

SIZE = (7.6, 6.2)


def front3d(study: Study, ax: Axes3D | None = None) -> Axes3D:
    """Draw the front of three objectives on axes with ``projection="3d"``; a thin line leads from each design down."""
    optimised = sum(bool(objective.optimise) for objective in study.objectives)
    if optimised != 3:
        raise InvalidValueError(f"This picture shows three objectives; the study has {optimised}.")
    drawn: Any = ax or style.new_figure(SIZE).add_subplot(projection="3d")
    view = front_view(study)
    axes = [axis for axis in view.axes if axis.optimise]
    placed = [point for point in view.points if all(point.values[axis.name] is not None for axis in axes)]
    if not placed:
        drawn.text2D(0.5, 0.5, "no design has all three values yet", transform=drawn.transAxes, ha="center")
    values = np.array([[_coordinate(axis, point.values[axis.name]) for axis in axes] for point in placed]).reshape(
        -1, 3
    )
    floor = _floor(values)
    for kind, look in LOOKS.items():
        chosen = values[[point.kind == kind for point in placed]]
        if not len(chosen):
            continue
        first = kind.startswith("front")
        drawn.plot(*chosen.T, label=look.label, zorder=4 if first else 2, **style.marker_style(look))
        for x, y, z in chosen if first else ():
            drawn.plot([x, x], [y, y], [floor, z], color=look.colour, linewidth=0.6, alpha=0.6)
    for axis, side in zip(axes, "xyz", strict=True):
        getattr(drawn, f"set_{side}label")(style.objective_label(axis), fontsize="small", labelpad=10)
        getattr(drawn, f"{side}axis").set_tick_params(labelsize="small")
        if axis.log and placed:
            _set_log_ticks(getattr(drawn, f"{side}axis"), values[:, "xyz".index(side)])
    if placed:
        style.legend(drawn, loc="upper left")
    return drawn


def _coordinate(axis: Axis, value: float | None) -> float:
    """The coordinate of a value: its logarithm on a logarithmic scale, which matplotlib does not have in 3D."""
    number = float("nan") if value is None else value
    return float(np.log10(number)) if axis.log else number


def _floor(values: Any) -> float:
    if not len(values):
        return 0.0
    low, high = float(values[:, 2].min()), float(values[:, 2].max())
    return low - 0.05 * ((high - low) or 1.0)


def _set_log_ticks(axis: Any, logarithms: FloatArray) -> None:
    """Label an axis of logarithms (m,) with the numbers themselves."""
    ticks = style.log_ticks(float(10 ** logarithms.min()), float(10 ** logarithms.max()))
    axis.set_ticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])
