"""What was spent on which objective as a view, and what will have been when the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexibo.belief.costs import mean_costs
from flexibo.history import History
from flexibo.study import Study
from flexibo.transfer.records import Record, records
from flexibo.views.axes import COST_LABEL

RECENT = 40
"""The mix of the last so many answers is thought to go on."""


@dataclass(frozen=True, slots=True)
class ObjectiveSpending:
    """What was spent on one objective.

    Attributes:
        name: The objective.
        evaluations: How many values of it were measured; results that were brought in do not count.
        failed: How many attempts failed.
        spent: All that was spent on it; nothing on one that is measured with another.
        lost: How much of this gave no value: failed attempts, and those of workers that vanished.
        share: Its share of all that was spent.
        mean_cost: What a measurement of it cost on average; None where there was none.
        projected: What will have been spent on it when the budget is spent, if the recent mix goes on; None without a
            budget, or while nothing was paid.
    """

    name: str
    evaluations: int
    failed: int
    spent: float
    lost: float
    share: float
    mean_cost: float | None
    projected: float | None

    def to_dict(self) -> dict[str, Any]:
        """The objective, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class SpendingView:
    """What was spent.

    Attributes:
        cost_label: What costs are, with their unit.
        budget: The budget; None is without limit.
        spent: All that was spent.
        reserved: What the evaluations being measured are expected to cost.
        objectives: The same by objective.
    """

    cost_label: str
    budget: float | None
    spent: float
    reserved: float
    objectives: tuple[ObjectiveSpending, ...]

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {
            "kind": "spending",
            "cost_label": self.cost_label,
            "budget": self.budget,
            "spent": self.spent,
            "reserved": self.reserved,
            "objectives": [objective.to_dict() for objective in self.objectives],
        }


def spending_view(study: Study) -> SpendingView:
    """What was spent on which objective."""
    study.refresh()
    history = study.history
    found = [r for r in records(history, [None] * len(history.events)) if r.number is not None]
    mix = _recent_mix(history, found)
    objectives = tuple(_spending(history, found, name, None if mix is None else mix[name]) for name in history.names)
    return SpendingView(COST_LABEL, history.budget, history.spent, reserved_cost(history), objectives)


def _spending(history: History, found: Sequence[Record], name: str, mix: float | None) -> ObjectiveSpending:
    mine = [record for record in found if record.objective == name]
    paid = [record.cost or 0.0 for record in mine if record.state == "measured"]
    lost = sum(record.lost_cost + (0.0 if record.state == "measured" else record.cost or 0.0) for record in mine)
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
    """The share of each objective in the cost of the last answers; None while they cost nothing.

    Answers of initial designs count only as long as there are no others.
    """
    answered = [record for record in found if record.cost is not None]
    chosen = [record for record in answered if record.number is not None and not history.asked[record.number].initial]
    costs = dict.fromkeys(history.names, 0.0)
    for record in (chosen or answered)[-RECENT:]:
        costs[record.objective] += record.cost or 0.0
    total = sum(costs.values())
    return {name: costs[name] / total for name in history.names} if total > 0 else None


def reserved_cost(history: History) -> float:
    """What the evaluations being measured are expected to cost: as when they were asked.

    Where nothing was known then, the mean of what has been paid by now is expected.
    """
    means = mean_costs(history)
    known = [(e.cost, float(means[history.purchase_of(e.objective)])) for e in history.pending.values()]
    return sum(asked if asked > 0 or math.isnan(mean) else mean for asked, mean in known)
