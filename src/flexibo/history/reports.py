"""The values at steps before the one at which an evaluation stops, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective

Reports: TypeAlias = tuple[tuple[int, float], ...]


def checked_reports(
    objective: Objective, evaluation: Evaluation, reports: object, *, value: float | None = None
) -> Reports:
    """Reports as steps with their values, ascending; a mapping of values by step will do.

    One at the step where the evaluation stops must be its `value`, if there is one, and is left out.
    """
    if isinstance(reports, Mapping):
        reports = tuple(reports.items())
    if isinstance(reports, str | bytes) or not isinstance(reports, Iterable):
        raise InvalidTypeError(f"reports is {reports!r}; give pairs of a step and a value, such as [(1, 0.5)].")
    found: list[tuple[int, float]] = []
    for report in reports:
        step, number = checked_report(objective, evaluation, report, after=found[-1][0] if found else evaluation.start)
        if step == evaluation.stop:
            if value is not None and number != value:
                raise InvalidValueError(
                    f"Objective {objective.name!r} has the value {value:.10g} at step {step}, where the evaluation "
                    f"stops, and {number:.10g} in its reports; give one of them."
                )
            continue
        found.append((step, number))
    return tuple(found)


def usable_reports(objective: Objective, evaluation: Evaluation, reports: Iterable[object]) -> Reports:
    """The reports of a failed attempt, up to the first one that is wrong."""
    found: list[tuple[int, float]] = []
    for report in reports:
        try:
            step, value = checked_report(
                objective, evaluation, report, after=found[-1][0] if found else evaluation.start
            )
        except (InvalidValueError, InvalidTypeError):
            break
        if step != evaluation.stop:
            found.append((step, value))
    return tuple(found)


def checked_report(
    objective: Objective, evaluation: Evaluation, report: object, *, after: int = 0
) -> tuple[int, float]:
    """A step and its value, which comes after this step; an error says what is wrong with it."""
    name, stop = objective.name, evaluation.stop
    if stop is None and objective.stops:
        raise InvalidValueError(f"This evaluation of {name!r} was asked before it had steps; tell its value alone.")
    if stop is None:
        raise InvalidValueError(f"Objective {name!r} has no steps; give them as Objective({name!r}, steps=...).")
    if not isinstance(report, tuple | list) or len(report) != 2:
        raise InvalidTypeError(f"A report of {name!r} is {report!r}; give a step and a value, such as (1, 0.5).")
    step = plain(report[0])
    if type(step) is not int:
        raise InvalidTypeError(f"A report of {name!r} is at step {step!r}; a step is a whole number.")
    if not evaluation.start < step <= stop:
        raise InvalidValueError(
            f"Objective {name!r} reported step {step}; this evaluation goes from step {evaluation.start} to {stop}, so "
            f"steps {evaluation.start + 1} to {stop} may be reported."
        )
    if step <= after:
        raise InvalidValueError(
            f"Objective {name!r} reported step {step} after step {after}; report each step once, in ascending order."
        )
    try:
        return step, objective.checked_value(report[1])
    except (InvalidValueError, InvalidTypeError) as error:
        raise type(error)(f"At step {step}: {error}") from None
