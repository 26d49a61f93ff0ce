"""The cost spent on each objective, so far and projected to the end of the budget, as a view."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexibo.belief.costs import mean_costs
from flexibo.history import History
from flexibo.study import Study
from flexibo.transfer.evaluations import Record, records
from flexibo.views._json import json_fields
from flexibo.views.axes import cost_label

RECENT = 40  # the projection assumes the mix of objectives of this many last answers


@dataclass(frozen=True, slots=True)
class ObjectiveSpending:
    """The cost spent on one objective.

    Attributes:
        name: The objective.
        evaluations: The number of its measured values, without added results.
        failed: The number of failed attempts.
        spent: The total cost; 0 if it is measured with another objective.
        lost: The part of it that gave no value: failed attempts, and those of workers that disappeared.
        share: Its share of the total cost of all objectives.
        mean_cost: The mean cost of a measurement; None without one.
        projected: The total cost when the budget is spent, if the recent mix of objectives continues; None without a
            budget, or before anything was paid.
    """

    name: str
    evaluations: int
    failed: int
    spent: float
    lost: float
    share: float
    mean_cost: float | None
    projected: float | None

    to_dict = json_fields


@dataclass(frozen=True, slots=True)
class SpendingView:
    """The cost spent so far.

    Attributes:
        cost_label: The label of costs, with their unit.
        budget: The budget; None means unlimited.
        spent: The total cost.
        reserved: The expected cost of the evaluations that are being measured.
        objectives: The cost of each objective.
    """

    cost_label: str
    budget: float | None
    spent: float
    reserved: float
    objectives: tuple[ObjectiveSpending, ...]

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "spending", **json_fields(self)}


def spending_view(study: Study) -> SpendingView:
    """The cost spent on each objective."""
    study.refresh()
    history = study.history
    found = [r for r in records(history, [None] * len(history.events)) if r.number is not None]
    mix = _recent_mix(history, found)
    objectives = tuple(_spending(history, found, name, None if mix is None else mix[name]) for name in history.names)
    return SpendingView(cost_label(history), history.budget, history.spent, reserved_cost(history), objectives)


def _spending(history: History, found: Sequence[Record], name: str, mix: float | None) -> ObjectiveSpending:
    mine = [record for record in found if record.objective == name]
    paid = [record.cost or 0.0 for record in mine if record.is_told]
    lost = sum(record.lost_cost + (0.0 if record.is_told else record.cost or 0.0) for record in mine)
    spent = sum(paid) + lost
    left = None if history.budget is None else max(0.0, history.budget - history.spent)
    return ObjectiveSpending(
        name=name,
        evaluations=sum(name in record.values for record in found),
        failed=history.failed_attempts[name],
        spent=spent,
        lost=lost,
        share=spent / history.spent if history.spent > 0 else 0.0,
        mean_cost=sum(paid) / len(paid) if paid else None,
        projected=None if left is None or mix is None else spent + left * mix,
    )


def _recent_mix(history: History, found: Sequence[Record]) -> dict[str, float] | None:
    """Each objective's share of the cost of the last answers, if possible not initial ones; None if that is 0."""
    answered = [record for record in found if record.cost is not None]
    chosen = [record for record in answered if record.number is not None and not history.asked[record.number].initial]
    costs = dict.fromkeys(history.names, 0.0)
    for record in (chosen or answered)[-RECENT:]:
        costs[record.objective] += record.cost or 0.0
    total = sum(costs.values())
    return {name: costs[name] / total for name in history.names} if total > 0 else None


def reserved_cost(history: History) -> float:
    """The expected cost of what is being measured, as estimated when it was asked, or else the mean cost so far."""
    means = mean_costs(history)
    known = [(e.cost, float(means[history.purchase_of(e.objective)])) for e in history.pending.values()]
    return sum(asked if asked > 0 or math.isnan(mean) else mean for asked, mean in known)
