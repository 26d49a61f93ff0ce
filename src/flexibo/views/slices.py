"""The prediction of an objective along one or two options, with the other options fixed, as a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.checks import whole_number
from flexibo._internal.threads import single_thread
from flexibo.belief.reported import reported
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.space import Categorical, Design, Designs, Option, Ordinal, Value
from flexibo.space.encoding import code_of, decode, expected, value_of
from flexibo.study import Study
from flexibo.surrogates import interval
from flexibo.views._json import json_fields
from flexibo.views._models import ViewModels, every_objective_measured, settled, view_models
from flexibo.views.axes import Axis, axis_of, category_names, is_log

MOST_POINTS = 200
BAND = 2.0  # standard deviations on each side of a prediction
MOST_MEASURED = 200  # the maximum number of measured designs in a slice, those nearest to it


@dataclass(frozen=True, slots=True)
class SliceAxis:
    """The axis of one option: its values in order, texts if they are no numbers."""

    name: str
    is_number: bool
    values: tuple[float | str, ...]
    log: bool

    def to_dict(self) -> dict[str, Any]:
        """The axis, ready for JSON."""
        kind = "number" if self.is_number else "category"
        return {"name": self.name, "type": kind, "values": list(self.values), "log": self.log}


@dataclass(frozen=True, slots=True)
class SlicePoint:
    """A measured design: its position on the axes, its value, and its distance from the slice in the other options.

    The distance is 0 on the slice, and 1 if every other option differs as much as possible.
    """

    x: float | str
    y: float | str | None
    value: float
    distance: float

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class SliceView:
    """An objective along one or two options.

    Attributes:
        axis: The objective.
        x: The option that varies within a row.
        y: The option that varies from row to row; None for a single row.
        mean: The predicted values, by row; None until the objective has a value.
        deviation: Their standard deviations.
        low: The values two standard deviations below, as far as they are possible.
        high: The same above.
        at: The values of all options at the design through which the slice passes.
        measured: Measured designs, those nearest to the slice first.
        approximate: Whether the model is fitted to a subset of the evaluations.
    """

    axis: Axis
    x: SliceAxis
    y: SliceAxis | None
    mean: tuple[tuple[float | None, ...], ...]
    deviation: tuple[tuple[float | None, ...], ...]
    low: tuple[tuple[float | None, ...], ...]
    high: tuple[tuple[float | None, ...], ...]
    at: Mapping[str, Value]
    measured: tuple[SlicePoint, ...]
    approximate: bool

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "slice", **json_fields(self)}


def slice_view(
    study: Study, objective: str, x: str, y: str | None = None, *, at: Mapping[str, Any] | None = None, points: int = 40
) -> SliceView:
    """The prediction of an objective along one or two options.

    Rules and pools are ignored: a slice may pass through designs that are not legal.

    Args:
        study: The study.
        objective: The objective.
        x: The option that varies within a row.
        y: The option that varies from row to row; none by default.
        at: Values of other options; by default those of a balanced design of the front.
        points: The number of steps into which an interval is divided, 2 to 200.
    """
    study.refresh()
    history = study.history
    if objective not in history.counted:
        raise unknown_name("objective", objective, history.counted)
    for option in (x, *([] if y is None else [y]), *(at or {})):
        if option not in history.space.names:
            raise unknown_name("option", option, history.space.names)
    if x == y:
        raise InvalidValueError(f"x and y are both {x!r}; give two options, or x alone.")
    if whole_number("points", points, least=2) > MOST_POINTS:
        raise InvalidValueError(f"points is {points}; it must be at most {MOST_POINTS}.")
    models = view_models(study)
    with single_thread():
        fixed = _fixed(study, models, [x] if y is None else [x, y], at or {})
        return _slice(history, models, history.names.index(objective), x, y, fixed, points)


def _slice(
    history: History, models: ViewModels, j: int, x: str, y: str | None, fixed: FloatArray, points: int
) -> SliceView:
    """The slice through the design with the codes `fixed` (k,)."""
    space, objective = history.space, history.objectives[j]
    columns = _grid(space.options[x], points)
    rows = np.zeros(1) if y is None else _grid(space.options[y], points)
    codes = np.tile(fixed, (len(rows) * len(columns), 1))
    codes[:, space.names.index(x)] = np.tile(columns, len(rows))
    if y is not None:
        codes[:, space.names.index(y)] = np.repeat(rows, len(columns))
    mean, deviation, low, high = np.full((4, len(codes)), np.nan)
    if history.count(j):
        X = settled(space.from_codes(codes)).encoded(objective.depends_on)
        model, sign = models.model(history, j), objective.value(1.0)
        best, middle, worst = interval(model, X, 1.0)
        mean, deviation = middle * sign, (worst - best) / 2.0
        best, _, worst = interval(model, X, BAND)
        low, high = np.sort([best * sign, worst * sign], axis=0)
    shape = len(rows), len(columns)
    measured = _measured(history, j, x, y, fixed)
    values = [*mean.tolist(), *(point.value for point in measured)]
    return SliceView(
        axis=axis_of(objective, values),
        x=_axis(x, space.options[x], columns),
        y=None if y is None else _axis(y, space.options[y], rows),
        mean=_table(mean.reshape(shape)),
        deviation=_table(deviation.reshape(shape)),
        low=_table(low.reshape(shape)),
        high=_table(high.reshape(shape)),
        at=settled(space.from_codes(fixed[None]))[0],
        measured=measured,
        approximate=models.approximate and bool(history.count(j)),
    )


def _fixed(study: Study, models: ViewModels, varying: Sequence[str], at: Mapping[str, Any]) -> FloatArray:
    """The codes (k,) of the design through which the slice passes."""
    space = study.space
    designs = space.designs([_balanced(study, models, varying)])
    codes: FloatArray = designs.codes[0].copy()
    for position, (name, option) in enumerate(space.options.items()):
        if name in at:
            codes[position] = _code(name, option, at[name])
    return codes


def _balanced(study: Study, models: ViewModels, varying: Sequence[str]) -> Design:
    """The design of the front nearest to the best value of every objective in which these options are active."""
    history = study.history
    known = list(study.settings.initial_designs)
    if every_objective_measured(history):
        estimates = models.predictor.estimates(history)
        front = reported(history, estimates, complete=False)  # empty if every design lacks something impossible
        losses = estimates.mu[front][:, list(history.optimised)]
        least = losses.min(axis=0, initial=np.inf)
        span = losses.max(axis=0, initial=-np.inf) - least
        scaled = (losses - least) / np.where(span > 0, span, 1.0)
        order = np.argsort((scaled**2).sum(axis=1), kind="stable")
        known = [*history.designs[front[order]], *known]
    active = (design for design in known if all(design[name] is not None for name in varying))
    return next(active, known[0])


def _code(name: str, option: Option, value: object) -> float:
    """The code of the value that was given for an option."""
    code = code_of(option, value)
    if code is None:
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be {expected(option, value)}.")
    return code


def _grid(option: Option, points: int) -> FloatArray:
    """The codes (p,) of an option in a slice: all its values if they are few, otherwise evenly spaced ones."""
    if option.size <= (MOST_POINTS if isinstance(option, Categorical | Ordinal) else points):
        unit = np.arange(option.size, dtype=float)
        return unit if isinstance(option, Categorical | Ordinal) else unit + option.low
    return np.unique(decode(option, np.linspace(0.0, 1.0, points)[:, None]))


def _axis(name: str, option: Option, codes: FloatArray) -> SliceAxis:
    names = category_names(option)
    return SliceAxis(name, names is None, tuple(_axis_value(option, code) for code in codes.tolist()), is_log(option))


def _axis_value(option: Option, code: float) -> float | str:
    """The value of a code as written on the axis of its option."""
    names, value = category_names(option), value_of(option, code)
    return float(value) if names is None else names[value]


def _table(values: FloatArray) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(value if np.isfinite(value) else None for value in row) for row in values.tolist())


def _measured(history: History, j: int, x: str, y: str | None, fixed: FloatArray) -> tuple[SlicePoint, ...]:
    """The latest value of each measured design in which these options are active, those nearest to the slice first."""
    space, objective = history.space, history.objectives[j]
    known = history.known(j)
    keys = history.designs.keys(objective.depends_on)
    _, first = np.unique(keys, return_index=True)
    designs = history.designs[np.sort(first)]
    keys = designs.keys(objective.depends_on)
    at_x, at_y = space.names.index(x), space.names.index(y if y is not None else x)
    here = np.array([key in known for key in keys.tolist()], dtype=bool)
    here &= ~np.isnan(designs.codes[:, at_x]) & ~np.isnan(designs.codes[:, at_y])
    chosen = np.flatnonzero(here)
    distances = _distances(designs[chosen], fixed, [n for n in objective.depends_on or space.names if n not in (x, y)])
    points = []
    for place in np.argsort(distances, kind="stable")[:MOST_MEASURED].tolist():
        i = int(chosen[place])
        value = objective.value(known[int(keys[i])])
        row = designs.codes[i]
        place_x = _axis_value(space.options[x], float(row[at_x]))
        place_y = None if y is None else _axis_value(space.options[y], float(row[at_y]))
        points.append(SlicePoint(place_x, place_y, value, float(distances[place])))
    return tuple(points)


def _distances(designs: Designs, fixed: FloatArray, others: Sequence[str]) -> FloatArray:
    """The distances (m,) of designs from the one with the codes `fixed` (k,), in the other options."""
    if not others:
        return np.zeros(len(designs))
    here = Designs(designs.table, fixed[None]).encoded(others)
    return np.asarray(np.sqrt(((designs.encoded(others) - here) ** 2).sum(axis=1) / len(others)))
