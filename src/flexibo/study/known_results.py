"""Results that were known before a study, checked and turned into events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexibo.errors import InvalidTypeError, unknown_name
from flexibo.history import History
from flexibo.history.events import Added
from flexibo.study._arguments import checked_cost


def added_event(
    history: History,
    design: Mapping[str, Any],
    values: Mapping[str, float],
    cost: float | Mapping[str, float] | None,
) -> Added:
    """The event for a known result: some or all objectives of a design, and their costs if they are known."""
    legal = history.space.design(design)
    objectives = {objective.name: objective for objective in history.objectives}
    if not isinstance(values, Mapping) or not values:
        raise InvalidTypeError(f"values is {values!r}; give a mapping such as {{'error': 0.2}}.")
    if cost is not None and not isinstance(cost, Mapping):
        if len(values) > 1:
            raise InvalidTypeError(f"cost is {cost!r} for {', '.join(values)}; give a mapping of costs by objective.")
        cost = {next(iter(values)): cost}
    for name in (*values, *(cost or ())):
        if name not in objectives:
            raise unknown_name("objective", name, objectives)
    checked = {name: objectives[name].checked_value(value) for name, value in values.items()}
    leads = {name: history.purchases[history.purchase_of(name)].objective for name in objectives}
    return Added(legal, checked, {leads[name]: checked_cost(c) for name, c in (cost or {}).items()})
