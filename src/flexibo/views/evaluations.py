"""All evaluations of a study as the rows of a table, compact enough for many, and the details of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexibo.history import History
from flexibo.transfer import Record
from flexibo.transfer.evaluations import REACHED, iso_time
from flexibo.views._json import finite_or_none
from flexibo.views.axes import cost_label
from flexibo.views.choices import runner_up_dict

COLUMNS = ("id", "objective", "state", "value", "cost", "attempt", "time", "reason", "why", "stop")
"""The first cells of a row; the values of the options follow. The id of an added result is less than zero."""
LONGEST = 300  # characters of a reason or of a text in the table; the details have all


def evaluation_rows(history: History, found: Mapping[int, Record]) -> dict[str, Any]:
    """The rows of these records by their ids, as lists; the objective and the state are places in lists of names."""
    objectives, options = list(history.names), list(history.space.names)
    places = {name: j for j, name in enumerate(objectives)}
    states: dict[str, int] = {}
    rows = [
        [
            i,
            places[record.objective],
            states.setdefault(record.state, len(states)),
            finite_or_none(record.reports[-1][1] if record.state == REACHED else record.values.get(record.objective)),
            finite_or_none(record.cost),
            record.attempt,
            record.asked if record.answered is None else record.answered,
            _cut(record.reason),
            _cut(record.why),
            record.stop if record.state == REACHED else None,
            *(_cut(value) if isinstance(value, str) else value for value in map(record.design.get, options)),
        ]
        for i, record in found.items()
    ]
    units = [objective.unit for objective in history.objectives]
    return {
        "kind": "evaluations",
        "columns": list(COLUMNS),
        "objectives": objectives,
        "units": units,
        "options": options,
        "states": list(states),
        "cost_label": cost_label(history),
        "rows": rows,
    }


def evaluation_details(history: History, i: int, record: Record) -> dict[str, Any]:
    """Everything that is known of one evaluation, ready for JSON."""
    asked = history.asked[i] if i >= 0 else None
    units = {objective.name: objective.unit for objective in history.objectives}
    return {
        "kind": "evaluation",
        "id": i,
        "objective": record.objective,
        "state": record.state,
        "design": dict(record.design),
        "values": [
            {"name": name, "unit": units[name], "value": finite_or_none(value), "deviation": _deviation(record, name)}
            for name, value in record.values.items()
        ],
        "cost": finite_or_none(record.cost),
        "lost_cost": record.lost_cost,
        "lost_attempts": record.lost_attempts,
        "attempt": record.attempt,
        "reason": record.reason,
        "worker": record.worker,
        "asked": iso_time(record.asked) or None,
        "answered": iso_time(record.answered) or None,
        "why": record.why,
        "gain": finite_or_none(record.gain),
        "expected_cost": finite_or_none(record.expected_cost),
        "initial": asked is not None and asked.initial,
        "queued": None if asked is None else asked.queued,
        "runner_up": runner_up_dict(None if asked is None else asked.runner_up),
        "cost_label": cost_label(history),
        **({} if record.stop is None else _steps(history, record)),
    }


def _deviation(record: Record, name: str) -> float | None:
    """The standard deviation of a value; None if it was not told."""
    return record.noise[name][0] if name in record.noise else None


def _steps(history: History, record: Record) -> dict[str, Any]:
    """From where to where an evaluation went, and all that is known of its design's curve."""
    last = history.objectives[history.names.index(record.objective)].stops[-1]
    curve = [list(point) for point in history.curve(record.design, record.objective)]
    return {"from_step": record.start, "to_step": record.stop, "last_step": last, "curve": curve}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
