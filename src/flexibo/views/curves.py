"""The learning curves of designs, objective by objective, as a view: how far each went, and why it went no further."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from flexibo.history import History
from flexibo.objectives import Objective
from flexibo.space import Design
from flexibo.study import Study
from flexibo.views._json import json_fields
from flexibo.views._prospects import Prospects
from flexibo.views.axes import Axis, axis_of

MOST_CURVES = 200  # of one objective: more lines cannot be told apart
MOST_POINTS = 100  # of one curve

CurveState: TypeAlias = Literal["complete", "running", "stopped"]


@dataclass(frozen=True, slots=True)
class Curve:
    """What is known of one design at its steps.

    Attributes:
        number: The index of the last question about it.
        design: Its option values.
        points: Steps and values, ascending, at most `MOST_POINTS`.
        state: "complete" if it reached the last step, "running" if it is being measured, otherwise "stopped".
        stop: The step to which the running evaluation goes, or the last one that is known.
        why: Of a stopped one, why it did not go on: what is expected at the last step, what going on may add to the
            front and costs, or how it failed; empty while nothing can be expected.
    """

    number: int
    design: Design
    points: tuple[tuple[int, float], ...]
    state: CurveState
    stop: int
    why: str = ""

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class ObjectiveCurves:
    """The curves of one objective with steps.

    Attributes:
        axis: Its scale.
        stops: The steps at which an evaluation may stop.
        curves: Those of the designs that were asked last, the latest first, at most `MOST_CURVES`.
        in_all: How many there are.
    """

    axis: Axis
    stops: tuple[int, ...]
    curves: tuple[Curve, ...]
    in_all: int

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class CurvesView:
    """The learning curves of a study.

    Attributes:
        objectives: Those with steps; empty if none has.
    """

    objectives: tuple[ObjectiveCurves, ...]

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "curves", **json_fields(self)}


def curves_view(study: Study) -> CurvesView:
    """The learning curves of the designs whose objectives have steps."""
    study.refresh()
    history = study.history
    stepped = [own for own in history.objectives if own.stops]
    if not stepped:
        return CurvesView(())
    prospects = Prospects.of(study)
    return CurvesView(tuple(_curves(history, own, prospects) for own in stepped))


def _curves(history: History, objective: Objective, prospects: Prospects) -> ObjectiveCurves:
    found: dict[tuple[object, ...], Curve] = {}
    for asked in reversed(history.asked):
        options = history.space.names if objective.options is None else objective.options
        key = tuple(asked.design[name] for name in options)
        if asked.objective != objective.name or key in found:
            continue
        points = history.curve(asked.design, objective.name)
        is_running = asked.number in history.pending
        if points or is_running:
            curve = _curve(objective, asked.number, asked.design, points, asked.stop if is_running else None)
            is_shown = curve.state == "stopped" and len(found) < MOST_CURVES
            found[key] = replace(curve, why=prospects.why_stopped(asked, objective)) if is_shown else curve
    curves = tuple(found.values())[:MOST_CURVES]
    values = (value for curve in curves for _, value in curve.points)
    return ObjectiveCurves(axis_of(objective, values), objective.stops, curves, len(found))


def _curve(
    objective: Objective, number: int, design: Design, points: tuple[tuple[int, float], ...], goes_to: int | None
) -> Curve:
    reached = points[-1][0] if points else 0
    state: CurveState = "complete" if reached == objective.stops[-1] else "stopped" if goes_to is None else "running"
    return Curve(number, design, tuple(_thinned(points)), state, reached if goes_to is None else goes_to)


def _thinned(points: tuple[tuple[int, float], ...]) -> Iterable[tuple[int, float]]:
    """Points at equal distances and the last one, so that there are not too many."""
    every = -(-len(points) // (MOST_POINTS - 1)) or 1
    return (point for i, point in enumerate(points) if i % every == 0 or i == len(points) - 1)
